"""Reads user, instant and place from a line of CSV or NDJSON.

A line without them raises `RefusedEvent`, which says why and holds nothing of the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from wevent.errors import InvalidInput, InvalidSetting, Unreadable
from wevent.events.cells import NUMBER
from wevent.events.headers import check_header, other_format, split_fields
from wevent.events.names import to_name
from wevent.events.refusals import Refusal, RefusedEvent, likely_unit
from wevent.events.timeline import EARLIEST, LATEST, to_instant

TimeUnit = Literal["iso", "s", "ms", "us"]
Format = Literal["csv", "ndjson", "parquet"]
Unterminated = Literal["refuse", "accept"]

MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
}


def format_of(path: Path) -> Format | None:
    """The format that the end of a file's name stands for; None if it stands for none."""
    return SUFFIXES.get(path.suffix.lower())


_MARK = b"\xef\xbb\xbf"
_NUMBER = re.compile(NUMBER)


class RawEvent(NamedTuple):
    """One event as it was read, not yet validated."""

    user: str
    instant: int
    place: tuple[str, ...]

    def __repr__(self) -> str:
        """Nothing of it: an event is private."""
        return "RawEvent(…)"


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns or fields hold what; `place` has one name, or two for longitude and latitude.

    `unterminated` decides what happens to a last line of CSV that may be cut off.
    """

    user: str = "user"
    time: str = "time"
    place: tuple[str, ...] = ("place",)
    unit: TimeUnit = "iso"
    delimiter: str = ","
    unterminated: Unterminated = "refuse"

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise InvalidSetting("the delimiter is one character, and neither a quote nor the end of a line")

    @property
    def all(self) -> tuple[str, ...]:
        """The names, user first."""
        return (self.user, self.time, *self.place)

    @property
    def settings(self) -> dict[str, str]:
        """Which setting names each column."""
        where = ("place",) if len(self.place) == 1 else ("longitude", "latitude")
        return {f"sources.{key}": name for key, name in zip(("user", "time", *where), self.all, strict=True)}

    def event(self, user: Any, time: Any, place: tuple[Any, ...]) -> RawEvent:
        """The event of three values of any type; values that are no event raise `RefusedEvent`."""
        if user is None or time is None or None in place:
            raise RefusedEvent(Refusal.INCOMPLETE)
        try:
            user = to_name(user)
        except InvalidInput:
            raise RefusedEvent(Refusal.USERLESS) from None
        instant = self._instant(time)
        try:
            return RawEvent(user, instant, (to_name(place[0]),) if len(place) == 1 else tuple(map(_degrees, place)))
        except ValueError:
            raise RefusedEvent(Refusal.PLACELESS) from None

    def _instant(self, time: Any) -> int:
        if not isinstance(time, str | datetime):
            return self._counted(time)
        iso = isinstance(time, datetime) or self.unit == "iso"
        time = time.isoformat() if isinstance(time, datetime) else time
        number = None if iso and time[4:5] == "-" else _number(time)
        if not iso and number is None:
            raise RefusedEvent(Refusal.IN_WORDS if _is_iso(time) else Refusal.UNTIMED)
        if number is not None and not iso:
            return _since_1970(number, self.unit)
        if number is not None and len(time) != 8:  # eight digits are a date; more of them would pass for odd ones
            raise RefusedEvent(likely_unit(float(number)))
        try:
            return to_instant(time)
        except ValueError:
            raise RefusedEvent(Refusal.UNTIMED) from None

    def _counted(self, time: Any) -> int:
        if isinstance(time, bool) or not isinstance(time, int | float | Decimal):
            raise RefusedEvent(Refusal.UNTIMED)
        exact = Decimal(repr(time)) if isinstance(time, float) else Decimal(time)
        if self.unit == "iso":
            raise RefusedEvent(likely_unit(float(exact)))
        return _since_1970(exact, self.unit)


Reader = Callable[[bytes], RawEvent]
"""Reads a line; raises `RefusedEvent` for one that is no event."""


class LineReader(Protocol):
    """Reads lines; raises `RefusedEvent` for one that is no event."""

    def __call__(self, line: bytes, /) -> RawEvent:
        """The event of a line."""
        ...

    def last(self, line: bytes, /) -> RawEvent:
        """The event of a last line that no newline follows, if it is certain to be complete."""
        ...


def line_reader(kind: Format, columns: Columns, header: bytes | None, file: str) -> LineReader:
    """How to read lines of a kind of file; `header` is the first line of a CSV file.

    Guarantees:
        A CSV file without the columns it should have raises `Unreadable`.
        The reader returns the event of a line, or raises `RefusedEvent`.
        `last` refuses every proper prefix of a line that could be another event than the line itself.
    """
    if kind == "ndjson":
        return _Objects(columns)
    return _Fields(columns, check_header(header, columns.settings, columns.delimiter, file))


def check_beginning(kind: Format, head: bytes, file: str) -> None:
    """Refuse a file of lines whose first bytes are those of another format, such as gzip or UTF-16.

    Guarantees:
        One broken line at the beginning never does that: where any line among the first bytes is an object, the file
        has the format of its name.
    """
    what = other_format(head)
    if what is None or (kind == "ndjson" and any(map(_is_object, head.split(b"\n")))):
        return
    raise Unreadable(f"{file} is {what}. Nothing of it was counted.", file=file)


class _Fields:
    """Lines of CSV."""

    def __init__(self, columns: Columns, names: list[str]) -> None:
        self._columns, self._width = columns, len(names)
        self._user, self._time, *self._place = (names.index(name) for name in columns.all)
        self._needed = max(self._user, self._time, *self._place)

    def __call__(self, line: bytes) -> RawEvent:
        return self._event(split_fields(line, self._columns.delimiter))

    def last(self, line: bytes) -> RawEvent:
        """The needed fields are complete if a delimiter follows them; closed quotes may be doubled ones."""
        try:
            fields = split_fields(line, self._columns.delimiter)
        except RefusedEvent:
            raise RefusedEvent(Refusal.UNFINISHED) from None
        certain = len(fields) == self._width and self._needed < self._width - 1
        if not certain and self._columns.unterminated == "refuse":
            raise RefusedEvent(Refusal.UNFINISHED)
        return self._event(fields)

    def _event(self, fields: list[str]) -> RawEvent:
        if len(fields) != self._width:
            raise RefusedEvent(Refusal.MALFORMED)
        return self._columns.event(fields[self._user], fields[self._time], tuple([fields[k] for k in self._place]))


class _Objects:
    """Lines of NDJSON."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def __call__(self, line: bytes) -> RawEvent:
        try:
            fields = _JSON.decode(line.removeprefix(_MARK).decode("utf-8"))
        except (ValueError, RecursionError):
            raise RefusedEvent(Refusal.MALFORMED) from None
        if not isinstance(fields, dict):
            raise RefusedEvent(Refusal.MALFORMED)
        user, time, *place = (fields.get(name) for name in self._columns.all)
        return self._columns.event(user, time, tuple(place))

    def last(self, line: bytes) -> RawEvent:
        """An object ends with its brace, so a part of one is never an object."""
        try:
            return self(line)
        except RefusedEvent as refused:
            raise RefusedEvent(Refusal.UNFINISHED if refused.kind is Refusal.MALFORMED else refused.kind) from None


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(_JSON.decode(line.decode("utf-8")), dict)
    except (ValueError, RecursionError):
        return False


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are all different: with one twice, readers disagree on its value."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name twice")
    return fields


_JSON = json.JSONDecoder(object_pairs_hook=_once)


def _degrees(value: Any) -> str:
    """Degrees as text; `GridCells.find` checks whether they are finite."""
    if isinstance(value, str) and len(value) <= 64:
        return value
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return str(value)[:64]
    raise ValueError("no degrees")


def _number(text: str) -> Decimal | None:
    if len(text) > 40 or not _NUMBER.fullmatch(text):
        return None
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        return None


def _is_iso(text: str) -> bool:
    try:
        to_instant(text)
    except ValueError:
        return False
    return True


def _since_1970(number: Decimal, unit: TimeUnit) -> int:
    """The instant of so many units since 1970; parts of a microsecond are floored."""
    if not number.is_finite() or number.adjusted() > 20:
        raise RefusedEvent(Refusal.UNTIMED)
    instant = int((number * MICROSECONDS[unit]).to_integral_value("ROUND_FLOOR"))
    if not EARLIEST <= instant <= LATEST:
        raise RefusedEvent(likely_unit(float(number)))
    return instant
