"""Grouping files by slot: CSV, NDJSON and Parquet give the same rows, in any order, and every event is counted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wevent.errors import Unreadable
from wevent.events.cells import Box, Cells, GridCells, NamedCells
from wevent.events.files import GroupedFiles, find_files
from wevent.events.formats import Columns, RawEvent
from wevent.events.gathering import EventBatch, Listing, SlotCells, gather
from wevent.events.one_cell import OneCell
from wevent.events.timeline import Timeline, show_instant
from wevent.events.validation import AcceptanceWindow, EventValidator

START, WIDTH = 1_714_521_600_000_000, 60_000_000
TIMELINE = Timeline(0, WIDTH, START)
PEOPLE = {"ann": 0, "bob": 1, "7": 2, "'; DROP TABLE events; --": 3}
NAMES = NamedCells(["north", "south", "0"])
ACCEPTANCE = AcceptanceWindow(2, START + 6 * WIDTH)

users = st.sampled_from([*PEOPLE, "zoe", "yan"])
places = st.sampled_from(["north", "south", "0", "nowhere"])
moments = st.integers(START - WIDTH, START + 7 * WIDTH)
event_lists = st.lists(st.tuples(users, moments, places), min_size=20, max_size=60)


def write(
    folder: Path, name: str, rows: list[tuple[Any, ...]], heads: tuple[str, ...], types: str | None = None
) -> Path:
    """Rows in a file of the kind that its name says."""
    path = folder / name
    if path.suffix == ".csv":
        quoted = [",".join('"' + str(value).replace('"', '""') + '"' for value in row) for row in [heads, *rows]]
        path.write_text("\n".join(quoted) + "\n", "utf-8")
    elif path.suffix == ".ndjson":
        path.write_text("".join(json.dumps(dict(zip(heads, row, strict=True))) + "\n" for row in rows), "utf-8")
    else:
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE t ({types})")
            if rows:
                connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(heads))})", rows)  # noqa: S608
            connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    return path


def expected_rows(
    events: list[RawEvent], validator: EventValidator, policy: OneCell
) -> tuple[dict[int, SlotCells], Counter[str]]:
    """The expected rows and tallies, by `validation` and `gathering` alone."""
    found = validator.validate(events, ACCEPTANCE)
    rows = {}
    for slot in range(ACCEPTANCE.first, 7):
        chosen = found.slot == slot
        batch = EventBatch(found.person[chosen], found.offset[chosen], found.cell[chosen], found.unlisted)
        rows[slot] = gather(slot, [batch], policy, Listing.of_all(validator.people), len(validator.cells.names))
    tallies = Counter({kind.value: number for kind, number in found.refused.items()})
    tallies["accepted"] = found.slot.size
    return rows, +tallies


def agree(
    files: list[Path], events: list[RawEvent], validator: EventValidator, policy: OneCell, columns: Columns
) -> None:
    """Files give the rows and tallies that their events should give."""
    expected, tallies = expected_rows(events, validator, policy)
    with GroupedFiles(files, validator, ACCEPTANCE, policy, columns) as grouped:
        assert +grouped.tallies == tallies
        for slot, rows in expected.items():
            found = grouped.rows(slot)
            assert found.cells.tolist() == rows.cells.tolist()
            assert found.unlisted.tolist() == rows.unlisted.tolist()


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(event_lists, st.sampled_from(get_args(OneCell)), st.booleans(), st.booleans())
def test_all_kinds_of_files_agree(
    tmp_path: Path, events: list[tuple[str, int, str]], policy: OneCell, group: bool, other: bool
) -> None:
    """CSV, NDJSON and Parquet of the same events give the rows and refusals of `validation` and `gathering`."""
    cells = NamedCells(["north", "south", "0"], "elsewhere" if other else None)
    validator = EventValidator(TIMELINE, cells, PEOPLE, group)
    raws = [RawEvent(user, moment, (place,)) for user, moment, place in events]
    heads, words = ("user", "time", "place"), [(u, show_instant(t), p) for u, t, p in events]
    types = '"user" VARCHAR, time TIMESTAMP, place VARCHAR'
    stamped = [(u, show_instant(t).rstrip("Z"), p) for u, t, p in events]
    for name, rows, kinds in (
        ("events.csv", words, None),
        ("events.ndjson", words, None),
        ("events.parquet", stamped, types),
        ("zoned.parquet", words, types.replace("TIMESTAMP", "TIMESTAMPTZ")),
        ("texts.parquet", words, types.replace("TIMESTAMP", "VARCHAR")),
    ):
        agree([write(tmp_path, name, list(rows), heads, kinds)], raws, validator, policy, Columns())
    both = [
        write(tmp_path, "a.csv", list(words[::2]), heads),
        write(tmp_path, "b.parquet", list(stamped[1::2]), heads, types),
    ]
    agree(both, raws, validator, policy, Columns())


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(0, 9), moments, st.floats(allow_nan=True, width=32), st.floats(-5, 5)),
        min_size=10,
        max_size=40,
    )
)
def test_grids_and_numbers_agree(tmp_path: Path, events: list[tuple[int, int, float, float]]) -> None:
    """Whole numbers as users and times, longitude and latitude as doubles: Parquet and NDJSON agree."""
    cells: Cells = GridCells(Box(-3, -3, 3, 3), 3, 2, "far")
    validator = EventValidator(TIMELINE, cells, PEOPLE, False)
    columns = Columns(place=("x", "y"), unit="us")
    raws = [RawEvent(str(u), t, (repr(x), repr(y))) for u, t, x, y in events]
    types = '"user" INTEGER, time BIGINT, x DOUBLE, y DOUBLE'
    heads = ("user", "time", "x", "y")
    agree([write(tmp_path, "e.parquet", list(events), heads, types)], raws, validator, "first", columns)
    finite = [event for event in events if np.isfinite(event[2])]
    raws = [RawEvent(str(u), t, (repr(x), repr(y))) for u, t, x, y in finite]
    agree([write(tmp_path, "e.ndjson", list(finite), heads)], raws, validator, "first", columns)


def test_brackets_and_stars_are_part_of_a_name(tmp_path: Path) -> None:
    """A file whose name looks like a pattern is itself, and none of the files that the pattern would find."""
    validator = EventValidator(TIMELINE, NAMES, PEOPLE, False)
    heads, types = ("user", "time", "place"), '"user" VARCHAR, time TIMESTAMP, place VARCHAR'
    for kind in (types, types.replace("TIMESTAMP", "VARCHAR")):  # through SQL, and through Python
        other = [("bob", show_instant(START + 3 * WIDTH).rstrip("Z"), "south")] * 5
        for name in ("e1.parquet", "e2.parquet"):
            write(tmp_path, name, list(other), heads, kind)
        own = [("ann", show_instant(START + 2 * WIDTH).rstrip("Z"), "north")]
        for name in ("e[12].parquet", "e*.parquet", "e'?.parquet"):
            renamed = write(tmp_path, "plain.parquet", list(own), heads, kind).rename(tmp_path / name)
            agree([renamed], [RawEvent("ann", START + 2 * WIDTH, ("north",))], validator, "first", Columns())
            renamed.unlink()


def test_hostile_parquet(tmp_path: Path) -> None:
    """NULL, infinite and far instants, empty and long names and NUL cost themselves and are counted by reason."""
    path = tmp_path / "e.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"""COPY (SELECT * FROM (VALUES
            ('ann', TIMESTAMP '2024-05-01 00:01:30', 'north'), (NULL, TIMESTAMP '2024-05-01 00:01:30', 'north'),
            ('ann', NULL, 'north'), ('ann', TIMESTAMP '2024-05-01 00:01:30', NULL),
            ('ann', TIMESTAMP 'infinity', 'north'),
            ('ann', TIMESTAMP '-infinity', 'north'), ('ann', make_timestamp(9200000000000000000), 'north'),
            ('', TIMESTAMP '2024-05-01 00:01:30', 'north'),
            (repeat('a', 600), TIMESTAMP '2024-05-01 00:01:30', 'north'),
            ('ann' || chr(0), TIMESTAMP '2024-05-01 00:01:30', 'north'), ('ann', TIMESTAMP '2024-05-01 00:01:30', ''),
            ('ann', TIMESTAMP '9999-12-31 23:59:59', 'north'), ('ann', TIMESTAMP '1900-01-01', 'north')
            ) t("user", time, place)) TO '{path}' (FORMAT parquet)"""  # noqa: S608
        )
    with GroupedFiles(
        [path], EventValidator(TIMELINE, NAMES, PEOPLE, False), ACCEPTANCE, "first", Columns()
    ) as grouped:
        assert grouped.tallies == {
            "accepted": 1,
            "without a declared column": 3,
            "with an unreadable time": 3,
            "with an unusable user": 3,
            "with an unusable place": 1,
            "in the future": 1,
            "before the first slot": 1,
        }
        assert grouped.rows(2).cells.tolist() == [0, -1, -1, -1]
    numbers = tmp_path / "n.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT 'ann' AS \"user\", unnest([9223372036854775807, -9223372036854775808, NULL]) AS time, "
            f"'north' AS place) TO '{numbers}' (FORMAT parquet)"
        )
    with GroupedFiles(
        [numbers], EventValidator(TIMELINE, NAMES, PEOPLE, False), ACCEPTANCE, "first", Columns(unit="s")
    ) as grouped:
        assert grouped.tallies == {
            "with a time that looks like nanoseconds since 1970": 2,
            "without a declared column": 1,
        }


def test_broken_lines_touch_nobody_else(tmp_path: Path) -> None:
    """An open quote, NUL bytes or a line of 2 MB cost their own line; the lines around them count."""
    good = b"%b,2024-05-01T00:01:30Z,north\n"
    lines = [b"user,time,place\n", good % b"ann", b'"bob,2024-05-01T00:01:30Z,north\n', b"\0" * 10 + b"\n"]
    lines += [b"x" * 2_000_000 + b"\n", b"\xff\n", good % b"7", good % b"bob"]
    path = tmp_path / "e.csv"
    path.write_bytes(b"".join(lines))
    with GroupedFiles(
        [path], EventValidator(TIMELINE, NAMES, PEOPLE, False), ACCEPTANCE, "first", Columns()
    ) as grouped:
        assert grouped.tallies == {"accepted": 3, "malformed": 4}
        assert grouped.rows(2).cells.tolist() == [0, 0, 0, -1]


def test_finding_files(tmp_path: Path) -> None:
    """Folders give their files of known kinds in the order of names; anything else is refused by name."""
    for name in ("b.csv", "a.ndjson", "c.txt", "sub/d.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert [(path.name, kind) for path, kind in find_files([tmp_path])] == [
        ("a.ndjson", "ndjson"),
        ("b.csv", "csv"),
        ("d.parquet", "parquet"),
    ]
    for name in ("c.txt", "none.csv"):
        with pytest.raises(Unreadable, match=name):
            find_files([tmp_path / name])
    (tmp_path / "B.CSV").write_bytes(b"")
    assert find_files([tmp_path / "B.CSV"]) == [(tmp_path / "B.CSV", "csv")]
    (tmp_path / "sub" / "e.csv.gz").write_bytes(b"")
    with pytest.raises(Unreadable, match=r"e.csv.gz is compressed"):
        find_files([tmp_path])
    validator = EventValidator(TIMELINE, NAMES, PEOPLE, False)
    for name, words in (
        ("d.parquet", "Parquet"),
        ("x.parquet", "no column 'time' .setting sources.time.; .* found: user$"),
    ):
        path = tmp_path / name
        if name == "x.parquet":
            write(tmp_path, name, [], ("user",), '"user" VARCHAR')
        else:
            path.write_bytes(b"no parquet")
        with pytest.raises(Unreadable, match=words):
            GroupedFiles([path], validator, ACCEPTANCE, "first", Columns())
