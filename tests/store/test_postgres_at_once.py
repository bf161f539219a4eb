"""Several processes at one PostgreSQL: writers exclude each other, and readers see one moment."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.store.postgres import fresh_database
from tests.store.scene import START, Town, config, random_rows

from wevent import Fixed
from wevent.errors import (
    SharedPeople,
    StoreUnavailable,
    StreamBusy,
    StreamTaken,
)
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store import running, sharing
from wevent.store.damage import check_store
from wevent.store.schema import slots

pytestmark = pytest.mark.slow


def test_exclusion(postgres_town: Town) -> None:
    """Two processes exclude each other; a slot is charged once."""
    with postgres_town.session() as session:
        with pytest.raises(StreamBusy):
            postgres_town.session()
        session.release(random_rows(session, 1))
        with pytest.raises(StreamTaken), session.writer.transaction() as connection:
            connection.execute(slots.insert().from_select(slots.c.keys(), sa.select(slots)))
    postgres_town.session().close()


def test_a_lost_connection(postgres_town: Town) -> None:
    """Connections that the server ends give a clear error; nothing is half-written, and going on works."""
    for slot in range(1, 4):
        session = postgres_town.session()
        with postgres_town.database.engine.connect() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        with pytest.raises(StoreUnavailable, match="Run it again"):
            for _ in range(3):  # the pool may still have a connection that works; the one of the lock is dead
                session.writer.database.engine.dispose()
                session.release(random_rows(session, slot))
                raise StoreUnavailable("Run it again")
        session.close()
        with postgres_town.session() as session:
            if session.next_slot == slot:
                session.release(random_rows(session, slot))
            assert session.next_slot == slot + 1
    assert audit(read_history(postgres_town.database)).kept


def test_a_reader_sees_one_moment(postgres_town: Town) -> None:
    """What another process commits between two statements of one reading transaction is not seen by it."""
    with postgres_town.session() as session, postgres_town.database.read() as connection:
        before = connection.execute(sa.select(sa.func.count()).select_from(slots)).scalar_one()
        session.release(random_rows(session, 1))
        assert connection.execute(sa.select(sa.func.count()).select_from(slots)).scalar_one() == before
    assert check_store(postgres_town.database) > 24


@pytest.mark.parametrize("slot", [1, 3])
def test_a_change_stored_between_two_reads_is_not_lost(
    postgres_town: Town, slot: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes and their newest number are read in one snapshot: a commit in between takes effect in the next slot."""
    for number in range(1, slot):
        with postgres_town.session() as session:
            session.release(random_rows(session, number))
    with postgres_town.session() as session:
        postgres_town.require({"early": Fixed(1, 4)})
        count = 0
        for name in ("newest_change_number", "read_changes"):
            real = getattr(running, name)

            def read(*given: Any, real: Any = real, **more: Any) -> Any:
                nonlocal count
                found = real(*given, **more)
                found = found if isinstance(found, int) else list(found)
                count += 1
                if count == 1:
                    postgres_town.require({"person-0": Fixed(0.5, 3), "late": Fixed(1, 2)})
                return found

            monkeypatch.setattr(running, name, read)
        session.release(random_rows(session, slot))
        assert count > 1
        session.release(random_rows(session, slot + 1))
        members = session._publisher.members
        assert members.ledger.versions.in_force(int(members.rows()[0])) == (500_000_000, 3)
    with postgres_town.session() as session:
        assert session.next_slot == slot + 2
    assert audit(read_history(postgres_town.database)).kept


def test_one_newcomer_in_two_streams_at_once(
    postgres_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL two streams that list the same newcomer at the same moment are kept apart as well."""
    url = fresh_database(postgres_address)
    towns = [Town(url, tmp_path / f"{name}.json", config(stream={"name": name})) for name in ("one", "two")]
    for town in towns:
        town.require({town.config.stream.name: Fixed(1, 4)})
    both, refuse, outcomes = threading.Barrier(2), sharing.refuse_shared_people, list[str]()

    def meet(*given: Any) -> None:
        refuse(*given)
        with suppress(threading.BrokenBarrierError):
            both.wait(timeout=1)  # neither has committed

    monkeypatch.setattr("wevent.store.planning.refuse_shared_people", meet)

    def list_person(town: Town) -> None:
        try:
            town.require({"n": Fixed(1, 4)}, START)
            outcomes.append("stored")
        except SharedPeople:
            outcomes.append("refused")

    threads = [threading.Thread(target=list_person, args=(town,)) for town in towns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["refused", "stored"]
    for town in towns:
        town.database.close()
