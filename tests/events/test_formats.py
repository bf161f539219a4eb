"""Reading an event from a line of CSV or NDJSON, and refusing lines that hold none."""

from __future__ import annotations

import json

import pytest

from wevent.errors import InvalidSetting, Unreadable
from wevent.events.formats import Columns, RawEvent, line_reader
from wevent.events.timeline import to_instant

NOON = to_instant("2024-05-01T12:00:00Z")
HEADER = b"time,place,user,more"


def csv(line: bytes, columns: Columns | None = None) -> RawEvent:
    return line_reader("csv", columns or Columns(), HEADER, "file.csv")(line)


def ndjson(line: bytes, columns: Columns | None = None) -> RawEvent:
    return line_reader("ndjson", columns or Columns(), None, "file.ndjson")(line)


def test_csv() -> None:
    """Columns by name, quotes inside one line, a byte order mark before the header."""
    assert csv(b"2024-05-01T12:00:00Z,north,ann,") == RawEvent("ann", NOON, ("north",))
    assert csv(b'2024-05-01T14:00:00+02:00,"a ""b"", c","Doe, Ann",x') == RawEvent("Doe, Ann", NOON, ('a "b", c',))
    read = line_reader("csv", Columns(delimiter=";"), b"\xef\xbb\xbfuser;time;place", "f")
    assert read("zoë;2024-05-01 12:00;x".encode()) == RawEvent("zoë", NOON, ("x",))


def test_ndjson() -> None:
    """Fields by name; whole numbers may name users and cells."""
    line = {"user": 7, "time": "2024-05-01T12:00Z", "place": 3, "more": [1]}
    assert ndjson(json.dumps(line).encode()) == RawEvent("7", NOON, ("3",))
    grid = Columns(place=("lon", "lat"), unit="ms")
    fields = {"user": "ann", "time": NOON / 1000, "lon": -1.5, "lat": 2}
    assert ndjson(json.dumps(fields).encode(), grid) == RawEvent("ann", NOON, ("-1.5", "2"))


@pytest.mark.parametrize(("unit", "text"), [("s", str(NOON // 10**6)), ("ms", f"{NOON // 1000}.0"), ("us", str(NOON))])
def test_numbers_as_time(unit: str, text: str) -> None:
    """Seconds, milliseconds and microseconds since 1970; parts of a microsecond are floored."""
    columns = Columns(unit=unit)  # type: ignore[arg-type]
    assert csv(f"{text},north,ann,".encode(), columns).instant == NOON
    assert csv(b"-0.5,north,ann,", Columns(unit="us")).instant == -1


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"2024-05-01T12:00:00Z,north,ann",
        b"2024-05-01T12:00:00Z,north,ann,,",
        b'2024-05-01T12:00:00Z,"north,ann,',
        b'2024-05-01T12:00:00Z,"no"rth,ann,',
        b"2024-05-01T12:00:00Z,north,,",
        b"2024-05-01T12:00:00Z,,ann,",
        b"2024-05-01T12:00:00Z,nor\0th,ann,",
        b"2024-05-01T12:00:00Z,north,\xff\xfe,",
        b"now,north,ann,",
        b",north,ann,",
        b"2024-05-01T12:00:00Z,north," + b"a" * 513 + b",",
    ],
)
def test_broken_csv(line: bytes) -> None:
    """Too few or many fields, broken quotes, nothing, NUL, no UTF-8, no time, names that are too long."""
    with pytest.raises(ValueError):
        csv(line)


@pytest.mark.parametrize("text", ["1e999999", "-1e30", "nan", "inf", "1_000", "9" * 41, "0x10", ""])
def test_broken_numbers(text: str) -> None:
    """Numbers out of any range are refused at no cost."""
    with pytest.raises(ValueError):
        csv(f"{text},north,ann,".encode(), Columns(unit="s"))


def test_headers() -> None:
    """A file without its columns, or with one twice, is refused with its name and line 1."""
    for header in (None, b"", b"user,time", b"user,time,place,user", b"USER,time,place"):
        with pytest.raises(Unreadable, match=r"file\.csv, line 1"):
            line_reader("csv", Columns(), header, "file.csv")
    for delimiter in ("", ",,", '"', "\n"):
        with pytest.raises(InvalidSetting, match="delimiter"):
            Columns(delimiter=delimiter)
