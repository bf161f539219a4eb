"""Holds what the operator says to one run of `wevent publish` or `wevent check`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wevent.cli.options import LineFormat, SlotOrTime, Volume
from wevent.config.model import Config
from wevent.config.read import read_config

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of one run.

    Attributes:
        config: of the stream.
        events: files, folders, and `STANDARD_INPUT`.
        requirements: a file that is imported first.
        until: slots that end by then are released, no others; in microseconds since 1970.
        format: of standard input.
        volume: how much is said.
        yes: whether very many slots need no question.
        allow_empty: whether slots are released though nothing in the sources can be accepted.
        as_json: whether the run ends with one JSON document.
        follow: whether one growing file is read without end.
        overwrite: whether the file of requirements changes people who have set their own.
        restored: the last slot that may have been shown, as the operator states it.
        requirements_lost: whether the run goes on without requirement changes that are missing.
    """

    config: Config
    events: tuple[Path, ...]
    requirements: Path | None
    until: int | None
    format: LineFormat
    volume: Volume
    yes: bool = False
    allow_empty: bool = False
    as_json: bool = False
    follow: bool = False
    overwrite: bool = False
    restored: int | Literal["now"] | None = None
    requirements_lost: bool = False

    @property
    def files(self) -> list[Path]:
        """The files and folders of events, without standard input."""
        return [path for path in self.events if str(path) != STANDARD_INPUT]

    @property
    def piped(self) -> bool:
        """Whether events come from standard input."""
        return len(self.files) < len(self.events)


def read_options(
    config: Path,
    events: Iterable[Path],
    requirements: Path | None,
    until: SlotOrTime | None,
    line_format: LineFormat,
    volume: Volume,
) -> RunOptions:
    """The options that need the configuration, or come first; it is read, and turns a slot into a time."""
    settings = read_config(config)
    end = None if until is None else until.end(settings.slots.timeline)
    return RunOptions(settings, tuple(events), requirements, end, line_format, volume)
