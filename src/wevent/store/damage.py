"""Looks for damage in a store: the whole of it for an audit, or what a process reads that goes on publishing.

What is found raises `CorruptState`. Bits in pages that SQLite no longer uses change nothing and are not looked at.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.errors import CorruptState
from wevent.store.checksums import check_table, damaged
from wevent.store.database import SCHEMA, Database, seal_of_schema
from wevent.store.schema import (
    about,
    carried,
    demand,
    learned,
    metadata,
    people,
    releases,
    requirement_changes,
    row_assignments,
    shown,
    slots,
    states,
    streams,
    waiting,
)

_WHOLE = (people, demand, row_assignments, states, learned, carried, waiting)
UNREADABLE = (TypeError, ValueError, LookupError, OverflowError)
"""What Python says of values that no row ever had, such as keys of a damaged index."""

SMALL = 16_384
"""Pages of a SQLite file, 64 MiB, up to which opening a stream checks all of them; of a larger file it checks the
pages of those tables that it reads as a whole, and the audit checks the rest."""

_HISTORY = (requirement_changes, row_assignments, slots, releases, shown, waiting)
_SINCE_STATE = ((slots, slots.c.slot), (releases, releases.c.slot), (shown, shown.c.slot))


def check_store(database: Database, *, besides_history: bool = False) -> int:
    """Check every row of every table, and the file below; return how many rows were checked.

    Args:
        database: the store.
        besides_history: leave out the rows that reading the history of every stream checks anyway.

    Guarantees:
        One bit that flipped in a page that the store uses raises `CorruptState`; bits that no row, key, index or
        description of a table is made of may pass.
    """
    with database.read() as connection:
        if database.embedded:
            check_schema(connection)
            _check_pages(connection, "integrity_check(1)")
        known = [] if not besides_history else list(connection.execute(sa.select(streams.c.id)).scalars())
        rows = 0
        for table in metadata.sorted_tables:
            read = besides_history and table in _HISTORY
            rows += check_table(connection, table, *([table.c.stream.not_in(known)] if read else []))
        for stream in connection.execute(sa.select(streams)):
            _check_numbers(connection, stream)
        return rows


def check_stream(connection: Connection, stream: int, *, embedded: bool) -> None:
    """Check the rows that opening a stream for publishing reads: people, rows, states, and slots since the state."""
    if embedded:
        check_schema(connection)
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        if pages <= SMALL:
            _check_pages(connection, "integrity_check(1)")
        else:
            for table in (about, streams, *_WHOLE):
                _check_pages(connection, f"quick_check({table.name})")
    check_table(connection, about)
    check_table(connection, streams, streams.c.id == stream)
    for table in _WHOLE:
        check_table(connection, table, table.c.stream == stream)
    state_slot = _largest(connection, states, states.c.slot, stream)
    source = _largest(connection, releases, releases.c.source, stream)
    for table, slot in _SINCE_STATE:
        check_table(connection, table, table.c.stream == stream, (slot >= state_slot) | (slot == source))
    later = (requirement_changes.c.stream == stream) & (requirement_changes.c.from_slot >= state_slot)
    check_table(connection, requirement_changes, later)


def _check_pages(connection: Connection, pragma: str) -> None:
    if connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() != "ok":
        raise CorruptState("the pages of the store's file are damaged; restore it from a whole copy")


def _largest(connection: Connection, table: sa.Table, column: sa.Column[int], stream: int) -> int:
    """The largest value of a column, 0 if there is none."""
    found = connection.execute(sa.select(sa.func.max(column)).where(table.c.stream == stream)).scalar() or 0
    if not isinstance(found, int):
        raise damaged(table)
    return found


def _check_numbers(connection: Connection, stream: sa.Row[Any]) -> None:
    """People and requirement changes are numbered without gaps, so that a row that vanished is noticed."""
    listed = sa.select(sa.func.count()).where(people.c.stream == stream.id)
    stored = sa.select(sa.func.count()).where(requirement_changes.c.stream == stream.id)
    number_of_people, changes = connection.execute(listed).scalar_one(), connection.execute(stored).scalar_one()
    last = _largest(connection, requirement_changes, requirement_changes.c.person, stream.id)
    if number_of_people and number_of_people != last + 1:
        raise CorruptState("people are missing in the store; restore it from a whole copy", table=people.name)
    if changes != stream.changes - stream.changes_lost:
        raise CorruptState("requirement changes are missing in the store; restore it from a whole copy",
                           table=requirement_changes.name)  # fmt: skip


def check_schema(connection: Connection) -> None:
    """Check the descriptions of tables in a SQLite file, which no row's checksum covers."""
    kept = connection.execute(sa.select(about.c.value).where(about.c.key == SCHEMA)).scalar()
    if kept != seal_of_schema(connection):
        raise CorruptState("the description of the store's tables is damaged; restore it from a whole copy")
