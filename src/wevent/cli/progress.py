"""Shows on the error stream how far a command is, and what it warns of; nothing private."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from wevent.cli.options import Volume
from wevent.cli.output import say
from wevent.events.names import show_name

if TYPE_CHECKING:
    from rich.progress import Progress

    from wevent.releases.release import Release


class ProgressBar:
    """Shows in a terminal which file is read and how many slots are released; with `verbose` as lines, anywhere."""

    def __init__(self, volume: Volume, total: int | None) -> None:
        self._progress: Progress | None = None
        self._verbose = volume.verbose
        if not volume.quiet and not volume.verbose and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            self._progress = Progress(console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task("slots", total=total)

    def __enter__(self) -> ProgressBar:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def reading(self, path: Path) -> None:
        """A file is about to be read."""
        if self._verbose:
            say(f"reading {path}")
        if self._progress is not None:
            from rich.markup import escape

            self._progress.update(self._task, description=f"reading {escape(show_name(path.name))}")

    def advance(self, release: Release) -> None:
        """A slot is released."""
        if self._verbose:
            say(f"slot {release.slot}: {release.decision}")
        if self._progress is not None:
            self._progress.update(self._task, description=f"slot {release.slot}", advance=1)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Leave the terminal to a question."""
        if self._progress is not None:
            self._progress.stop()
        yield
        if self._progress is not None:
            self._progress.start()

    def warn(self, words: str) -> None:
        """Tell the operator something above the bar."""
        if self._progress is not None:
            self._progress.console.print(f"wevent: {show_name(words)}", markup=False, highlight=False)
        else:
            say(words)
