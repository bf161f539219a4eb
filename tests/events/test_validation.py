"""An event that cannot be read is refused alone and counted by its reason; it never stops the others."""

from __future__ import annotations

import contextlib
import json
import traceback
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from wevent.errors import StoreFull, Unreadable
from wevent.events.cells import Box, GridCells, NamedCells
from wevent.events.files import GroupedFiles
from wevent.events.formats import Columns, line_reader
from wevent.events.refusals import HINTS, Refusal, advise
from wevent.events.staging import Staging
from wevent.events.timeline import Timeline, TimesSeen, to_instant
from wevent.events.validation import AcceptanceWindow, AcceptedEvents, EventValidator

START, WIDTH = 1_714_521_600_000_000, 60_000_000
TIMELINE = Timeline(0, WIDTH, START)
PEOPLE = {"ann": 0, "bob": 1, "7": 2}
CELLS = NamedCells(["north", "south", "0"])
ACCEPTANCE = AcceptanceWindow(1, START + 6 * WIDTH)
VALIDATOR = EventValidator(TIMELINE, CELLS, PEOPLE, True)
GRID = EventValidator(TIMELINE, GridCells(Box(-3, -3, 3, 3), 3, 2), PEOPLE, True)

GOOD = {
    "csv": [b"ann,2024-05-01T00:00:10Z,north", b"bob,2024-05-01T00:01:10Z,south", b"7,2024-05-01T00:02:10+00:00,0"],
    "ndjson": [
        b'{"user": "ann", "time": "2024-05-01T00:00:10Z", "place": "north"}',
        b'{"user": "bob", "time": "2024-05-01T00:01:10Z", "place": "south"}',
        b'{"user": 7, "time": "2024-05-01T00:02:10Z", "place": 0}',
    ],
}


def validate(kind: str, lines: list[bytes], columns: Columns | None = None) -> AcceptedEvents:
    """The events that are accepted of lines, and the refusals."""
    given = columns or Columns()
    header = ",".join(given.all).encode()
    return VALIDATOR.validate_lines(lines, line_reader(kind, given, header, "f"), ACCEPTANCE)  # type: ignore[arg-type]


def listed(events: AcceptedEvents) -> list[tuple[int, ...]]:
    """Events of listed people."""
    rows = zip(*(part.tolist() for part in (events.slot, events.person, events.offset, events.cell)), strict=True)
    return sorted(row for row in rows if row[1] >= 0)


def event(**fields: object) -> bytes:
    """An event of an unlisted person, as NDJSON."""
    return json.dumps({"user": "zoe", "time": "2024-05-01T00:00:10Z", "place": "north"} | fields).encode()


NASTY: list[tuple[bytes, Refusal | None]] = [
    (rb'{"user": "a\ud800", "time": "2024-05-01T00:00:10Z", "place": "north"}', Refusal.USERLESS),
    (rb'{"user": "zoe", "time": "2024-05-01T00:00:10Z", "place": "\udfff"}', Refusal.PLACELESS),
    (event(time="2024-\ud800"), Refusal.UNTIMED),
    (event(user=10**600), Refusal.USERLESS),
    (event().replace(b'"zoe"', b"9" * 5_000), Refusal.MALFORMED),
    (event(user=float("nan")), Refusal.USERLESS),
    (event(user=True), Refusal.USERLESS),
    (event(user=None), Refusal.INCOMPLETE),
    (event(user=1.5), Refusal.USERLESS),
    (event(user=["ann"]), Refusal.USERLESS),
    (event(user=""), Refusal.USERLESS),
    (event(user="a" * 513), Refusal.USERLESS),
    (event(user="a\0"), Refusal.USERLESS),
    (event(place={"name": "north"}), Refusal.PLACELESS),
    (json.dumps({"data": json.loads(event())}).encode(), Refusal.INCOMPLETE),
    *((line, Refusal.MALFORMED) for line in (b"{", b"[1]", b"null", b"[" * 200_000)),
    (b'{"user": "zoe", "place": "north"}', Refusal.INCOMPLETE),
    (event(user={"a": 1}), Refusal.USERLESS),
    (b'{"a":' * 100_000, Refusal.MALFORMED),
    (event()[:-1] + b"," + event()[1:], Refusal.MALFORMED),  # every name twice
    (b'{"user": "ann", "user": "bob", "time": "2024-05-01", "place": "north"}', Refusal.MALFORMED),
    (event() + event(), Refusal.MALFORMED),
    (event().decode().encode("utf-16"), Refusal.MALFORMED),
    (b"\xff\xfe\xfd", Refusal.MALFORMED),
    (b"\0" * 40, Refusal.MALFORMED),
    (event(time="2024-05-01T23:59:60Z"), Refusal.UNTIMED),  # a leap second
    (event(time="2024-05-01T00:00:10+99:00"), Refusal.UNTIMED),
    (event(time="0001-01-01T00:00:00+23:59"), Refusal.UNTIMED),
    (event(time="05/01/2024 12:00"), Refusal.UNTIMED),
    (event(time=""), Refusal.UNTIMED),
    (event(time=False), Refusal.UNTIMED),
    (event(time=1_714_521_610), Refusal.SECONDS),
    (event(time=1_714_521_610_000), Refusal.MILLISECONDS),
    (event(time="1712110100000"), Refusal.MILLISECONDS),  # as ISO 8601 this would be a day in 1712
    (event(time=1_714_521_610_000_000), Refusal.MICROSECONDS),
    (event(time=1_714_521_610_000_000_000), Refusal.NANOSECONDS),
    (event(time=10**400), Refusal.UNTIMED),
    (event(time=float("inf")), Refusal.UNTIMED),
    (event(time="2024-04-30T23:59:59Z"), Refusal.EARLY),
    (event(time="9999-12-31T23:59:59Z"), Refusal.FUTURE),
    (event(place="nowhere"), Refusal.OUTSIDE),
    (b"\xef\xbb\xbf" + event(), None),  # a byte order mark
    (event(time="2024-05-01T05:30:10+05:30"), None),
    (event(user=2**63), None),
    (event(user="e\u0301"), None),
]


@pytest.mark.parametrize("place", [0, 3])
def test_nasty_objects(place: int) -> None:
    """Each nasty line is refused for the right reason, or accepted; the lines around it are accepted as without it."""
    plain = listed(validate("ndjson", GOOD["ndjson"]))
    for line, kind in NASTY:
        found = validate("ndjson", [*GOOD["ndjson"][:place], line, *GOOD["ndjson"][place:]])
        assert found.refused == ({kind: 1} if kind else {}), line[:80]
        assert listed(found) == plain


@given(st.sampled_from(["csv", "ndjson"]), st.binary(max_size=80), st.integers(0, 3))
@example("csv", b"zoe,2024-05-01T00:00:10Z,north\r", 1)
@example("ndjson", b"ann\x00", 0)
def test_any_line_leaves_others_unchanged(kind: str, line: bytes, place: int) -> None:
    """A line of any bytes leaves the events of others unchanged, and is counted once."""
    good = GOOD[kind]
    found = validate(kind, [*good[:place], line, *good[place:]])
    assert listed(found) == listed(validate(kind, good))
    assert found.slot.size + found.refused.total() == len(good) + bool(line)


@given(
    st.dictionaries(
        st.sampled_from(["user", "time", "place"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=6),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        ),
    ),
    st.sampled_from(["iso", "s", "ms", "us"]),
)
def test_any_value_is_counted(fields: dict[str, object], unit: str) -> None:
    """An event of any JSON values, in any unit of time, is accepted or counted once."""
    found = validate("ndjson", [event(**fields)], Columns(unit=unit))  # type: ignore[arg-type]
    assert found.slot.size + found.refused.total() == 1


def test_a_lone_surrogate_beside_a_group(tmp_path: Path) -> None:
    """A user with half of a surrogate pair is refused alone; all others of the file count, unlisted ones too."""
    path = tmp_path / "e.ndjson"
    path.write_bytes(b"\n".join([*GOOD["ndjson"], NASTY[0][0], event(), b""]))
    with GroupedFiles([path], VALIDATOR, ACCEPTANCE, "first", Columns()) as grouped:
        assert grouped.tallies == {"accepted": 4, "with an unusable user": 1}
        assert grouped.rows(1).cells.tolist() == [0, -1, -1]
        assert grouped.rows(1).unlisted.tolist() == [1, 0, 0]


TYPES = {
    "BOOLEAN": "true",
    "TIME": "TIME '12:00:00'",
    "TIMETZ": "TIMETZ '12:00:00+01'",
    "INTERVAL": "INTERVAL 3 DAY",
    "VARCHAR[]": "['north']",
    "STRUCT(a VARCHAR)": "{'a': 'north'}",
    "MAP(VARCHAR, INTEGER)": "MAP {'a': 1}",
    "BLOB": r"'\xFF\xFE'::BLOB",
    "DATE": "DATE '9999-12-31' + 106000000",  # far beyond the year 9999
    "TIMESTAMP_S": "TIMESTAMP_S '2024-05-01 00:00:10'",
    "TIMESTAMP_MS": "TIMESTAMP_MS '2024-05-01 00:00:10'",
    "TIMESTAMP_NS": "TIMESTAMP_NS '2024-05-01 00:00:10'",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2024-05-01 00:00:10+00'",
    "DECIMAL(38,10)": "12345678901234567890.5",
    "DECIMAL(4,0)": "7",
    "DOUBLE": "'nan'::DOUBLE",
    "FLOAT": "16777216",
    "HUGEINT": "170141183460469231731687303715884105727",
    "UBIGINT": "18446744073709551615",
    "TINYINT": "7",
    "UUID": "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
    "JSON": "'{\"a\": 1}'",
}


@pytest.mark.parametrize(("unit", "grid"), [("iso", False), pytest.param("us", True, marks=pytest.mark.slow)])
def test_any_type_of_column(tmp_path: Path, unit: str, grid: bool) -> None:
    """A Parquet column of any type, for user, time or place, costs at most its own rows; another file still counts."""
    columns = Columns(place=("x", "y") if grid else ("place",), unit=unit)  # type: ignore[arg-type]
    plain = {"user": "'ann'", "time": "TIMESTAMP '2024-05-01 00:00:10'"} | (
        {"x": "1.5::DOUBLE", "y": "1::INTEGER"} if grid else {"place": "'north'"}
    )
    files: list[Path] = []
    with duckdb.connect() as connection:
        for name in plain:
            for kind, value in TYPES.items():
                chosen = plain | {name: f"unnest([CAST({value} AS {kind}), NULL])"}
                path = tmp_path / f"{len(files)}.parquet"
                fields = ", ".join(f'{field} AS "{column}"' for column, field in chosen.items())
                connection.execute(f"COPY (SELECT {fields}) TO '{path}' (FORMAT parquet)")
                files.append(path)
        good = tmp_path / "good.parquet"
        fields = ", ".join(f'{field} AS "{column}"' for column, field in plain.items())
        connection.execute(f"COPY (SELECT {fields}) TO '{good}' (FORMAT parquet)")
    with GroupedFiles([*files, good], GRID if grid else VALIDATOR, ACCEPTANCE, "first", columns) as grouped:
        assert grouped.tallies.total() == 2 * len(files) + 1
        assert grouped.tallies["without a declared column"] >= len(files)
        assert grouped.rows(1).cells[0] >= 0
    timed = [path for path, kind in zip(files[len(TYPES) :], TYPES, strict=False) if kind.startswith("TIMESTAMP")]
    with GroupedFiles(timed, GRID if grid else VALIDATOR, ACCEPTANCE, "first", columns) as grouped:
        assert grouped.tallies == {"accepted": 4, "without a declared column": 4}


@pytest.mark.parametrize(
    ("column", "time"), [("user", "TIMESTAMP"), ("place", "TIMESTAMP"), ("user", "VARCHAR"), ("time", "VARCHAR")]
)
def test_parquet_text_that_is_not_utf8(tmp_path: Path, column: str, time: str) -> None:
    """Text that is not UTF-8 costs its own row, and is not read as the name without the bad bytes."""
    path = tmp_path / "e.parquet"
    bad = {"user": "annQQQQ", "time": "2024-05-01 00:00:1QQQQ", "place": "northQQQQ"}[column]
    row = {"user": "bob", "time": "2024-05-01 00:00:10", "place": "south"} | {column: bad}
    with duckdb.connect() as connection:
        connection.execute(f'CREATE TABLE t ("user" VARCHAR, time {time}, place VARCHAR)')
        connection.execute("INSERT INTO t VALUES ('7', '2024-05-01 00:00:10', 'north')")
        connection.execute("INSERT INTO t VALUES (?, ?, ?)", list(row.values()))
        connection.execute("INSERT INTO t VALUES ('a?', '2024-05-01 00:00:10', 'south'), (NULL, NULL, 'south')")
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet, COMPRESSION uncompressed)")
    path.write_bytes(path.read_bytes().replace(b"QQQQ", b"\xff\xfe\xfd\xfc"))
    kind = {"user": "with an unusable user", "time": "with an unreadable time", "place": "with an unusable place"}
    with GroupedFiles([path], VALIDATOR, ACCEPTANCE, "first", Columns()) as grouped:
        assert grouped.tallies == {"accepted": 2, kind[column]: 1, "without a declared column": 1}
        assert grouped.rows(1).cells.tolist() == [-1, -1, 0]
        assert grouped.rows(1).unlisted.tolist() == [0, 1, 0]


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(0, 2**63 - 1) | st.integers(10**18, 2**63 - 1) | st.integers(-9, 9), min_size=1, unique=True)
)
def test_one_person_in_every_format(tmp_path: Path, ids: list[int]) -> None:
    """Listed people with numbers for names, 19 digits too, are the same people in CSV, NDJSON and Parquet."""
    people = {str(number): k for k, number in enumerate(ids)}
    validator = EventValidator(TIMELINE, CELLS, people, True)
    moment = "2024-05-01T00:00:10Z"
    (tmp_path / "e.csv").write_text("user,time,place\n" + "".join(f"{k},{moment},north\n" for k in ids))
    (tmp_path / "e.ndjson").write_bytes(b"".join(event(user=k) + b"\n" for k in ids))
    with duckdb.connect() as connection:
        connection.execute(f'CREATE TABLE t AS SELECT unnest({ids}::BIGINT[]) AS "user"')
        for name, kind in (("whole", "BIGINT"), ("words", "VARCHAR"), ("decimal", "DECIMAL(38,0)")):
            wanted = f"CAST(\"user\" AS {kind}) AS \"user\", TIMESTAMP '2024-05-01 00:00:10' AS time, 'north' AS place"
            connection.execute(f"COPY (SELECT {wanted} FROM t) TO '{tmp_path / name}.parquet' (FORMAT parquet)")  # noqa: S608
    for name in ("e.csv", "e.ndjson", "whole.parquet", "words.parquet", "decimal.parquet"):
        with GroupedFiles([tmp_path / name], validator, ACCEPTANCE, "first", Columns()) as grouped:
            rows = grouped.rows(1)
            assert rows.cells.tolist() == [0] * len(ids), name
            assert rows.unlisted.tolist() == [0, 0, 0], name


def test_two_forms_of_a_letter_are_one_person(tmp_path: Path) -> None:
    """A listed person whose name is written with a combining accent never falls into the group."""
    validator = EventValidator(TIMELINE, NamedCells(["cafe\u0301"]), {"zoë": 0}, True)
    row = "zoe\u0308,2024-05-01T00:00:10Z,café"
    (tmp_path / "e.csv").write_text(f"user,time,place\n{row}\n", "utf-8")
    user, time, place = row.split(",")
    (tmp_path / "e.ndjson").write_bytes(event(user=user, time=time, place=place) + b"\n")
    with duckdb.connect() as connection:
        for kind in ("TIMESTAMP", "VARCHAR"):
            fields = f"? AS \"user\", CAST('2024-05-01 00:00:10' AS {kind}) AS time, ? AS place"
            connection.execute(f"COPY (SELECT {fields}) TO '{tmp_path / kind}.parquet' (FORMAT parquet)", [user, place])
    for path in sorted(tmp_path.iterdir()):
        with GroupedFiles([path], validator, ACCEPTANCE, "first", Columns()) as grouped:
            assert grouped.rows(1).cells.tolist() == [0], path.name
            assert grouped.rows(1).unlisted.tolist() == [0]


def test_doubles_and_uuids_as_ids_and_decimals_as_degrees(tmp_path: Path) -> None:
    """Parquet with DOUBLE or UUID ids, or DECIMAL degrees, beside a time stamp is counted; rounded ids are not."""
    uuid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    validator = EventValidator(TIMELINE, GRID.cells, {"7": 0, uuid: 1}, False)
    place = "1.5::DECIMAL(9,6) AS x, (-1.25)::DECIMAL(9,6) AS y, TIMESTAMP '2024-05-01 00:00:10' AS time"
    with duckdb.connect() as connection:
        users = {"doubles": "unnest([7.0::DOUBLE, 7.5, 9007199254740993])", "uuids": f"'{uuid.upper()}'::UUID"}
        for name, user in users.items():
            connection.execute(
                f"COPY (SELECT {user} AS \"user\", {place}) TO '{tmp_path / name}.parquet' (FORMAT parquet)"
            )
    files = [tmp_path / "doubles.parquet", tmp_path / "uuids.parquet"]
    with GroupedFiles(files, validator, ACCEPTANCE, "first", Columns(place=("x", "y"))) as grouped:
        assert grouped.tallies == {"accepted": 2, "with an unusable user": 2}
        assert grouped.rows(1).cells.tolist() == [2, 2]


def test_epochs_without_a_unit(tmp_path: Path) -> None:
    """Numbers where ISO 8601 is declared are counted by the unit that they seem to have, in every format."""
    numbers = {"s": 1_714_521_610, "ms": 1_714_521_610_000, "us": 1_714_521_610_000_000}
    for unit, number in numbers.items():
        (tmp_path / "e.csv").write_text(f"user,time,place\nann,{number},north\n")
        (tmp_path / "e.ndjson").write_bytes(event(time=number) + b"\n")
        with duckdb.connect() as connection:
            for name, kind in (("whole", "BIGINT"), ("double", "DOUBLE"), ("text", "VARCHAR")):
                fields = f"'ann' AS \"user\", CAST({number} AS {kind}) AS time, 'north' AS place"
                connection.execute(f"COPY (SELECT {fields}) TO '{tmp_path / name}.parquet' (FORMAT parquet)")
        with GroupedFiles([tmp_path], VALIDATOR, ACCEPTANCE, "first", Columns()) as grouped:
            (line,) = advise(grouped.tallies)
            assert line.startswith("5 ")
            assert line.endswith(f"set sources.time_unit = '{unit}'")
        with GroupedFiles([tmp_path], VALIDATOR, ACCEPTANCE, "first", Columns(unit=unit)) as grouped:  # type: ignore[arg-type]
            assert grouped.tallies["accepted"] == 5
            assert grouped.seen == TimesSeen(START + 10_000_000, START + 10_000_000)
    words = validate("csv", GOOD["csv"], Columns(unit="ms"))
    assert words.refused == {Refusal.IN_WORDS: 3}


def test_first_and_last_time(tmp_path: Path) -> None:
    """The first and last readable time cover all formats, refused events included."""
    (tmp_path / "e.csv").write_text("user,time,place\nann,1999-01-01,north\nann,,north\nbob,2024-05-01,north\n")
    with duckdb.connect() as connection:
        fields = "'ann' AS \"user\", unnest([DATE '2024-05-02', DATE '2031-01-01']) AS time, 'north' AS place"
        connection.execute(f"COPY (SELECT {fields}) TO '{tmp_path}/e.parquet' (FORMAT parquet)")
    with GroupedFiles([tmp_path], VALIDATOR, ACCEPTANCE, "first", Columns()) as grouped:
        assert grouped.seen == TimesSeen(to_instant("1999-01-01"), to_instant("2031-01-01"))
    (tmp_path / "e.csv").write_text("user,time,place\n")
    with GroupedFiles([tmp_path / "e.csv"], VALIDATOR, ACCEPTANCE, "first", Columns()) as grouped:
        assert grouped.seen == TimesSeen()


CUT = {
    "csv": (b"user,time,place\n", b"u12,2024-05-01T00:00:10Z,north"),
    "ndjson": (b"", event(user="u12")),
}


@pytest.mark.parametrize("kind", CUT)
def test_a_last_line_that_is_cut(tmp_path: Path, kind: str) -> None:
    """No part of a last line is ever counted as another event; it is refused and counted as unfinished."""
    head, line = CUT[kind]
    path = tmp_path / f"e.{kind}"
    for size in (*range(3, len(line), 20), len(line)):
        path.write_bytes(head + line[:size])
        with GroupedFiles([path], VALIDATOR, ACCEPTANCE, "first", Columns()) as grouped:
            complete = kind == "ndjson" and size == len(line)
            assert grouped.tallies == ({"accepted": 1} if complete else {"without an end of line": 1})
    path.write_bytes(head + line + b"\n")
    with GroupedFiles([path], VALIDATOR, ACCEPTANCE, "first", Columns()) as grouped:
        assert grouped.tallies == {"accepted": 1}


def test_the_user_at_the_end_of_a_cut_line(tmp_path: Path) -> None:
    """`u12` cut to `u1` counts for neither; where an unused column follows, the line is certain to be complete."""
    path = tmp_path / "e.csv"
    validator = EventValidator(TIMELINE, CELLS, {"u1": 0, "u12": 1}, False)
    for header, line, tallies in (
        ("time,place,user", "2024-05-01T00:00:10Z,north,u1", {"without an end of line": 1}),
        ("time,place,user", '2024-05-01T00:00:10Z,north,"u1"', {"without an end of line": 1}),
        ("time,place,user,note", "2024-05-01T00:00:10Z,north,u1,he", {"accepted": 1}),
        ("time,place,user,note", "2024-05-01T00:00:10Z,north,u1", {"without an end of line": 1}),
    ):
        path.write_text(f"{header}\n{line}")
        with GroupedFiles([path], validator, ACCEPTANCE, "first", Columns()) as grouped:
            assert grouped.tallies == tallies, line
    path.write_text("time,place,user\n2024-05-01T00:00:10Z,north,u1")
    with GroupedFiles([path], validator, ACCEPTANCE, "first", Columns(unterminated="accept")) as grouped:
        assert grouped.tallies == {"accepted": 1}


def test_every_reason_has_advice() -> None:
    """Every reason has advice, the most frequent comes first, and tallies that are no refusal are left out."""
    assert set(HINTS) == set(Refusal)
    lines = advise(Counter({"accepted": 9, "late": 1, "malformed": 1_200}))
    assert [line.split(":")[0] for line in lines] == ["1,200 malformed", "1 late"]


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.integers(0, 2**32), st.binary(min_size=1, max_size=8))
def test_any_file(tmp_path: Path, content: bytes, place: int, damage: bytes) -> None:
    """Files of any bytes, and damaged Parquet, are counted or refused as a whole; nothing else is raised."""
    good = tmp_path / "good.parquet"
    if not good.exists():
        with duckdb.connect() as connection:
            fields = "'ann' AS \"user\", TIMESTAMP '2024-05-01 00:00:10' AS time, 'north' AS place FROM range(50)"
            connection.execute(f"COPY (SELECT {fields}) TO '{good}' (FORMAT parquet)")
    intact = good.read_bytes()
    at = place % len(intact)
    (tmp_path / "damaged.parquet").write_bytes(intact[:at] + damage + intact[at + len(damage) :])
    (tmp_path / "cut.parquet").write_bytes(intact[:at])
    for name in ("any.csv", "any.ndjson", "any.parquet"):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "headed.csv").write_bytes(b"user,time,place\n" + content)
    for path in tmp_path.iterdir():
        with (
            contextlib.suppress(Unreadable, StoreFull),
            GroupedFiles([path], VALIDATOR, ACCEPTANCE, "first", Columns()) as found,
        ):
            assert found.tallies.total() >= 0
            if path.name in ("any.ndjson", "headed.csv"):
                rows = content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
                assert found.tallies.total() <= rows


def test_a_full_disk_while_grouping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk raises `StoreFull` instead of DuckDB's own error, and no value is in the message."""
    path = tmp_path / "e.csv"
    path.write_bytes(b"user,time,place\n" + GOOD["csv"][0] + b"\n")

    def fail(self: Staging, events: AcceptedEvents) -> None:
        raise duckdb.IOException('Could not write "ann": No space left on device')

    monkeypatch.setattr(Staging, "insert", fail)
    with pytest.raises(StoreFull, match="disk for temporary files is full") as caught:
        GroupedFiles([path], VALIDATOR, ACCEPTANCE, "first", Columns())
    assert "ann" not in "".join(traceback.format_exception(caught.value))


def test_parquet_before_lines(tmp_path: Path) -> None:
    """Files of all formats are grouped together, in any order."""
    with duckdb.connect() as connection:
        fields = "'ann' AS \"user\", TIMESTAMP '2024-05-01 00:00:10' AS time, 'north' AS place FROM range(3000)"
        connection.execute(f"COPY (SELECT {fields}) TO '{tmp_path / 'a.parquet'}' (FORMAT parquet)")
    (tmp_path / "b.csv").write_bytes(b"\n".join([b"user,time,place", *GOOD["csv"], b""]))
    (tmp_path / "c.ndjson").write_bytes(b"\n".join([*GOOD["ndjson"], b""]))
    files = [tmp_path / name for name in ("a.parquet", "b.csv", "a.parquet", "c.ndjson")]
    with GroupedFiles(files, VALIDATOR, ACCEPTANCE, "first", Columns()) as grouped:
        assert grouped.tallies == {"accepted": 6006}
