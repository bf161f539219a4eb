"""A file of another format than its name, or without a column, is refused with a sentence that says what to do."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import duckdb
import pytest

from wevent.errors import Unreadable
from wevent.events.cells import NamedCells
from wevent.events.files import GroupedFiles
from wevent.events.formats import Columns, line_reader
from wevent.events.headers import check_header
from wevent.events.timeline import Timeline
from wevent.events.validation import AcceptanceWindow, EventValidator

START = 1_714_521_600_000_000
VALIDATOR = EventValidator(Timeline(0, 60_000_000, START), NamedCells(["north"]), {"ann": 0}, False)
TEXT = "user,time,place\nann,2024-05-01T00:00:10Z,north\n"
LINE = b'{"user": "ann", "time": "2024-05-01T00:00:10Z", "place": "north"}\n'


def tallies(path: Path) -> dict[str, int]:
    """The tallies of a file."""
    with GroupedFiles([path], VALIDATOR, AcceptanceWindow(1, START + 60_000_000), "first", Columns()) as grouped:
        return dict(grouped.tallies)


@pytest.mark.parametrize("suffix", [".csv", ".ndjson"])
def test_other_formats(tmp_path: Path, suffix: str) -> None:
    """Compressed files, UTF-16 and Parquet under the name of CSV or NDJSON are refused as a whole, and named."""
    text = TEXT.encode() if suffix == ".csv" else LINE
    contents = {
        "gzip": gzip.compress(text),
        "bzip2": bz2.compress(text),
        "UTF-16": text.decode().encode("utf-16"),
        "UTF-16, or no text": text.decode().encode("utf-16-le"),
        "ZIP": b"PK\x03\x04" + text,
        "Parquet": b"PAR1" + text,
    }
    for word, content in contents.items():
        path = tmp_path / f"e{suffix}"
        path.write_bytes(content)
        with pytest.raises(Unreadable, match=f"{path.name}.* is .*{word}"):
            tallies(path)


def test_one_line_does_not_make_another_format(tmp_path: Path) -> None:
    """A first line that begins like gzip or UTF-16 is refused alone if objects follow."""
    path = tmp_path / "e.ndjson"
    for beginning in (b"\x1f\x8b\x08", b"\xff\xfe", b"\0\0\0\0", b"PAR1"):
        path.write_bytes(beginning + b"\n" + LINE)
        assert tallies(path) == {"malformed": 1, "accepted": 1}


def test_no_text(tmp_path: Path) -> None:
    """A CSV header that is not UTF-8, and lines that end with carriage returns alone, are refused in words."""
    path = tmp_path / "e.csv"
    path.write_bytes(b"user,t\xe9me,place\n")
    with pytest.raises(Unreadable, match="not a line of CSV in UTF-8"):
        tallies(path)
    path.write_text(TEXT.replace("\n", "\r"), newline="")
    with pytest.raises(Unreadable, match="carriage return"):
        tallies(path)
    path.write_text(TEXT.replace("\n", "\r\n"), newline="")
    assert tallies(path) == {"accepted": 1}
    path.write_bytes(b"")
    assert tallies(path) == {}


def test_missing_columns_are_named(tmp_path: Path) -> None:
    """The message names the missing column, its setting, the columns found and the one that may be meant."""
    with pytest.raises(Unreadable) as caught:
        line_reader("csv", Columns(), b"User,time,place,x\x1b[31m", "e.csv")
    said = str(caught.value)
    assert "no column 'user' (setting sources.user; did you mean 'User'?)" in said
    assert "found: User, time, place, x\\x1b[31m" in said
    assert "\x1b" not in said
    with pytest.raises(Unreadable, match=r"twice a column 'time' \(setting sources.time\)"):
        line_reader("csv", Columns(), b"user,time,time,place", "e.csv")
    with pytest.raises(Unreadable, match=r"no column 'lat' \(setting sources.latitude\)"):
        line_reader("csv", Columns(place=("lon", "lat")), b"user,time,lon", "e.csv")
    path = tmp_path / "e.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 1 AS uid, 2 AS time, 3 AS place) TO '{path}' (FORMAT parquet)")
    with pytest.raises(Unreadable, match=r"no column 'user' \(setting sources.user\); found: uid, time, place"):
        tallies(path)


@pytest.mark.parametrize(
    "line",
    [
        b"ann,2024-05-01T00:00:10Z,north",
        b"ann,1714521610,north",
        b"users,05/01/2024 12:00,north",
        b"ann;2024-05-01T12:00:00Z;north",
        b'{"user": "ann", "time": "2024-05-01T12:00:00Z", "place": "north"}',
        b"ann, 2024-05-01T12:00:00Z,north",
        b"ann,+02024-05-01,north",
        b"ann,,north",
    ],
)
def test_a_first_line_that_is_an_event_is_not_shown(line: bytes) -> None:
    """A file without a header, with another delimiter or of another format: nothing of its first event is shown."""
    with pytest.raises(Unreadable, match="is there a header") as refused:
        check_header(line, Columns().settings, ",", "events.csv")
    assert not any(word in str(refused.value) for word in ("ann", "users", "2024", "1714521610", "north"))
