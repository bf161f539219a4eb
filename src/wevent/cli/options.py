"""Defines the options that several commands take, and parses numbers and times."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from wevent.events.timeline import Timeline

MechanismName = Literal["auto", "pbd", "pba", "dpbd", "dpba", "bd", "ba", "uniform", "sample"]
RestName = Literal["all", "own"]
LineFormat = Literal["csv", "ndjson"]

CONFIG = Path("wevent.toml")


@dataclass(frozen=True, slots=True)
class Volume:
    """How much a command says besides results, warnings and errors."""

    quiet: bool = False
    verbose: bool = False


@dataclass(frozen=True, slots=True)
class SlotOrTime:
    """A slot that is named by its number, or by a time in microseconds since 1970."""

    value: int
    is_time: bool

    def slot(self, timeline: Timeline) -> int:
        """The slot of this number, or the one that holds the time."""
        return timeline.number(self.value) if self.is_time else self.value

    def end(self, timeline: Timeline) -> int:
        """The time itself, or the end of the slot of this number."""
        from wevent.events.timeline import LATEST

        return self.value if self.is_time else min(timeline.end(self.value), LATEST)


def whole(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers within limits."""
    limits = f"must be a whole number from {least:,} to {most:,}"

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise typer.BadParameter(f"{limits}, got {text!r}") from None
        if not least <= number <= most:
            raise typer.BadParameter(f"{limits}, got {number}")
        return number

    return read


def number(least: float, most: float, limits: str, *, or_least: bool = False) -> Callable[[str], float]:
    """A reader of numbers above `least`, or from there on, up to `most`; `limits` says so in words."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (least < value <= most or (or_least and value == least)):  # refuses nan too
            raise typer.BadParameter(f"must be {limits}, got {text!r}")
        return value

    return read


def instant(text: str) -> int:
    """A point in time, in microseconds since 1970."""
    from wevent.events.timeline import to_instant

    try:
        return to_instant(text)
    except ValueError:
        raise typer.BadParameter(f"must be a time in ISO 8601, such as 2024-05-01T12:00Z, got {text!r}") from None


def slot_or_time(text: str) -> SlotOrTime:
    """A slot by its number, or by a time."""
    if text.isascii() and text.isdecimal() and len(text) <= 12:
        return SlotOrTime(int(text), is_time=False)
    return SlotOrTime(instant(text), is_time=True)


def volume_of(context: typer.Context) -> Volume:
    """What the global options say."""
    return context.obj if isinstance(context.obj, Volume) else Volume()


def named_on_the_command_line(context: typer.Context, name: str) -> bool:
    """Whether an option was written, and does not come from the environment."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def whole_option(least: int, most: int, text: str) -> Any:
    """An option that takes a whole number within limits; `text` is its help."""
    return typer.Option(parser=whole(least, most), metavar="NUMBER", help=text)


def file_option(flag: str, text: str, metavar: str = "FILE") -> Any:
    """An option that takes the path of a file."""
    return typer.Option(flag, metavar=metavar, help=text, show_default=False)


def flag(name: str, text: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=text, metavar="")  # Typer would show <bool>


def slot_option(text: str) -> Any:
    """An option that takes a slot, by its number or by a time."""
    return typer.Option(parser=slot_or_time, metavar="SLOT|TIME", help=text, show_default=False)


_CONFIG = {"envvar": "WEVENT_CONFIG", "show_envvar": True, "metavar": "FILE"}

ConfigFile = Annotated[Path, typer.Option("--config", help="The configuration.", **_CONFIG)]
OtherConfigFile = Annotated[
    Path | None, typer.Option("--config", help=f"The configuration; default: {CONFIG}.", show_default=False, **_CONFIG)
]
EventFiles = Annotated[
    list[Path] | None, file_option("--events", "CSV, NDJSON or Parquet files, folders, or - for standard input.")
]
MoreEventFiles = Annotated[
    list[Path] | None, typer.Argument(metavar="FILE", help="More files of events.", show_default=False)
]
RequirementsFile = Annotated[Path | None, file_option("--requirements", "Requirements to import first, a CSV file.")]
Until = Annotated[SlotOrTime | None, slot_option("Release slots that end by then, no others.")]
StandardInputFormat = Annotated[LineFormat, typer.Option("--format", help="Format of standard input (-).")]
Yes = Annotated[bool, flag("--yes", "Release very many slots, more than 1,000, without a question.")]
AllowEmpty = Annotated[bool, flag("--allow-empty", "Release slots though nothing in the sources can be accepted.")]
Json = Annotated[bool, flag("--json", "Print one JSON document.")]
First = Annotated[SlotOrTime | None, slot_option("The first slot: its number, or a time in it.")]
Last = Annotated[SlotOrTime | None, slot_option("The last slot: its number, or a time in it.")]


def slot_range(timeline: Timeline, first: SlotOrTime | None, last: SlotOrTime | None) -> tuple[int, int]:
    """The first and the last slot that are meant; without words, all of them."""
    begin = 1 if first is None else first.slot(timeline)
    return begin, 2**62 if last is None else last.slot(timeline)
