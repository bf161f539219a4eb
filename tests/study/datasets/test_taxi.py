"""The reader of T-Drive, on made-up files in its format."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.study.datasets.naive import last_of, walk, walked

from wevent.errors import InvalidInput, InvalidSetting, MissingData
from wevent.study.datasets.stream import DataOptions, Presence, RecordedStream
from wevent.study.datasets.taxi import grid, open_taxi

NOON = "2008-02-02 12:00:00"


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, text in files.items():
        path = folder / "taxi" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def taxi(folder: Path, **options: Any) -> RecordedStream:
    stream = open_taxi(DataOptions(folder=folder, **options))
    assert isinstance(stream, RecordedStream)
    return stream


def lines(*points: tuple[object, str, object, object]) -> str:
    return "".join(f"{who},{time},{lon},{lat}\n" for who, time, lon, lat in points)


@pytest.mark.parametrize(
    ("lon", "lat", "cell"),
    [
        ("116", "39.5", 0),  # the south-western corner
        ("116.8", "40.3", 99),  # the north-eastern one belongs to the last cell
        ("116.8", "39.5", 9),
        ("116", "40.3", 90),
        ("116.08", "39.5", 1),  # lines inside belong to the next cell; 0.08 is no double
        ("116.07999", "39.5", 0),
        ("116.24", "39.74", 33),
        ("116.56", "40.06", 77),
        ("116.51172", "39.92123", 56),
    ],
)
def test_points_fall_into_cells(tmp_path: Path, lon: str, lat: str, cell: int) -> None:
    """Rows go north, columns east; a point on an inner line is in the next cell, on the outer border in the last."""
    write(tmp_path, {"1.txt": lines((1, NOON, lon, lat))})
    stream = taxi(tmp_path)
    assert walked(stream) == [[cell]]
    assert stream.plane == (10, 10)
    assert stream.cells[cell] == f"row {cell // 10} column {cell % 10}"


@pytest.mark.parametrize(
    "point", [("115.99999", "40"), ("116.80001", "40"), ("116.4", "39.49999"), ("116.4", "40.30001")]
)
def test_points_outside_are_dropped(tmp_path: Path, point: tuple[str, str]) -> None:
    """A point out of the box is counted and gone; it does not begin the stream either."""
    early = "2008-02-02 11:00:00"
    write(tmp_path, {"1.txt": lines((1, early, *point), (1, NOON, 116.4, 39.9)), "2.txt": lines((2, NOON, *point))})
    stream = taxi(tmp_path)
    assert stream.dropped == {"invalid line": 0, "outside the box": 2}
    assert (stream.people, stream.slots) == (("1",), 1)


def test_bad_lines_are_dropped_and_counted(tmp_path: Path) -> None:
    """Whatever is not an id, a time and two numbers is dropped; empty lines and ends of lines do not matter."""
    bad = [
        b"1,2008-02-02 12:00:00,116.4",
        b"1,2008-02-02 12:00:00,116.4,39.9,7",
        b"1,2008-02-30 12:00:00,116.4,39.9",
        b"1,yesterday,116.4,39.9",
        b"1,2008-02-02 12:00:00,nan,39.9",
        b"1,2008-02-02 12:00:00,116.4,inf",
        b"1,2008-02-02 12:00:00,,39.9",
        b",2008-02-02 12:00:00,116.4,39.9",
        b"one,2008-02-02 12:00:00,116.4,39.9",
        b"-1,2008-02-02 12:00:00,116.4,39.9",
        b'"1,2008-02-02 12:00:00,116.4,39.9',
        b"\xff\xfe\x00,,,",
        b"#",
        b"x" * 40_000,
    ]
    good = b"1,2008-02-02 12:00:00,116.4,39.9"
    write(tmp_path, {"1.txt": b"\n\n".join([*bad, good]) + b"\r\n", "2.txt": b""})
    stream = taxi(tmp_path)
    assert stream.dropped == {"invalid line": len(bad), "outside the box": 0}
    assert walked(stream) == [[55]]


def test_the_last_record_of_a_minute_counts(tmp_path: Path) -> None:
    """Lines may come in any order; duplicates change nothing; in one second the highest cell counts."""
    points: Sequence[tuple[object, str, object, object]] = [
        (1, "2008-02-02 12:00:59", 116.1, 39.5),
        (1, "2008-02-02 12:00:10", 116.7, 39.5),
        (1, "2008-02-02 12:00:10", 116.7, 39.5),
        (1, "2008-02-02 12:01:30", 116.7, 39.5),
        (1, "2008-02-02 12:01:30", 116.3, 39.5),
        (1, "2008-02-02 12:00:00", 116.4, 39.5),
    ]
    write(tmp_path / "once", {"1.txt": lines(*points)})
    write(tmp_path / "twice", {"1.txt": lines(*points, *reversed(points))})
    for folder in ("once", "twice"):
        assert walked(taxi(tmp_path / folder, presence="seen")) == [[1], [8]]


def test_minutes_begin_with_the_first_record(tmp_path: Path) -> None:
    """Slots are minutes from the first record on, and minutes without any record are slots, too."""
    first = lines((1, "2008-02-02 12:00:30", 116.1, 39.5), (1, "2008-02-02 12:01:29", 116.2, 39.5))
    write(tmp_path, {"1.txt": first, "7.txt": lines((7, "2008-02-02 12:05:30", 116.3, 39.5))})
    assert walked(taxi(tmp_path, presence="seen")) == [[2, -1], *[[-1, -1]] * 4, [-1, 3]]
    assert walked(taxi(tmp_path, presence="carry")) == [[2, 3]] * 6
    assert taxi(tmp_path, slots=2).slots == 2


@pytest.mark.parametrize("presence", ["carry", "seen"])
@pytest.mark.parametrize("cells", [100, 2, 38])
def test_same_as_plain_python(tmp_path: Path, presence: Presence, cells: int) -> None:
    """Twelve taxis, 1,200 lines, some broken, in folders below: the stream is that of plain loops over the lines."""
    dice = random.Random(4)
    start = datetime(2008, 2, 2, 13, 30, 44)
    rows, columns = grid(cells)
    points: list[tuple[int, datetime, Fraction, Fraction]] = []
    texts: dict[str, str] = {}
    for who in range(1, 13):
        text = ""
        for _ in range(100):
            time = start + timedelta(seconds=dice.randrange(7_200))
            lon, lat = Fraction(dice.randrange(11_590, 11_690), 100), Fraction(dice.randrange(3_945, 4_035), 100)
            text += f"{who},{time:%Y-%m-%d %H:%M:%S},{float(lon):.5f},{float(lat):.5f}\n"
            points.append((who, time, lon, lat))
            if dice.random() < 0.05:
                text += dice.choice(["garbage\n", "\n", f"{who},,116.5,39.9\n", text.splitlines(keepends=True)[-1]])
        texts[f"{who % 3}/{who}.txt"] = text
    write(tmp_path, texts)
    inside = [p for p in points if 116 <= p[2] <= Fraction("116.8") and Fraction("39.5") <= p[3] <= Fraction("40.3")]
    first = min(time for _, time, _, _ in inside)
    visits = []
    for who, time, lon, lat in inside:
        second = int((time - first).total_seconds())
        row = min(int((lat - Fraction("39.5")) / Fraction("0.8") * rows), rows - 1)
        column = min(int((lon - 116) / Fraction("0.8") * columns), columns - 1)
        visits.append((who, second // 60, (second, row * columns + column)))
    expected = last_of(visits)
    slots = max(max(records_of) for records_of in expected.values()) + 1
    stream = taxi(tmp_path, presence=presence, cells=cells)
    assert stream.people == tuple(str(who) for who in sorted(expected, key=lambda who: int(str(who))))
    assert len(stream.cells) == cells
    assert walked(stream) == walk(expected, slots, presence)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [(1, (1, 1)), (2, (1, 2)), (20, (4, 5)), (38, (2, 19)), (56, (7, 8)), (97, (1, 97)), (100, (10, 10))],
)
def test_grids_are_close_to_squares(cells: int, expected: tuple[int, int]) -> None:
    """Of all rows × columns with so many cells the closest to a square is taken."""
    assert grid(cells) == expected


def test_too_many_cells_are_refused(tmp_path: Path) -> None:
    """A grid that would fill the memory is refused before any file is read."""
    with pytest.raises(InvalidSetting, match="at most 10,000 cells, got cells=10001"):
        taxi(tmp_path, cells=10_001)


def test_missing_files_are_named(tmp_path: Path) -> None:
    """Without files the refusal names them, their source and the folder; other text files are none of them."""
    write(tmp_path, {"readme.txt": "hello"})
    with pytest.raises(
        MissingData, match=r"taxi: 1\.txt … 10357\.txt not found in .*taxi.*T-Drive.*its own terms"
    ) as refused:
        taxi(tmp_path)
    assert refused.value.fields["folder"] == str(tmp_path / "taxi")
    assert refused.value.fields["files"] == ("1.txt … 10357.txt",)
    assert "Microsoft Research" in str(refused.value.fields["source"])


def test_files_without_a_usable_line_are_refused(tmp_path: Path) -> None:
    """Nothing usable is an error, not an empty stream."""
    write(tmp_path, {"1.txt": "not a taxi\n"})
    with pytest.raises(InvalidInput, match="taxi: not one usable record"):
        taxi(tmp_path)


def test_stars_and_brackets_in_folders(tmp_path: Path) -> None:
    """A folder named like a pattern is taken by its name."""
    write(tmp_path / "a[1]*?", {"1.txt": lines((1, NOON, 116.4, 39.9))})
    write(tmp_path / "a1", {"1.txt": lines((2, NOON, 116.4, 39.9))})
    assert taxi(tmp_path / "a[1]*?").people == ("1",)
