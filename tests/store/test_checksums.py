"""Every row bears a checksum over all its other columns."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.store.scene import Town, config, random_rows, sorted_events

from wevent import Dynamic, Fixed
from wevent.errors import CorruptState
from wevent.store.checksums import CHECKSUM, check_table, checksum, insert, update
from wevent.store.damage import check_store
from wevent.store.schema import metadata, releases, requirement_changes, row_assignments, slots


@pytest.fixture
def town(tmp_path: Path) -> Town:
    """A store with a row in nearly every table."""
    chosen = config(
        privacy={"mechanism": "auto", "history_slots": 8, "neighbours": "substitution"},
        people={"presence": "carry", "carry": 2},
    )
    made = Town(tmp_path / "town.db", tmp_path / "w.json", chosen)
    made.people(5)
    for slot in range(1, 7):
        if slot == 3:
            made.require({"person-1": Fixed(3, 3), "person-2": None})
        if slot == 6:
            made.require({"person-3": Fixed(2, 5)})
        with made.session() as session:
            session.release(random_rows(session, slot))
            if slot == 4:
                session.keep_state()
            if slot == 6:
                session.intake.accept(sorted_events(session, [("person-1", 7 * 60_000_000, "north")]))
    return made


def other(value: Any) -> Any:
    """A value that differs a little, of the same kind."""
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1, *value[1:]])
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value + "x"
    return value + 1


def test_every_column_of_every_table_is_sealed(town: Town) -> None:
    """Whatever column changes in whatever row, the whole check finds it; nothing else is found."""
    assert check_store(town.database) > 20
    seen = set()
    for table in metadata.sorted_tables:
        with town.database.read() as connection:
            row = connection.execute(sa.select(table)).mappings().first()
        if row is None:
            continue
        same_row = sa.and_(*(table.c[key.name] == row[key.name] for key in table.primary_key))
        for column in table.columns:
            if row[column.name] is None or not column.info.get("sealed", True):
                continue
            changed = {**row, column.name: other(row[column.name])}
            if column.name != CHECKSUM:
                assert checksum(table, changed) != row[CHECKSUM], (table.name, column.name)
            constrained = (
                column.name in ("kind", "decision", "counts", "axis") or column is requirement_changes.c.source
            )
            if column.primary_key or constrained:
                continue  # other constraints refuse these changes already
            with pytest.raises(CorruptState, match="checksum"), town.database.write() as connection:
                connection.execute(table.update().where(same_row).values({column.name: changed[column.name]}))
                check_table(connection, table)
            seen.add(table.name)
    assert seen >= {"about", "streams", "people", "requirement_changes", "slots", "releases", "shown", "learned"}
    assert seen >= {"row_assignments", "states", "waiting", "carried", "tallies"}
    assert check_store(town.database) > 20


def test_all_but_one_column_is_sealed() -> None:
    """One column is left out, the number of a stream, which the database gives; foreign keys hold it."""
    loose = [
        (table.name, column.name)
        for table in metadata.sorted_tables
        for column in table.c
        if not column.info.get("sealed", True)
    ]
    assert loose == [("streams", "id")]


@pytest.mark.parametrize("table", ["slots", "row_assignments", "people", "states", "learned", "requirement_changes"])
def test_opening_notices(town: Town, table: str, tmp_path: Path) -> None:
    """A stream with a damaged row that opening reads is not opened; nothing is released."""
    damaged = metadata.tables[table]
    values: dict[str, dict[str, Any]] = {
        "slots": {"charged": 1},
        "states": {"slot": 77},
        "learned": {"slot": 77},
        "row_assignments": {"row": 77},
        "people": {"name": "x"},
        "requirement_changes": {"stored": 1},
    }
    key = next(c for c in damaged.primary_key.columns if c.name != "stream")
    with town.database.write() as connection:
        newest = connection.execute(sa.select(sa.func.max(key))).scalar_one()
        connection.execute(damaged.update().where(key == newest).values(values[table]))
    with pytest.raises(CorruptState, match=f"table '{table}'"):
        town.session()


def test_update_seals_and_checks(town: Town) -> None:
    """`update` seals what it changes, may use the old value, and refuses to seal a row that is damaged."""
    with town.database.write() as connection:
        assert update(connection, slots, slots.c.slot == 2, charged=lambda old: old + 1) == 1
        assert update(connection, slots, slots.c.slot == 99, charged=1) == 0
        check_table(connection, slots)
        connection.execute(slots.update().where(slots.c.slot == 2).values(charged=5))
        with pytest.raises(CorruptState):
            update(connection, slots, slots.c.slot == 2, nullified=True)


def test_order_of_columns_is_free(town: Town) -> None:
    """Many rows are inserted with columns in any order, more than one batch of them."""
    rows = [(row, 1, slot, 7) for row, slot in enumerate(range(100, 30_100))]
    with town.database.write() as connection:
        assert insert(connection, row_assignments, ("row", "stream", "from_slot", "person"), rows) == 30_000
        assert check_table(connection, row_assignments, row_assignments.c.person == 7) == 30_000


def test_numbers_that_a_database_changes(town: Town) -> None:
    """What SQLite keeps of -0.0 and of what is no number fits the checksum; infinity stays."""
    for slot, number in enumerate((-0.0, math.nan, math.inf, 1e300, 5e-324), start=1):
        with town.database.write() as connection:
            update(connection, releases, releases.c.slot == slot, noise=number)
            check_table(connection, releases)


def test_checksums_do_not_change_between_versions() -> None:
    """Checksums are part of the format of a store: the same values give the same number, whatever Python or driver."""
    kinds: dict[str, Any] = {
        "a": sa.BigInteger(),
        "b": sa.Text(),
        "c": sa.Float(53),
        "d": sa.LargeBinary(),
        "e": sa.Boolean(),
    }
    table = sa.Table(
        "sample", sa.MetaData(), *(sa.Column(name, kind, nullable=name != "e") for name, kind in kinds.items())
    )
    assert checksum(table, {"a": 3, "b": "\u00e9\u0378", "c": 0.1, "d": b"\x00\xff", "e": True}) == SAMPLE
    assert checksum(table, {"a": 3, "b": "\u00e9\u0378", "c": 0.1, "d": b"\x00\xff", "e": 1}) == SAMPLE
    assert checksum(table, {"e": False}) == EMPTY


SAMPLE, EMPTY = 3063457870, 317698460


def test_another_table_is_another_seal(town: Town) -> None:
    """A row that ended up in another table of like columns does not fit there."""
    values = {"stream": 1, "slot": 2, "state": b"x", "last": b"x"}
    assert checksum(metadata.tables["states"], values) != checksum(metadata.tables["carried"], values)


def test_dynamic_terms_are_sealed(tmp_path: Path) -> None:
    """Backward sides are sealed with the rest."""
    made = Town(tmp_path / "town.db", tmp_path / "w.json", config(privacy={"mechanism": "dpbd"}))
    made.require({"ann": Dynamic((1, 3), (2, 4)), "bob": Fixed(1, 4), "eve": Fixed(2, 4)})
    assert check_store(made.database) == 12
