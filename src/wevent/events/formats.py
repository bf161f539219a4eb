"""What a line says: bytes and the names of columns come in, user, instant and place go out.

A line that does not say it raises `ValueError`, whose words are never shown: they may hold what somebody did.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, NamedTuple

from wevent.errors import InvalidSetting, Unreadable
from wevent.events.timeline import EARLIEST, LATEST, to_instant

TimeUnit = Literal["iso", "s", "ms", "us"]
Format = Literal["csv", "ndjson", "parquet"]

MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
LONGEST_NAME = 512
"""Characters of a user's name and of a cell's."""

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
}


class Raw(NamedTuple):
    """One event as it was told."""

    user: str
    instant: int
    place: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns or fields hold what; `place` has one name, or two for longitude and latitude."""

    user: str = "user"
    time: str = "time"
    place: tuple[str, ...] = ("place",)
    unit: TimeUnit = "iso"
    delimiter: str = ","

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise InvalidSetting("the delimiter is one character, and neither a quote nor the end of a line")

    @property
    def all(self) -> tuple[str, ...]:
        """The names, user first."""
        return (self.user, self.time, *self.place)


Reader = Callable[[bytes], Raw]


def line_reader(kind: Format, columns: Columns, header: bytes | None, file: str) -> Reader:
    """How to read lines of a kind of file; `header` is the first line of a CSV file.

    Guarantees:
        A CSV file without the columns it should have raises `Unreadable`.
        The reader returns what a line says, or raises `ValueError`.
    """
    if kind == "ndjson":
        return lambda line: _from_object(line, columns)
    names = [] if header is None else _fields(header.removeprefix(b"\xef\xbb\xbf"), columns.delimiter)
    missing = [name for name in columns.all if names.count(name) != 1]
    if missing:
        raise Unreadable(
            f"{file}, line 1: the header must name each of the columns {', '.join(columns.all)} once; "
            f"{len(missing)} of them are missing or there twice",
            file=file,
            line=1,
        )
    places = [names.index(name) for name in columns.all]
    width, user, time, where = len(names), places[0], places[1], places[2:]

    def read(line: bytes) -> Raw:
        fields = _fields(line, columns.delimiter)
        if len(fields) != width:
            raise ValueError("another number of fields than in the header")
        return Raw(_name(fields[user]), _instant(fields[time], columns.unit), tuple([_name(fields[k]) for k in where]))

    return read


def _fields(line: bytes, delimiter: str) -> list[str]:
    text = line.decode("utf-8")
    if "\0" in text:
        raise ValueError("a NUL character")
    if '"' not in text:
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True))
    except (csv.Error, StopIteration):
        raise ValueError("broken quotes") from None


def _from_object(line: bytes, columns: Columns) -> Raw:
    try:
        told = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(told, dict):
        raise ValueError("no object")  # noqa: TRY004
    user, time, *place = (_word(told.get(name)) for name in columns.all)
    return Raw(_name(user), _instant(time, columns.unit), tuple(_name(word) for word in place))


def _word(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    raise ValueError("neither words nor a number")


def _name(text: str) -> str:
    if not 0 < len(text) <= LONGEST_NAME or "\0" in text:
        raise ValueError("empty, too long, or with a NUL character")
    return text


def _instant(text: str, unit: TimeUnit) -> int:
    if unit == "iso":
        return to_instant(text)
    if len(text) > 40 or "_" in text:
        raise ValueError("no number")
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError("no number") from None
    if not number.is_finite() or number.adjusted() > 20:
        raise ValueError("out of range")
    instant = int((number * MICROSECONDS[unit]).to_integral_value("ROUND_FLOOR"))
    if not EARLIEST <= instant <= LATEST:
        raise ValueError("outside the years 1 to 9999")
    return instant
