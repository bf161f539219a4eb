"""Shows on the error stream how far a command is, and what it warns of; nothing private."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from wevent.cli.ending import say
from wevent.events.names import show_name

if TYPE_CHECKING:
    from rich.progress import Progress


class ProgressBar:
    """Shows which file is read and how many slots are released; nothing where nobody looks."""

    def __init__(self, quiet: bool, total: int | None) -> None:
        self._progress: Progress | None = None
        if not quiet and sys.stderr.isatty():
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
        if self._progress is not None:
            from rich.markup import escape

            self._progress.update(self._task, description=f"reading {escape(show_name(path.name))}")

    def advance(self, slot: int) -> None:
        """A slot is released."""
        if self._progress is not None:
            self._progress.update(self._task, description=f"slot {slot}", advance=1)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Leave the terminal to somebody else, such as a question."""
        if self._progress is not None:
            self._progress.stop()
        yield
        if self._progress is not None:
            self._progress.start()

    def warn(self, words: str) -> None:
        """Something that the operator should know of happened; it is said above the bar."""
        if self._progress is not None:
            self._progress.console.print(f"wevent: {show_name(words)}", markup=False, highlight=False)
        else:
            say(words)
