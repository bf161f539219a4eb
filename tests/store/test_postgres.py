"""The same store on a real PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from tests.store.nursery import settings
from tests.store.postgres import fresh_database, server
from tests.store.scene import START, Town, config, random_rows, same, sorted_events, waiting_rows
from tests.store.test_filtered import CrashError, crash
from tests.store.test_kill import ROUNDS, check, check_twin, kill
from tests.store.test_reading import TOML, every_reading_command, filled

from wevent import Fixed
from wevent.errors import (
    CorruptState,
    RequirementsMissing,
    SharedPeople,
    StoreReplaced,
    StoreUnavailable,
    StreamBusy,
    StreamTaken,
    WitnessMissing,
)
from wevent.releases.release import Decision
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store import running, sharing
from wevent.store.damage import check_store
from wevent.store.database import open_database
from wevent.store.schema import metadata, slots
from wevent.store.streams import open_stream
from wevent.store.witness import Witness

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
            before = session._publisher.to_bytes()
            session.intake.accept(sorted_events(session, [("person-1", (slot - 1) * 60_000_000, "north")]))
        if slot == 4:
            town.require({"person-0": Fixed(0.5, 3), "late": Fixed(1, 2)})
        with town.session() as session:
            assert session._publisher.to_bytes() == before
            released = session.release(waiting_rows(session, slot))
            kept = session.journal.find(slot)
            assert kept is not None
            assert same(kept, released)
    with town.session() as session:
        crash(session, "after the charge")
        with pytest.raises(CrashError):
            session.release(random_rows(session, 8))
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


def test_a_role_that_may_only_read(address: str, tmp_path: Path) -> None:
    """Every command that only reads works for a role with SELECT alone; publishing says what it lacks."""
    where = fresh_database(address)
    town = filled(where, tmp_path)
    with town.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for words in (
            "DROP ROLE IF EXISTS onlooker",
            "CREATE ROLE onlooker LOGIN PASSWORD 'open-sesame'",
            "GRANT SELECT ON ALL TABLES IN SCHEMA public TO onlooker",
        ):
            connection.exec_driver_sql(words)
    try:
        url = sa.make_url(where).set(username="onlooker", password="open-sesame")  # noqa: S106
        looking = url.render_as_string(hide_password=False)
        (tmp_path / "wevent.toml").write_text(TOML.replace("URL", looking), "utf-8")
        assert every_reading_command(tmp_path / "wevent.toml", looking, tmp_path) == []
        with open_database(looking) as database, pytest.raises(StoreUnavailable, match="may not do this") as caught:
            open_stream(database, "other", town.config.fixed(), lambda: 1, Witness(tmp_path / "other.json"))
        assert "open-sesame" not in str(caught.value)
        with pytest.raises(StoreUnavailable, match="no database of the name 'nowhere'"):
            open_database(url.set(database="nowhere").render_as_string(hide_password=False))
        with pytest.raises(StoreUnavailable, match="does not let the user 'nobody' in"):
            open_database(url.set(username="nobody").render_as_string(hide_password=False))
    finally:
        with town.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("DROP OWNED BY onlooker")
            connection.exec_driver_sql("DROP ROLE onlooker")
        town.database.close()


def test_a_reader_sees_one_moment(town: Town) -> None:
    """What another process commits between two statements of one reading transaction is not seen by it."""
    with town.session() as session, town.database.read() as connection:
        before = connection.execute(sa.select(sa.func.count()).select_from(slots)).scalar_one()
        session.release(random_rows(session, 1))
        assert connection.execute(sa.select(sa.func.count()).select_from(slots)).scalar_one() == before
    assert check_store(town.database) > 24


def test_damage(town: Town) -> None:
    """A row that changed is found on PostgreSQL too."""
    with town.session() as session:
        session.release(random_rows(session, 1))
    with town.database.write() as connection:
        connection.execute(slots.update().values(charged=5))
    with pytest.raises(CorruptState, match="'slots'"):
        check_store(town.database)
    with pytest.raises(CorruptState, match="'slots'"):
        town.session()


@pytest.mark.parametrize("slot", [1, 3])
def test_a_change_stored_between_two_reads_is_not_lost(town: Town, slot: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes and their newest number are read in one snapshot: a commit in between takes effect in the next slot."""
    for number in range(1, slot):
        with town.session() as session:
            session.release(random_rows(session, number))
    with town.session() as session:
        town.require({"early": Fixed(1, 4)})
        count = 0
        for name in ("newest_change_number", "read_changes"):
            real = getattr(running, name)

            def read(*given: Any, real: Any = real, **more: Any) -> Any:
                nonlocal count
                found = real(*given, **more)
                found = found if isinstance(found, int) else list(found)
                count += 1
                if count == 1:
                    town.require({"person-0": Fixed(0.5, 3), "late": Fixed(1, 2)})
                return found

            monkeypatch.setattr(running, name, read)
        session.release(random_rows(session, slot))
        assert count > 1
        session.release(random_rows(session, slot + 1))
        members = session._publisher.members
        assert members.ledger.versions.in_force(int(members.rows()[0])) == (500_000_000, 3)
    with town.session() as session:
        assert session.next_slot == slot + 2
    assert audit(read_history(town.database)).kept


def test_a_database_made_anew(address: str, tmp_path: Path) -> None:
    """A database that was dropped and made again under its name does not begin a stream that its witness knows."""
    where = fresh_database(address)
    town = Town(where, tmp_path / "witness.json")
    town.people(3)
    with town.session() as session:
        for slot in (1, 2, 3):
            session.release(random_rows(session, slot))
    town.database.close()
    url = sa.make_url(where.replace("postgresql://", "postgresql+psycopg://"))
    engine = sa.create_engine(url.set(database="postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {url.database}")
        connection.exec_driver_sql(f"CREATE DATABASE {url.database}")
    engine.dispose()
    fresh = Town(where, tmp_path / "witness.json")
    with pytest.raises(StoreReplaced, match="slots up to 3"):
        fresh.people(3)
    with pytest.raises(StoreReplaced):
        fresh.session()
    with pytest.raises(RequirementsMissing):
        fresh.session(shown=3)
    fresh.people(3)
    with fresh.session() as session:
        assert session.next_slot == 4
        session.release(random_rows(session, 4))
        assert session._publisher.trace is not None
        assert not session._publisher.trace.spent.any()
    assert audit(read_history(fresh.database)).kept
    fresh.database.close()


def test_one_newcomer_in_two_streams_at_once(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On PostgreSQL two streams that list the same newcomer at the same moment are kept apart as well."""
    url = fresh_database(address)
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
