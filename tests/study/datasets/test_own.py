"""Files of your own, good ones and hostile ones."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.study.datasets.naive import walk, walked

from wevent.errors import InvalidInput, InvalidSetting, MissingData
from wevent.study.datasets import own
from wevent.study.datasets.own import open_own, seconds
from wevent.study.datasets.stream import DataOptions, Presence, RecordedStream


def stream_of(path: Path, text: str | bytes, **options: Any) -> RecordedStream:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    stream = open_own(path, DataOptions(**options))
    assert isinstance(stream, RecordedStream)
    return stream


def parquet(path: Path, query: str) -> None:
    """Write what a query gives as Parquet."""
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def test_slots_are_counted_from_the_least(tmp_path: Path) -> None:
    """Columns may come in any order and case, with others between; the least slot, negative or not, is the first."""
    text = "Cell,note,SLOT,user\nnorth,x,12,ann\nsouth,,10,bob\nnorth,,15,bob\n"
    stream = stream_of(tmp_path / "own.csv", text, presence="seen")
    assert (stream.name, stream.slots) == ("own.csv", 6)
    assert (stream.people, stream.cells) == (("ann", "bob"), ("north", "south"))
    assert walked(stream) == [[-1, 1], [-1, -1], [0, -1], [-1, -1], [-1, -1], [-1, 0]]
    assert stream_of(tmp_path / "own.csv", "user,cell,slot\na,x,-2\na,x,1\n").slots == 4


def test_the_most_frequent_cell_counts(tmp_path: Path) -> None:
    """Of several records in a slot the most frequent cell counts, and of equally frequent ones the smallest."""
    rows = ["a,10,1", "a,9,1", "a,10,1", "b,10,1", "b,9,1", "c,x,1", "c,10,1"]
    stream = stream_of(tmp_path / "own.csv", "user,cell,slot\n" + "\n".join(rows) + "\n")
    assert stream.cells == ("9", "10", "x")  # numbers by size, then text
    assert walked(stream) == [[1, 0, 1]]


@pytest.mark.parametrize("presence", ["carry", "seen"])
@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
def test_same_as_plain_python(tmp_path: Path, form: str, presence: Presence) -> None:
    """2,000 records as CSV, zipped CSV and Parquet: the stream is that of plain loops over the rows."""
    dice = random.Random(3)
    start = datetime(1969, 12, 31, 20, 17, 3, tzinfo=UTC)  # over the turn of 1970
    rows = [
        (f"u{dice.randrange(30):02}", start + timedelta(seconds=dice.randrange(36_000)), dice.choice("abcd"))
        for _ in range(2_000)
    ]
    path = tmp_path / f"own.{form}"
    text = "user,time,cell\n" + "".join(f"{who},{time:%Y-%m-%dT%H:%M:%SZ},{cell}\n" for who, time, cell in rows)
    if form == "parquet":
        (tmp_path / "raw.csv").write_text(text)
        parquet(path, f"FROM read_csv('{tmp_path / 'raw.csv'}')")
    else:
        path.write_bytes(gzip.compress(text.encode()) if form == "csv.gz" else text.encode())
    counted: dict[Any, dict[int, Counter[str]]] = {}
    for who, time, cell in rows:
        slot = int(time.timestamp()) // 900
        counted.setdefault(who, {}).setdefault(slot, Counter())[cell] += 1
    first, last = (end(slot for records_of in counted.values() for slot in records_of) for end in (min, max))
    cells = {
        who: {slot - first: min(range(4), key=lambda c: (-n["abcd"[c]], c)) for slot, n in records_of.items()}
        for who, records_of in counted.items()
    }
    stream = open_own(path, DataOptions(presence=presence, slot_width="15m"))
    assert stream.cells == tuple("abcd")
    assert walked(stream) == walk(cells, last - first + 1, presence)


def test_times_with_and_without_zones(tmp_path: Path) -> None:
    """Offsets are heeded, times without one are UTC, and hours begin at full hours."""
    times = ["2024-05-01 10:59:59", "2024-05-01T12:59:59+02:00", "2024-05-01T11:00:00.25Z", "2024-05-01"]
    text = "user,cell,time\n" + "".join(f"u{k},x,{time}\n" for k, time in enumerate(times))
    stream = stream_of(tmp_path / "own.csv", text, presence="seen", slot_width="1h")
    slots = walked(stream)
    assert len(slots) == 12
    assert (slots[0], slots[10], slots[11]) == ([-1, -1, -1, 0], [0, 0, -1, -1], [-1, -1, 0, -1])


@pytest.mark.parametrize(
    "kind", ["TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMPTZ", "DATE", "VARCHAR"]
)
def test_kinds_of_time_in_parquet(tmp_path: Path, kind: str) -> None:
    """Parquet may hold times of any kind; one with a zone is converted, whatever zone wrote it."""
    path = tmp_path / "own.parquet"
    zone = "+09" if kind == "TIMESTAMPTZ" else ""
    values = ", ".join(f"('u', 'x', CAST('2024-05-0{day} 09:00:00{zone}' AS {kind}))" for day in (1, 3))
    parquet(path, f'FROM (VALUES {values}) AS t("user", cell, time)')
    assert walked(open_own(path, DataOptions(presence="seen", slot_width="1d"))) == [[0], [-1], [0]]


def test_slots_of_any_whole_kind(tmp_path: Path) -> None:
    """Slots may be of any whole kind, or whole floats, as other tools write them; users and cells may be numbers."""
    for kind in ("TINYINT", "UBIGINT", "HUGEINT", "DOUBLE", "VARCHAR"):
        path = tmp_path / f"{kind}.parquet"
        rows = ", ".join(f"(7, 3, CAST({slot} AS {kind}))" for slot in (3, 4))
        parquet(path, f'FROM (VALUES {rows}) AS t("user", cell, slot)')
        stream = open_own(path, DataOptions())
        assert (stream.users, stream.cells, stream.slots) == (1, ("3",), 2)


def test_slot_and_time_together(tmp_path: Path) -> None:
    """With both columns, a width takes the time and no width takes the slot."""
    text = "user,cell,slot,time\na,x,1,2024-01-01\na,x,2,2024-01-05\n"
    assert stream_of(tmp_path / "own.csv", text).slots == 2
    assert stream_of(tmp_path / "own.csv", text, slot_width="1d").slots == 5


@pytest.mark.parametrize(
    "text", ["user;cell;slot\na;x;1\n", "user\tcell\tslot\r\na\tx\t1\r\n", '"user","cell","slot"\n"a","x","1"']
)
def test_other_separators(tmp_path: Path, text: str) -> None:
    """Semicolons, tabs, quotes and a missing last end of line are fine."""
    assert walked(stream_of(tmp_path / "own.csv", text)) == [[0]]


def test_names_are_only_names(tmp_path: Path) -> None:
    """Whatever a user or a cell is called, it is not run, and a file named like a pattern is taken by its name."""
    evil = "'; DROP TABLE records; --"
    (tmp_path / "own1.csv").write_text("user,cell,slot\nwrong,x,1\n")
    stream = stream_of(tmp_path / "own[1]*.csv", f'user,cell,slot\n"{evil}","a,b",1\n"NULL","{evil}",1\n')
    assert stream.people == (evil, "NULL")
    assert stream.cells == (evil, "a,b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user,slot\nolga,1\n", r"no column cell; user, cell, and slot or time are needed$"),
        ("olga,north,1\nbob,south,2\n", "no column user, cell, slot;"),
        ("user,cell,time\nolga,north,2024-01-01\n", "no column slot; .* it has a column time, so say how long"),
        ("user,cell,slot\nolga,,1\n", "rows without a user or a cell"),
        ("user,cell,slot\n,north,1\n", "rows without a user or a cell"),
        ("user,cell,slot\nolga,north,\n", "rows without a whole number in slot"),
        ("user,cell,slot\nolga,north,1.5\n", "rows without a whole number in slot"),
        ("user,cell,slot\nolga,north,soon\n", "rows without a whole number in slot"),
        ("user,cell,slot\nolga,north,99999999999999999999\n", "rows without a whole number in slot"),
        ("user,cell,slot\nolga,north,0\nolga,north,10000000\n", "spans more than 10,000,000 slots"),
        ("user,cell,slot\nolga,north,-99999999999999999\nolga,north,99999999999999999\n", "spans more than"),
        ("user,cell,slot\n", "has no rows"),
        ("", "own.csv "),
        ("user,cell,slot\nolga,north\n", "own.csv "),
        ("user,cell,slot\nolga,north,1,2,3\n", "own.csv "),
        (b"user,cell,slot\nolga,n\xff,1\n", "cannot be read as CSV with a header line"),
        (b"user,cell,slot\nolga,\x00,1\n" + b'"' * 7, "own.csv "),
    ],
)
def test_hostile_files_are_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    """Whatever is wrong with a file is said in our words, and nothing of what a row says is repeated."""
    with pytest.raises(InvalidInput, match=message) as refused:
        stream_of(tmp_path / "own.csv", text)
    assert "olga" not in str(refused.value)
    assert "north" not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_broken_parquet(tmp_path: Path) -> None:
    """A file that only calls itself Parquet is refused."""
    with pytest.raises(InvalidInput, match="cannot be read as Parquet"):
        stream_of(tmp_path / "own.parquet", "user,cell,slot\n")


@pytest.mark.parametrize("time", ["soon", "5", "infinity", "2024-02-30", ""])
def test_times_that_are_none(tmp_path: Path, time: str) -> None:
    """Text that is no time is refused."""
    with pytest.raises(InvalidInput, match="rows without an ISO time"):
        stream_of(tmp_path / "own.csv", f"user,cell,time\nolga,north,{time}\n", slot_width="1h")


def test_numbers_are_no_times(tmp_path: Path) -> None:
    """A column of numbers is refused as time: nobody knows their unit."""
    path = tmp_path / "own.parquet"
    parquet(path, "SELECT 'a' AS \"user\", 'x' AS cell, 17 AS time")
    with pytest.raises(InvalidInput, match="must hold times or ISO text, not INTEGER"):
        open_own(path, DataOptions(slot_width="1h"))


def test_a_width_needs_times(tmp_path: Path) -> None:
    """With a width but no column time the refusal says what is missing."""
    with pytest.raises(InvalidInput, match="no column time;"):
        stream_of(tmp_path / "own.csv", "user,cell,slot\na,x,1\n", slot_width="1h")


def test_too_many_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coordinates mistaken for cells do not fill the memory."""
    monkeypatch.setattr(own, "MOST_CELLS", 2)
    with pytest.raises(InvalidInput, match="more than 2 cells; group them"):
        stream_of(tmp_path / "own.csv", "user,cell,slot\n" + "".join(f"a,{k},1\n" for k in range(3)))


def test_cells_can_only_be_those_of_the_file(tmp_path: Path) -> None:
    """Another number of cells than the file has is refused."""
    text = "user,cell,slot\na,x,1\na,y,2\n"
    assert len(stream_of(tmp_path / "own.csv", text, cells=2).cells) == 2
    with pytest.raises(InvalidSetting, match=r"own\.csv has 2 cells, got cells=3"):
        stream_of(tmp_path / "own.csv", text, cells=3)


@pytest.mark.parametrize(
    ("width", "expected"),
    [("30s", 30), ("15m", 900), ("100min", 6_000), (" 1H ", 3_600), ("1d", 86_400), ("2w", 1_209_600)],
)
def test_widths(width: str, expected: int) -> None:
    """A width is a whole number and a unit."""
    assert seconds(width) == expected


@pytest.mark.parametrize("width", ["", "h", "0h", "-1h", "1.5h", "1 h", "1y", "1h30m", "9999999999s", "1h; DROP"])
def test_other_widths_are_refused(width: str) -> None:
    """Anything else is refused, with the known units."""
    with pytest.raises(InvalidSetting, match="s, m, min, h, d, w, such as 1h"):
        seconds(width)


def test_missing_file(tmp_path: Path) -> None:
    """A file that is not there, or a folder, is named with its folder."""
    (tmp_path / "folder.csv").mkdir()
    for name in ("none.csv", "folder.csv"):
        with pytest.raises(MissingData, match=f"no file {name} in ") as refused:
            open_own(tmp_path / name, DataOptions())
        assert refused.value.fields["files"] == (name,)
        assert refused.value.fields["folder"] == str(tmp_path)
