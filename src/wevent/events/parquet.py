"""Parquet without a detour through Python: columns of known types come in, SQL that sorts them into slots goes out.

The rules are those of `sorting`, in the same order; the tests hold one against the other.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wevent.errors import Unreadable
from wevent.events.cells import GridCells
from wevent.events.formats import LONGEST_NAME, MICROSECONDS, Columns
from wevent.events.sorting import Door, Refusal, Sorted, Sorter
from wevent.events.timeline import EARLIEST, LATEST

if TYPE_CHECKING:
    import duckdb

ACCEPTED = "accepted"
"""The tally of events that were taken."""

REFUSALS = {-1 - k: kind.value for k, kind in enumerate(Refusal)}
"""In the table, a refused event has a negative slot that tells why."""

_CODE = {kind: -1 - k for k, kind in enumerate(Refusal)}
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT")
_TIMES = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_S", "DATE")
_DEGREES = ("DOUBLE", "FLOAT", *_WHOLE)


def literal(path: Path) -> str:
    """A path in which DuckDB takes stars and brackets for what they are."""
    return glob.escape(str(path))


class Staging:
    """Tables of people, cells and events inside DuckDB."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, sorter: Sorter, door: Door) -> None:
        self.sorter, self.door = sorter, door
        self._connection = connection
        names = list(sorter.people)
        numbers = [int(name) if _is_plain(name) else None for name in names]
        ids = np.array(list(sorter.people.values()), np.int32)
        everybody = {"name": _words(names), "whole": _masked(numbers), "id": ids}
        self._fill("people", "name VARCHAR, whole BIGINT, id INTEGER", everybody)
        cells = [] if isinstance(sorter.cells, GridCells) else list(sorter.cells.names)
        self._fill(
            "cells", "name VARCHAR, id INTEGER", {"name": _words(cells), "id": np.arange(len(cells), dtype=np.int32)}
        )
        connection.execute(
            "CREATE TABLE staged (slot BIGINT, person INTEGER, stranger VARCHAR, k BIGINT, cell INTEGER)"
        )

    @property
    def select(self) -> str:
        """The events that were inserted."""
        return "SELECT slot, person, stranger, k, cell FROM staged"

    def insert(self, events: Sorted) -> None:
        """Hand over events that were sorted elsewhere."""
        if not events.slot.size:
            return
        strangers = [events.strangers[-1 - person] if person < 0 else None for person in events.person.tolist()]
        batch = {
            "slot": events.slot - self.door.first,
            "person": np.maximum(events.person, -1).astype(np.int32),
            "stranger": _words(strangers),
            "k": events.offset,
            "cell": events.cell.astype(np.int32),
        }
        self._connection.register("batch", batch)
        self._connection.execute("INSERT INTO staged SELECT * FROM batch")
        self._connection.unregister("batch")

    def ordering(self, selects: Sequence[str]) -> list[str]:
        """Statements that put all events into the table `events`, slot after slot, refused ones first."""
        columns = "slot, person, k, cell" + (", stranger" if self.sorter.group else "")
        return [f"CREATE TABLE events AS SELECT {columns} FROM ({' UNION ALL '.join(selects)}) ORDER BY slot"]  # noqa: S608

    def _fill(self, table: str, columns: str, batch: dict[str, npt.NDArray[Any]]) -> None:
        self._connection.execute(f"CREATE TABLE {table} ({columns})")
        if len(batch["id"]):
            self._connection.register("batch", batch)
            self._connection.execute(f"INSERT INTO {table} SELECT * FROM batch")  # noqa: S608
            self._connection.unregister("batch")


def resolve(connection: duckdb.DuckDBPyConnection, path: Path, staging: Staging, columns: Columns) -> str | None:
    """The select that sorts a Parquet file; None if a column is of a type that only Python reads.

    Guarantees:
        A file without the columns it should have, or that is no Parquet, raises `Unreadable`.
    """
    types = _types(connection, path, columns)
    user, time, *place = columns.all
    instant = _instant(types[time], _quoted(time), columns.unit)
    grid = staging.sorter.cells if isinstance(staging.sorter.cells, GridCells) else None
    readable = types[user] in ("VARCHAR", *_WHOLE) and instant is not None
    readable &= all(types[name] in (_DEGREES if grid else ("VARCHAR", *_WHOLE)) for name in place)
    if not readable:
        return None
    return _select(path, staging, columns, types, instant or "", grid)


def _select(
    path: Path, staging: Staging, columns: Columns, types: dict[str, str], instant: str, grid: GridCells | None
) -> str:
    sorter, door = staging.sorter, staging.door
    start, width = sorter.timeline.start(1), sorter.timeline.width
    user = f"CAST({_quoted(columns.user)} AS VARCHAR)" if types[columns.user] == "VARCHAR" else _quoted(columns.user)
    texts = [_quoted(name) for name in columns.all if name != columns.time and types[name] == "VARCHAR"]
    people = "p.whole = u" if types[columns.user] in _WHOLE else "p.name = u"
    if types[columns.user] in _WHOLE:
        user = f"TRY_CAST({user} AS BIGINT)"
    if grid is None:
        where = ", ".join(f"CAST({_quoted(name)} AS VARCHAR) AS place" for name in columns.place)
        join, cell, odd = "LEFT JOIN cells c ON c.name = e.place", f"coalesce(c.id, {sorter.cells.other})", "FALSE"
    else:
        longitude, latitude = (f"CAST({_quoted(name)} AS DOUBLE)" for name in columns.place)
        where, join = f"{longitude} AS x, {latitude} AS y", ""
        odd = "NOT (isfinite(x) AND isfinite(y))"
        cell = f"CASE WHEN {odd} THEN -1 ELSE {_field(grid)} END"
    unlisted = "FALSE" if sorter.group else "p.id IS NULL"
    name = f"CAST({_quoted(columns.user)} AS VARCHAR)" if sorter.group else "NULL"
    first = sorter.timeline.start(door.first)
    fine = f"t >= {first} AND t < {min(door.until, LATEST + 1)} AND p.id IS NOT NULL AND NOT ({odd}) AND ({cell}) >= 0"
    words = "".join(f", {text} AS {_quoted('text of ' + text)}" for text in texts)
    broken = " OR ".join(
        ["t IS NULL", f"t NOT BETWEEN {EARLIEST} AND {LATEST}", "nothing"]
        + [
            f"length({_quoted('text of ' + text)}) NOT BETWEEN 1 AND {LONGEST_NAME} "
            f"OR contains({_quoted('text of ' + text)}, chr(0))"
            for text in texts
        ]
    )
    nothing = " OR ".join(f"{_quoted(column)} IS NULL" for column in columns.all)
    inner = (
        f"SELECT {user} AS u, {instant} AS t, {name} AS s, {where}, {nothing} AS nothing{words} "  # noqa: S608
        f"FROM read_parquet('{literal(path).replace(chr(39), chr(39) * 2)}')"
    )
    kind = (
        f"CASE WHEN {fine} THEN 0 WHEN {broken} THEN {_CODE[Refusal.MALFORMED]} "
        f"WHEN t < {start} THEN {_CODE[Refusal.EARLY]} "
        f"WHEN t < {first} THEN {_CODE[Refusal.LATE]} "
        f"WHEN t >= {door.until} THEN {_CODE[Refusal.FUTURE]} "
        f"WHEN {unlisted} THEN {_CODE[Refusal.UNLISTED]} "
        f"WHEN {odd} THEN {_CODE[Refusal.MALFORMED]} "
        f"WHEN ({cell}) < 0 THEN {_CODE[Refusal.OUTSIDE]} ELSE 0 END"
    )
    since = f"CASE WHEN t BETWEEN {EARLIEST} AND {LATEST} THEN t - {first} END"
    outer = (
        f"SELECT {kind} AS kind, coalesce(p.id, -1) AS person, CASE WHEN p.id IS NULL THEN s END AS s, "  # noqa: S608
        f"{since} AS since, {cell} AS cell FROM ({inner}) e LEFT JOIN people p ON {people} {join}"
    )
    slot = f"CAST(CASE WHEN kind < 0 THEN kind ELSE since // {width} END AS BIGINT)"
    return (
        f"SELECT {slot} AS slot, person, s AS stranger, since % {width} AS k, "  # noqa: S608
        f"CAST(cell AS INTEGER) AS cell FROM ({outer})"
    )


def _types(connection: duckdb.DuckDBPyConnection, path: Path, columns: Columns) -> dict[str, str]:
    import duckdb

    try:
        told = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [literal(path)]).fetchall()
    except duckdb.Error as error:
        kind = type(error).__name__
        raise Unreadable(f"{path}: not a readable Parquet file ({kind})", file=str(path)) from None
    types = {name: kind for name, kind, *_ in told}
    missing = [name for name in columns.all if name not in types]
    if missing:
        raise Unreadable(f"{path}: {len(missing)} of the columns {', '.join(columns.all)} are missing", file=str(path))
    return types


def _instant(kind: str, column: str, unit: str) -> str | None:
    """Microseconds since 1970, NULL where there are none; None if the column is not a time that DuckDB knows."""
    if kind in _TIMES:
        moment = column if kind == "TIMESTAMP WITH TIME ZONE" else f"CAST({column} AS TIMESTAMP)"
        return f"CASE WHEN isfinite({column}) THEN epoch_us({moment}) END"
    if kind in _WHOLE and unit != "iso":
        return f"TRY_CAST(CAST({column} AS HUGEINT) * {MICROSECONDS[unit]} AS BIGINT)"
    return None


def _field(grid: GridCells) -> str:
    """The index of the field of x and y."""
    box = grid.box
    inside = f"x BETWEEN {box.west!r} AND {box.east!r} AND y BETWEEN {box.south!r} AND {box.north!r}"
    across, up = box.east - box.west, box.north - box.south
    column = f"least({grid.across - 1}, CAST(floor((x - ({box.west!r})) / {across!r} * {grid.across}) AS INTEGER))"
    row = f"least({grid.up - 1}, CAST(floor((y - ({box.south!r})) / {up!r} * {grid.up}) AS INTEGER))"
    return f"CASE WHEN {inside} THEN {row} * {grid.across} + {column} ELSE {grid.other} END"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _is_plain(name: str) -> bool:
    """Whether a name is how a whole number is written."""
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19 and str(int(name)) == name


def _words(words: Sequence[str | None]) -> npt.NDArray[Any]:
    column = np.empty(len(words), object)
    column[:] = words
    return column


def _masked(numbers: Sequence[int | None]) -> npt.NDArray[Any]:
    column = np.ma.array([number or 0 for number in numbers], np.int64)
    column.mask = [number is None for number in numbers]
    return column
