"""Faults at every write: a clear error, nothing half-written, and going on works."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.store.scene import CELLS, Town, config, random_rows, sorted_events, waiting_rows
from tests.support import quick_and_slow

from wevent.errors import CorruptState, InvalidSetting, StoreError, StoreFull, StoreUnavailable, StoreVersion
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store.database import open_database
from wevent.store.schema import releases, slots, waiting

SAID = {
    "database or disk is full": StoreFull,
    "database is locked": StoreUnavailable,
    "server closed the connection": StoreUnavailable,
}


@contextmanager
def fault(database: Any, number: int, said: str) -> Iterator[list[int]]:
    """Let the n-th write or commit from now on fail with these words; gives a list that says whether it came."""
    came: list[int] = []
    count = 0

    def strike() -> None:
        nonlocal count
        count += 1
        if count == number:
            came.append(number)
            raise sa.exc.OperationalError("statement", {}, sqlite3.OperationalError(said))

    def statement(connection: Any, cursor: Any, words: str, *rest: Any) -> None:
        if words.lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE")):
            strike()

    def commit(connection: Any) -> None:
        if connection.get_execution_options().get("wevent_write"):
            strike()

    sa.event.listen(database.engine, "before_cursor_execute", statement)
    sa.event.listen(database.engine, "commit", commit)
    try:
        yield came
    finally:
        sa.event.remove(database.engine, "before_cursor_execute", statement)
        sa.event.remove(database.engine, "commit", commit)


def work(town: Town, slot: int) -> None:
    """Open, accept three events, release a slot, keep the state."""
    with town.session() as session:
        events = [(f"person-{k}", (slot - 1) * 60_000_000 + k, CELLS[k]) for k in range(3)]
        session.intake.accept(sorted_events(session, events))
        session.release(waiting_rows(session, slot))
        session.keep_state()


@pytest.mark.parametrize("mechanism", quick_and_slow(["pbd"], ["auto"]))
@pytest.mark.parametrize("said", quick_and_slow(list(SAID)[:1], list(SAID)[1:]))
def test_every_write_may_fail(tmp_path: Path, said: str, mechanism: str) -> None:
    """Whichever write fails, the error is typed and says what now, the store is whole, and the next run goes on."""
    chosen = config(privacy={"mechanism": mechanism, "history_slots": 8})
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", chosen)
    town.people(6)
    number, slot = 0, 1
    while True:
        number += 1
        with fault(town.database, number, said) as came:
            if not came:
                try:
                    work(town, slot)
                except StoreError as error:
                    assert isinstance(error, SAID[said])
                    assert "again" in str(error)
        with town.session() as session:
            slot = session.next_slot
        with town.database.read() as connection:
            charged = connection.execute(sa.select(slots.c.slot).order_by(slots.c.slot)).scalars().all()
            ended = connection.execute(sa.select(releases.c.slot).order_by(releases.c.slot)).scalars().all()
            waits = connection.execute(sa.select(waiting.c.slot)).scalars().all()
        assert charged == ended == list(range(1, slot))
        assert all(late >= slot for late in waits)
        if not came:
            break
    assert number > 10  # so many writes does a slot have
    assert audit(read_history(town.database)).kept


def test_a_real_lock(tmp_path: Path) -> None:
    """Another program that holds the database gives a clear error after the time of waiting; then it goes on."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", busy_seconds=0.05)
    town.people(3)
    with town.session() as session:
        other = sqlite3.connect(tmp_path / "town.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked by another program"):
            session.release(random_rows(session, 1))
        other.close()
    with town.session() as session:
        assert session.release(random_rows(session, 1)).slot == 1


def test_a_real_full_disk(tmp_path: Path) -> None:
    """A database that may not grow any further says so; nothing is lost, and with room it goes on."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json")
    town.people(3)
    with town.session() as session:
        with town.database.engine.connect() as connection:
            raw: Any = connection.connection.dbapi_connection
            pages = raw.execute("PRAGMA page_count").fetchone()[0]
            raw.execute(f"PRAGMA max_page_count = {pages}")
        events = sorted_events(session, [("person-1", k, "north") for k in range(50_000)])
        with pytest.raises(StoreFull, match="Make room"):
            session.intake.accept(events)
    town.database.close()
    again = Town(tmp_path / "town.db", tmp_path / "witness.json")
    with again.session() as session:
        assert not list(session.intake.batches(1))
        session.intake.accept(sorted_events(session, [("person-1", 5, "south")]))
        session.release(waiting_rows(session, 1))


def test_a_witness_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the witness nothing is released: the slot is lost, and says so on the next run."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json")
    town.people(3)
    with town.session() as session:

        def full(handle: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StoreFull, match="not released"):
            session.release(random_rows(session, 1))
        monkeypatch.undo()
    with town.session() as session:
        kept = session.journal.find(1)
        assert kept is not None
        assert kept.decision == "lost"
        assert session.release(random_rows(session, 2)).slot == 2


def test_stores_that_are_none(tmp_path: Path) -> None:
    """A file that is no database, a folder that is not there, a newer schema, a kind that is not known."""
    (tmp_path / "words.db").write_text("these are words" * 100)
    with pytest.raises(CorruptState, match="no store"):
        open_database(tmp_path / "words.db")
    with pytest.raises(StoreUnavailable, match=r"there is no store at .*none\.db"):
        open_database(tmp_path / "none.db")
    with pytest.raises(StoreUnavailable, match="folder"):
        open_database(tmp_path / "none" / "town.db", create=True)
    for where in ("mysql://host/name", "sqlite://", "postgresql://"):
        with pytest.raises((InvalidSetting, StoreUnavailable)):
            open_database(where, create=True)
    database = open_database(tmp_path / "town.db", create=True)
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    with pytest.raises(StoreVersion, match="9999"):
        open_database(tmp_path / "town.db")
    empty = sqlite3.connect(tmp_path / "empty.db")
    empty.execute("CREATE TABLE t (x)")
    empty.close()
    with pytest.raises(StoreUnavailable, match="holds no store"):
        open_database(tmp_path / "empty.db")
