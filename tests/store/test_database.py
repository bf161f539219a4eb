"""The schema and what people may be called in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from tests.store.scene import Town, config, random_rows

from wevent import Fixed
from wevent.events.gathering import SlotCells
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store import database as module
from wevent.store.schema import metadata

NAMES = ["'; DROP TABLE releases; --", '"', "%s", "{0}", "ünïcødé 人", "a" * 512, "-1", "NULL", "\\", "\t"]


def test_the_schema(tmp_path: Path) -> None:
    """What the migrations make is what the tables say, and `HEAD` is the newest of them."""
    town = Town(tmp_path / "town.db", tmp_path / "w.json")
    with town.database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    scripts = Config()
    scripts.set_main_option("script_location", str(Path(module.__file__).with_name("migrations")))
    scripts.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(scripts).get_current_head() == module.HEAD


def test_names_of_all_kinds(tmp_path: Path) -> None:
    """SQL, quotes, marks of formats and long names are names like others, for people and for cells."""
    chosen = config(cells={"names": NAMES[:-1], "other": "rest of it"}, stream={"name": "town 1"})
    town = Town(tmp_path / "to'wn %20.db", tmp_path / "w.json", chosen)
    assert town.require({name: Fixed(1, 4) for name in NAMES}) == len(NAMES)
    for slot in (1, 2, 3):
        with town.session() as session:
            assert list(session.people) == NAMES
            session.release(random_rows(session, slot))
    assert audit(read_history(town.database)).kept


@pytest.mark.slow
def test_many_cells(tmp_path: Path) -> None:
    """100,000 cells are published, kept and read back."""
    chosen = config(privacy={"mechanism": "uniform"}, cells={"names": [str(k) for k in range(100_000)]})
    town = Town(tmp_path / "town.db", tmp_path / "w.json", chosen)
    town.require({"ann": Fixed(1, 4)})
    with town.session() as session:
        release = session.release(SlotCells(1, np.array([99_999]), np.zeros(100_000, np.int64)))
        assert release.decision == "published"
        assert release.counts.size == 100_000
    with town.session() as session:
        kept = session.journal.find(1)
        assert kept is not None
        assert (kept.counts == release.counts).all()


def test_many_streams(tmp_path: Path) -> None:
    """Streams in one store know nothing of each other."""
    first_town = Town(tmp_path / "town.db", tmp_path / "one.json", config(stream={"name": "one"}))
    other = config(stream={"name": "two"}, slots={"width": "5 min"}, people={"shared": True})
    second_town = Town(tmp_path / "town.db", tmp_path / "two.json", other)
    first_town.people(4)
    second_town.people(2)
    with first_town.session() as first, second_town.session() as second:
        for slot in (1, 2):
            first.release(random_rows(first, slot))
        second.release(random_rows(second, 1))
        assert (first.next_slot, second.next_slot) == (3, 2)
        assert (len(first.people), len(second.people)) == (4, 2)
    assert audit(read_history(first_town.database, "one")).kept
    assert audit(read_history(first_town.database, "two")).slots == 1
