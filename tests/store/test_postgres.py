"""The same store on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from tests.store.nursery import settings
from tests.store.postgres import fresh_database, server
from tests.store.scene import Town, config, random_rows, same, sorted_events, waiting_rows
from tests.store.test_filtered import old
from tests.store.test_kill import ROUNDS, check, check_twin, kill

from wevent import Fixed
from wevent.errors import StoreUnavailable, StreamBusy, StreamTaken, WitnessMissing
from wevent.releases.keeping import to_bytes
from wevent.releases.release import Decision
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store.schema import metadata, slots

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """In a folder of its own: pytest clears its older ones while a server of a run beside it may still be at work."""
    folder = Path(mkdtemp(prefix="wevent-postgres-"))
    try:
        with server(folder) as found:
            yield found
    finally:
        rmtree(folder, ignore_errors=True)


@pytest.fixture
def town(address: str, tmp_path: Path) -> Iterator[Town]:
    made = Town(fresh_database(address), tmp_path / "witness.json")
    made.people(12)
    yield made
    made.database.close()


def test_the_schema(town: Town) -> None:
    """What the migrations make is what the tables say."""
    with town.database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_a_stream(town: Town) -> None:
    """Slots are kept, opened again to the byte, lost where they must be, and audited."""
    for slot in range(1, 8):
        with town.session() as session:
            before = to_bytes(session._publisher)
            session.intake.accept(sorted_events(session, [("person-1", (slot - 1) * 60_000_000, "north")]))
        if slot == 4:
            town.ask({"person-0": Fixed(0.5, 3), "late": Fixed(1, 2)})
        with town.session() as session:
            assert to_bytes(session._publisher) == before
            released = session.release(waiting_rows(session, slot))
            kept = session.journal.find(slot)
            assert kept is not None
            assert same(kept, released)
    with town.session() as session:
        session.journal.charge(session._publisher.ledger.offer(session._publisher.mechanism.schedule))
    with town.session() as session:
        lost = session.journal.find(8)
        assert lost is not None
        assert lost.decision is Decision.LOST
    assert audit(read_history(town.database)).kept


def test_exclusion(town: Town) -> None:
    """Two processes exclude each other; a slot is charged once."""
    with town.session() as session:
        with pytest.raises(StreamBusy):
            town.session()
        session.release(random_rows(session, 1))
        with pytest.raises(StreamTaken), session.writer.transaction() as connection:
            connection.execute(slots.insert().from_select(slots.c.keys(), sa.select(slots)))
    town.session().close()


def test_a_lost_connection(town: Town) -> None:
    """Connections that the server ends give a clear error; nothing is half-written, and going on works."""
    for slot in range(1, 4):
        session = town.session()
        with town.database.engine.connect() as connection:
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
        with town.session() as session:
            if session.next_slot == slot:
                session.release(random_rows(session, slot))
            assert session.next_slot == slot + 1
    assert audit(read_history(town.database)).kept


def test_kills(address: str, tmp_path: Path) -> None:
    """200 kills at random moments on PostgreSQL."""
    where = fresh_database(address)
    kill(where, tmp_path, ROUNDS)
    town = Town(where, tmp_path / "witness.json")
    decisions = check(town, tmp_path)
    town.database.close()
    assert min(decisions["lost"], decisions["published"]) > 0, decisions


def test_kills_of_a_filter(address: str, tmp_path: Path) -> None:
    """40 kills of `auto` on PostgreSQL: to the bit a stream in memory that lost the same slots."""
    where = fresh_database(address)
    kill(where, tmp_path, 40, "auto")
    town = Town(where, tmp_path / "witness.json", settings("auto"))
    decisions = check_twin(town)
    town.database.close()
    assert decisions["published"] > 0, decisions


def test_a_store_from_before(address: str, tmp_path: Path) -> None:
    """A database of the first schema is brought up to date when it is opened, goes on to the byte, and takes `auto`."""
    where = fresh_database(address)
    town = Town(where, tmp_path / "witness.json")
    town.people(6)
    with town.session() as session:
        session.release(random_rows(session, 1))
        before = to_bytes(session._publisher)
    old(where)
    town.database.close()
    town = Town(where, tmp_path / "witness.json")
    with town.session() as session:
        assert to_bytes(session._publisher) == before
        session.release(random_rows(session, 2))
    other = Town(where, tmp_path / "other.json", config(stream={"name": "other"}, privacy={"mechanism": "auto"}))
    other.people(6)
    for slot in (1, 2, 3):
        with other.session() as session:
            release = session.release(random_rows(session, slot))
            kept = session.journal.find(slot)
            assert kept is not None
            assert same(kept, release)
    assert audit(read_history(town.database, "town")).kept
    assert audit(read_history(town.database, "other")).kept
    other.database.close()
    town.database.close()


def test_a_restored_copy(address: str, tmp_path: Path) -> None:
    """A database brought back to an earlier state gives up the slots that may have been shown since."""
    where = fresh_database(address)
    town = Town(where, tmp_path / "witness.json")
    town.people(6)
    for slot in (1, 2):
        with town.session() as session:
            session.release(random_rows(session, slot))
    town.database.close()
    copied = fresh_database(address)
    url = sa.make_url(where.replace("postgresql://", "postgresql+psycopg://"))
    engine = sa.create_engine(url.set(database="postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {sa.make_url(copied).database}")
        connection.exec_driver_sql(f"CREATE DATABASE {sa.make_url(copied).database} TEMPLATE {url.database}")
    engine.dispose()
    for slot in (3, 4, 5):
        with town.session() as session:
            session.release(random_rows(session, slot))
    copy = Town(copied, tmp_path / "witness.json")
    with copy.session() as session:
        assert session.next_slot == 6
        session.release(random_rows(session, 6))
        assert session._publisher.trace is not None
        assert not session._publisher.trace.spent.any()
    assert audit(read_history(copy.database)).kept
    copy.witness.path.unlink()
    with pytest.raises(WitnessMissing):
        copy.session()
    copy.database.close()
    town.database.close()
