"""Validates the events of Parquet files inside DuckDB; Python reads them where the type of a time needs it.

The rules are those of `names`, `formats` and `validation`, in the same order; tests compare both. No value of a column
can raise: an event that cannot be read is refused and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wevent.errors import Unreadable
from wevent.events.cells import NUMBER, GridCells
from wevent.events.formats import MICROSECONDS, Columns
from wevent.events.headers import check_columns
from wevent.events.names import WHOLE_TYPES, show_name, sql_name
from wevent.events.refusals import Refusal
from wevent.events.sql import duckdb_errors, literal_path, quote_name, quote_text
from wevent.events.staging import REFUSED_SLOTS
from wevent.events.timeline import EARLIEST, LATEST, TimesSeen
from wevent.events.validation import AcceptanceWindow, EventValidator

if TYPE_CHECKING:
    import duckdb

_TIMES = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_S", "DATE")
_ROWS_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A Parquet file as it is read: the columns a (user), b (time), c and d (place).

    Attributes:
        path: of the file.
        columns: which of its columns hold what.
        types: DuckDB's types of these, user first.
        broken: whether some text in it is not UTF-8, so that every text has to be checked.
    """

    path: Path
    columns: Columns
    types: tuple[str, ...]
    broken: bool = False

    @property
    def direct(self) -> bool:
        """Whether SQL can validate it; otherwise Python reads the times."""
        return self.types[1] not in ("VARCHAR", "BLOB", "DOUBLE", "FLOAT") and not self.types[1].startswith("DECIMAL")

    @property
    def select(self) -> str:
        """The rows, as they are; text that is not UTF-8 is empty."""
        file = quote_text(literal_path(self.path))
        names = [(key, quote_name(name)) for key, name in zip("abcd", self.columns.all, strict=False)]
        if not self.broken:
            return f"SELECT {', '.join(f'{name} AS {key}' for key, name in names)} FROM read_parquet({file})"  # noqa: S608
        # What is not UTF-8 differs between a reading that replaces it and one that leaves it out.
        kept = ", ".join(
            f"CASE WHEN r.{name} = i.{name} OR r.{name} IS NULL THEN r.{name} ELSE '' END AS {key}"
            if kind == "VARCHAR"
            else f"r.{name} AS {key}"
            for (key, name), kind in zip(names, self.types, strict=True)
        )
        only = ", ".join(dict.fromkeys(name for _, name in names))
        readings = [
            f"(SELECT {only} FROM read_parquet({file}, utf8_validation = '{way}')) {way[0]}"  # noqa: S608
            for way in ("replace", "ignore")
        ]
        return f"SELECT {kept} FROM {' POSITIONAL JOIN '.join(readings)}"  # noqa: S608

    @property
    def instant(self) -> str:
        """Microseconds since 1970, NULL where a time cannot be read."""
        kind, unit = self.types[1], self.columns.unit
        if kind in _TIMES:
            moment = "b" if kind == "TIMESTAMP WITH TIME ZONE" else "CAST(b AS TIMESTAMP)"
            return f"CASE WHEN isfinite(b) THEN TRY(epoch_us({moment})) END"
        if kind in WHOLE_TYPES and unit != "iso":
            return f"TRY(CAST(CAST(b AS HUGEINT) * {MICROSECONDS[unit]} AS BIGINT))"
        return "CAST(NULL AS BIGINT)"

    @property
    def untimed(self) -> str:
        """Why a time cannot be read."""
        if self.types[1] not in WHOLE_TYPES:
            return str(REFUSED_SLOTS[Refusal.UNTIMED])
        kinds = (Refusal.SECONDS, Refusal.MILLISECONDS, Refusal.MICROSECONDS, Refusal.NANOSECONDS)
        limits = ("1e8", "1e11", "1e14", "1e17", "1e20")
        size = "abs(CAST(b AS DOUBLE))"
        cases = [
            f"WHEN {size} >= {limits[k]} AND {size} < {limits[k + 1]} THEN {REFUSED_SLOTS[kind]}"
            for k, kind in enumerate(kinds)
        ]
        return f"CASE {' '.join(cases)} ELSE {REFUSED_SLOTS[Refusal.UNTIMED]} END"

    @property
    def nothing(self) -> str:
        """Whether a column holds nothing."""
        return " OR ".join(f"{key} IS NULL" for key in "abcd"[: len(self.types)])

    @property
    def places(self) -> list[str]:
        """Names of places, or degrees, NULL where they are unusable."""
        if len(self.types) == 3:
            return [sql_name("c", self.types[2])]
        return [_degrees(key, kind) for key, kind in zip("cd", self.types[2:], strict=True)]


def open_parquet(connection: duckdb.DuckDBPyConnection, path: Path, columns: Columns) -> tuple[ParquetFile, TimesSeen]:
    """Inspect a Parquet file; also give the first and last time in it where DuckDB can read them.

    Guarantees:
        A file without the columns it should have, or that is no Parquet, raises `Unreadable`.
        Text that is not UTF-8 is noticed here; it costs only its own rows.
    """
    import duckdb

    name = show_name(path)
    with duckdb_errors(path):
        try:
            described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({quote_text(literal_path(path))})")  # noqa: S608
        except duckdb.InvalidInputException:
            raise Unreadable(
                f"{name}: not a readable Parquet file. Nothing of it was counted.", file=str(path)
            ) from None
        types = {column: kind for column, kind, *_ in described.fetchall()}
    check_columns(list(types), columns.settings, name, str(path))
    file = ParquetFile(path, columns, tuple(types[column] for column in columns.all))
    texts = [key for key, kind in zip("abcd", file.types, strict=False) if kind == "VARCHAR"]
    lengths = "".join(f", max(strlen({key}))" for key in texts)
    probe = (
        f"SELECT min(t), max(t){lengths} FROM (SELECT *, {{}} AS t FROM ({{}})) "  # noqa: S608
        f"WHERE t IS NULL OR t BETWEEN {EARLIEST} AND {LATEST}"
    )
    with duckdb_errors(path):
        try:
            found = connection.execute(probe.format(file.instant, file.select)).fetchall()
        except duckdb.InvalidInputException:
            file = ParquetFile(path, columns, file.types, broken=True)
            found = connection.execute(probe.format(file.instant, file.select)).fetchall()
    return file, TimesSeen(*found[0][:2])


def python_rows(connection: duckdb.DuckDBPyConnection, file: ParquetFile) -> Iterator[list[tuple[Any, ...]]]:
    """Rows for Python to read, in batches: whether a value is missing, name, time, place."""
    time = "TRY(decode(b))" if file.types[1] == "BLOB" else "b"
    wanted = ", ".join([file.nothing, sql_name("a", file.types[0]), time, *file.places])
    with duckdb_errors(file.path):
        cursor = connection.cursor()
        cursor.execute(f"SELECT {wanted} FROM ({file.select})")  # noqa: S608
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            yield rows


def validating_select(file: ParquetFile, validator: EventValidator, acceptance_window: AcceptanceWindow) -> str:
    """The select that validates a file whose times DuckDB can read, into the columns of `staging`."""
    grid = validator.cells if isinstance(validator.cells, GridCells) else None
    timeline = validator.timeline
    start, first, width = timeline.start(1), timeline.start(acceptance_window.first), timeline.width
    if grid is None:
        where, unplaced, bad_degrees = f"{file.places[0]} AS x", "x IS NULL", "FALSE"
        join, cell = "LEFT JOIN cells c ON c.name = e.x", f"coalesce(c.id, {validator.cells.other})"
    else:
        longitude, latitude = file.places
        where, join, unplaced = f"{longitude} AS x, {latitude} AS y", "", "FALSE"
        bad_degrees = "(x IS NULL OR y IS NULL OR NOT (isfinite(x) AND isfinite(y)))"
        cell = f"CASE WHEN {bad_degrees} THEN -1 ELSE {_field(grid)} END"
    inner = (
        f"SELECT {sql_name('a', file.types[0])} AS u, {file.instant} AS t, {file.untimed} AS untimed, "  # noqa: S608
        f"{file.nothing} AS nothing, {where} FROM ({file.select})"
    )
    timed = f"(t IS NOT NULL AND t BETWEEN {EARLIEST} AND {LATEST})"
    kind = (
        f"CASE WHEN nothing THEN {REFUSED_SLOTS[Refusal.INCOMPLETE]} "
        f"WHEN u IS NULL THEN {REFUSED_SLOTS[Refusal.USERLESS]} "
        f"WHEN NOT {timed} THEN untimed "
        f"WHEN {unplaced} THEN {REFUSED_SLOTS[Refusal.PLACELESS]} "
        f"WHEN t < {start} THEN {REFUSED_SLOTS[Refusal.EARLY]} "
        f"WHEN t < {first} THEN {REFUSED_SLOTS[Refusal.LATE]} "
        f"WHEN t >= {acceptance_window.until} THEN {REFUSED_SLOTS[Refusal.FUTURE]} "
        f"WHEN {'FALSE' if validator.group else 'p.id IS NULL'} THEN {REFUSED_SLOTS[Refusal.UNLISTED]} "
        f"WHEN {bad_degrees} THEN {REFUSED_SLOTS[Refusal.PLACELESS]} "
        f"WHEN ({cell}) < 0 THEN {REFUSED_SLOTS[Refusal.OUTSIDE]} ELSE 0 END"
    )
    outer = (
        f"SELECT {kind} AS kind, coalesce(p.id, -1) AS person, "  # noqa: S608
        f"{'CASE WHEN p.id IS NULL THEN u END' if validator.group else 'NULL'} AS s, "
        f"CASE WHEN {timed} THEN t - {first} END AS since, {cell} AS cell "
        f"FROM ({inner}) e LEFT JOIN people p ON p.name = u {join}"
    )
    slot = f"CAST(CASE WHEN kind < 0 THEN kind ELSE since // {width} END AS BIGINT)"
    return (
        f"SELECT {slot} AS slot, person, CAST(s AS VARCHAR) AS unlisted, since % {width} AS k, "  # noqa: S608
        f"CAST(cell AS INTEGER) AS cell FROM ({outer})"
    )


def _degrees(column: str, kind: str) -> str:
    """Degrees as a double, NULL where there are none."""
    if kind in (*WHOLE_TYPES, "DOUBLE", "FLOAT"):
        return f"CAST({column} AS DOUBLE)"
    if kind.startswith("DECIMAL"):
        return f"CAST(CAST({column} AS VARCHAR) AS DOUBLE)"  # rounded once, as Python rounds the text
    if kind not in ("VARCHAR", "BLOB"):
        return "CAST(NULL AS DOUBLE)"
    text = f"TRY(decode({column}))" if kind == "BLOB" else column
    return f"CASE WHEN regexp_full_match({text}, {quote_text(NUMBER)}) THEN TRY_CAST(trim({text}) AS DOUBLE) END"


def _field(grid: GridCells) -> str:
    """The index of the field of x and y."""
    box = grid.box
    inside = f"x BETWEEN {box.west!r} AND {box.east!r} AND y BETWEEN {box.south!r} AND {box.north!r}"
    across, up = box.east - box.west, box.north - box.south
    column = f"least({grid.across - 1}, CAST(floor((x - ({box.west!r})) / {across!r} * {grid.across}) AS INTEGER))"
    row = f"least({grid.up - 1}, CAST(floor((y - ({box.south!r})) / {up!r} * {grid.up}) AS INTEGER))"
    return f"CASE WHEN {inside} THEN {row} * {grid.across} + {column} ELSE {grid.other} END"
