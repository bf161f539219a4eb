"""Seals every row of the store with a checksum over all its other columns, and checks the seals.

A checksum (CRC-32, begun with the table's name) finds damage: bits that flipped, rows that ended up in another table.
It is no signature: everybody who may write to the store can forge it. Plain inserts seal themselves, since the column
has a default that sees the rest of the row; updates go through `update`. Columns with `info={"sealed": False}` are left
out.
"""

from __future__ import annotations

import math
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.errors import CorruptState
from wevent.store.failures import guarded

CHECKSUM = "checksum"
"""The name of the column that seals a row."""

_AT_ONCE = 20_000
_CHECKED_AT_ONCE = 1_000


def seal_rows(table: sa.Table) -> None:
    """Add the column of checksums to a table; whatever is inserted seals itself."""
    seal = sa.ColumnDefault(lambda context: checksum(table, context.current_parameters))
    table.append_column(sa.Column(CHECKSUM, sa.BigInteger, seal, nullable=False))


def checksum(table: sa.Table, values: Mapping[str, Any]) -> int:
    """The checksum of a row given by column; columns that are not given are empty."""
    names, seal = _sealing(table)
    return seal([values.get(name) for name in names])


def insert(connection: Connection, table: sa.Table, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    """Insert many rows, sealed, by the shortest way; return how many. All sealed columns must be given."""
    names, seal = _sealing(table)
    places = [columns.index(name) for name in names]
    straight = places == list(range(len(columns)))
    style = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    quoted = ", ".join(f'"{name}"' for name in (*columns, CHECKSUM))
    marks = ", ".join([style] * (len(columns) + 1))
    words = f"INSERT INTO {table.name} ({quoted}) VALUES ({marks})"  # noqa: S608
    many, source = 0, iter(rows)
    while part := list(islice(source, _AT_ONCE)):
        sealed = (
            [(*row, seal(row)) for row in part]
            if straight
            else [(*row, seal([row[place] for place in places])) for row in part]
        )
        connection.exec_driver_sql(words, sealed)
        many += len(part)
    return many


def update(connection: Connection, table: sa.Table, where: sa.ColumnElement[bool], **values: Any) -> int:
    """Change rows and seal them anew; return how many there were. A value may be a function of the old one."""
    keys = [column.name for column in table.primary_key]
    chosen = sa.select(table).where(where).with_for_update()  # nobody changes them before they are sealed
    found = connection.execute(chosen).mappings().all()
    check(table, ([row[column.name] for column in table.columns] for row in found))
    changes = []
    for row in found:
        new = {name: value(row[name]) if callable(value) else value for name, value in values.items()}
        places = {f"old_{key}": row[key] for key in keys}
        changes.append({**new, **places, CHECKSUM: checksum(table, {**row, **new})})
    if changes:
        same_row = sa.and_(*(table.c[key] == sa.bindparam(f"old_{key}") for key in keys))
        names: dict[str, Any] = {name: sa.bindparam(name) for name in (*values, CHECKSUM)}
        connection.execute(table.update().where(same_row).values(names), changes)
    return len(changes)


def check(table: sa.Table, rows: Iterable[Sequence[Any]]) -> int:
    """Raise `CorruptState` unless every row, given with all columns in their order, bears its checksum."""
    return sum(1 for _ in _checked(table, rows))


def checked(
    connection: Connection, table: sa.Table, *where: sa.ColumnElement[bool], order_by: Sequence[sa.Column[Any]] = ()
) -> Iterator[Sequence[Any]]:
    """The rows of a table, all columns in their order and as the driver returns them; `CorruptState` at a bad one."""
    chosen = sa.select(*(sa.type_coerce(column, _AsKept) for column in table.columns)).where(*where)
    order = chosen.order_by(*order_by)
    if connection.dialect.name == "sqlite":  # the driver's own rows: half the time for a million of them
        words = order.compile(connection, compile_kwargs={"literal_binds": True})
        with guarded(), closing(connection.connection.cursor()) as cursor:
            try:
                cursor.execute(str(words))
                yield from _checked(table, iter(cursor.fetchone, None))
            except sqlite3.Error as error:
                raise sa.exc.DBAPIError(None, None, error) from None
        return
    with connection.execution_options(yield_per=_AT_ONCE).execute(order) as found:
        yield from _checked(table, found)


def check_table(connection: Connection, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
    """Check all rows of a table, or those that conditions choose; return how many there were."""
    return sum(1 for _ in checked(connection, table, *where))


def _checked(table: sa.Table, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    names, seal = _sealing(table)
    order = [column.name for column in table.columns]
    places, kept = [order.index(name) for name in names], order.index(CHECKSUM)
    plain, words = places == list(range(kept)), _words(table)
    source = iter(rows)
    while part := list(islice(source, _CHECKED_AT_ONCE)):
        try:
            if plain and not _specials(table):  # the same as below, for tables with a row for each person
                found = [zlib.crc32((words % tuple(row[:kept])).encode("ascii")) for row in part]
            else:
                found = [seal([row[place] for place in places]) for row in part]
        except (TypeError, ValueError, OverflowError):  # a value of another kind than the column's
            raise damaged(table) from None
        if found != [row[kept] for row in part]:
            raise damaged(table)
        yield from part


def damaged(table: sa.Table) -> CorruptState:
    """The error for a row that does not bear its checksum."""
    return CorruptState(
        f"a row of the table {table.name!r} is damaged: its checksum does not fit. Restore the store from a whole copy",
        table=table.name,
    )


class _AsKept(sa.types.UserDefinedType[Any]):
    """Whatever the driver returns, as it is."""

    cache_ok = True


@cache
def _sealing(table: sa.Table) -> tuple[list[str], Callable[[Sequence[Any]], int]]:
    """The columns that are sealed, in their order, and the function from their values to a checksum."""
    words, special = _words(table), _specials(table)

    def seal(values: Sequence[Any]) -> int:
        if special:
            values = list(values)
            for place, how in special:
                values[place] = how(values[place])
        return zlib.crc32((words % tuple(values)).encode("ascii"))

    return [column.name for column in _sealed(table)], seal


def _sealed(table: sa.Table) -> list[sa.Column[Any]]:
    return [column for column in table.columns if column.name != CHECKSUM and column.info.get("sealed", True)]


@cache
def _words(table: sa.Table) -> str:
    """What is written down of a row for its checksum, with marks for the values."""
    return table.name + "".join(f"|{column.name}={_mark(column)}" for column in _sealed(table))


@cache
def _specials(table: sa.Table) -> list[tuple[int, Callable[[Any], Any]]]:
    """The places among the sealed columns whose values are not written down as they are, and how they are."""
    return [(place, how) for place, column in enumerate(_sealed(table)) if (how := _special(column)) is not None]


def _mark(column: sa.Column[Any]) -> str:
    """How a value is written down for its checksum: the same for every driver and every version of Python."""
    if isinstance(column.type, sa.Text):
        return "%a"
    if isinstance(column.type, (sa.Integer, sa.Boolean)) and not column.nullable:
        return "%d"
    return "%s"


def _special(column: sa.Column[Any]) -> Callable[[Any], Any] | None:
    if isinstance(column.type, sa.LargeBinary):
        return _of_bytes
    if isinstance(column.type, sa.Float):
        return _of_float
    return None


def _of_bytes(value: bytes | None) -> str | None:
    return None if value is None else f"{len(value)}:{zlib.crc32(value)}"


def _of_float(value: float | None) -> str | None:
    """The shortest exact decimal; SQLite keeps no sign of 0 and takes what is no number for nothing."""
    return None if value is None or math.isnan(value) else float.hex(float(value) + 0.0)
