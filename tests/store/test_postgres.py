"""The same store on a real PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from tests.store.nursery import settings
from tests.store.postgres import fresh_database
from tests.store.scene import Town, random_rows, same, sorted_events, waiting_rows
from tests.store.test_filtered import CrashError, crash
from tests.store.test_kill import ROUNDS, check, check_twin, kill
from tests.store.test_read_only import TOML, every_reading_command, filled

from wevent import Fixed
from wevent.errors import (
    CorruptState,
    RequirementsMissing,
    StoreReplaced,
    StoreUnavailable,
    WitnessMissing,
)
from wevent.releases.release import Decision
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store.damage import check_store
from wevent.store.database import open_database
from wevent.store.schema import metadata, slots
from wevent.store.streams import open_stream
from wevent.store.witness import Witness

pytestmark = pytest.mark.slow


def test_the_schema(postgres_town: Town) -> None:
    """What the migrations make is what the tables say."""
    with postgres_town.database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_a_stream(postgres_town: Town) -> None:
    """Slots are kept, opened again to the byte, lost where they must be, and audited."""
    for slot in range(1, 8):
        with postgres_town.session() as session:
            before = session._publisher.to_bytes()
            session.intake.accept(sorted_events(session, [("person-1", (slot - 1) * 60_000_000, "north")]))
        if slot == 4:
            postgres_town.require({"person-0": Fixed(0.5, 3), "late": Fixed(1, 2)})
        with postgres_town.session() as session:
            assert session._publisher.to_bytes() == before
            released = session.release(waiting_rows(session, slot))
            kept = session.journal.find(slot)
            assert kept is not None
            assert same(kept, released)
    with postgres_town.session() as session:
        crash(session, "after the charge")
        with pytest.raises(CrashError):
            session.release(random_rows(session, 8))
    with postgres_town.session() as session:
        lost = session.journal.find(8)
        assert lost is not None
        assert lost.decision is Decision.LOST
    assert audit(read_history(postgres_town.database)).kept


def test_kills(postgres_address: str, tmp_path: Path) -> None:
    """200 kills at random moments on PostgreSQL."""
    where = fresh_database(postgres_address)
    kill(where, tmp_path, ROUNDS)
    town = Town(where, tmp_path / "witness.json")
    decisions = check(town, tmp_path)
    town.database.close()
    assert min(decisions["lost"], decisions["published"]) > 0, decisions


def test_kills_of_a_filter(postgres_address: str, tmp_path: Path) -> None:
    """40 kills of `auto` on PostgreSQL: to the bit a stream in memory that lost the same slots."""
    where = fresh_database(postgres_address)
    kill(where, tmp_path, 40, "auto")
    town = Town(where, tmp_path / "witness.json", settings("auto"))
    decisions = check_twin(town)
    town.database.close()
    assert decisions["published"] > 0, decisions


def test_a_restored_copy(postgres_address: str, tmp_path: Path) -> None:
    """A database brought back to an earlier state gives up the slots that may have been shown since."""
    where = fresh_database(postgres_address)
    town = Town(where, tmp_path / "witness.json")
    town.people(6)
    for slot in (1, 2):
        with town.session() as session:
            session.release(random_rows(session, slot))
    town.database.close()
    copied = fresh_database(postgres_address)
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


def test_a_role_that_may_only_read(postgres_address: str, tmp_path: Path) -> None:
    """Every command that only reads works for a role with SELECT alone; publishing says what it lacks."""
    where = fresh_database(postgres_address)
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


def test_damage(postgres_town: Town) -> None:
    """A row that changed is found on PostgreSQL too."""
    with postgres_town.session() as session:
        session.release(random_rows(session, 1))
    with postgres_town.database.write() as connection:
        connection.execute(slots.update().values(charged=5))
    with pytest.raises(CorruptState, match="'slots'"):
        check_store(postgres_town.database)
    with pytest.raises(CorruptState, match="'slots'"):
        postgres_town.session()


def test_a_database_made_anew(postgres_address: str, tmp_path: Path) -> None:
    """A database that was dropped and made again under its name does not begin a stream that its witness knows."""
    where = fresh_database(postgres_address)
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
