"""Errors in the middle of a slot: the next call, in the same process or another, goes on from what the store holds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from tests.store.scene import Town, config, random_rows, same
from tests.store.test_faults import fault
from tests.support import quick_and_slow

from wevent import Fixed
from wevent.errors import CorruptState, RowMismatch, StoreError, StoreUnavailable
from wevent.events.gathering import SlotCells
from wevent.releases.publisher import Publisher
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store.assignment import CurrentAssignment, assign_rows
from wevent.store.schema import row_assignments, slots
from wevent.store.session import Session


def fail_once(session: Session, monkeypatch: pytest.MonkeyPatch, slot: int) -> None:
    """Let the charge of a slot fail, once."""
    with monkeypatch.context() as broken:

        def refuse(offer: Any) -> None:
            raise StoreUnavailable("the store is not there")

        broken.setattr(session.journal, "charge", refuse)
        with pytest.raises(StoreUnavailable):
            session.release(random_rows(session, slot))


def test_nobody_is_swapped_in_the_first_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first charge fails, a person withdraws and returns, the charge is tried again: events go to their own row."""
    town = Town(tmp_path / "t.db", tmp_path / "t.json")
    town.require({"ann": Fixed("0.01", 4), "bob": Fixed(5, 4)})
    placed: dict[int, int] = {}
    step = Publisher.step

    def note(publisher: Publisher, slot: Any, context: Any) -> Any:
        release = step(publisher, slot, context)
        people: Any = publisher.members.register.users
        placed.update(zip(people, slot.places.tolist(), strict=True))
        return release

    monkeypatch.setattr(Publisher, "step", note)
    with town.session() as session:
        fail_once(session, monkeypatch, 1)
        town.require({"ann": None})
        town.require({"ann": Fixed("0.01", 4)})
        session.release(SlotCells(1, np.array([2, 0]), np.zeros(3, np.int64)))
        assert placed == {0: 2, 1: 0}  # ann's cell and bob's, by number
    town.session().close()


def test_rows_are_compared_before_a_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If anything put events into another row than the one that is charged, the slot is refused before its charge."""
    town = Town(tmp_path / "t.db", tmp_path / "t.json")
    town.require({"ann": Fixed("0.01", 4), "bob": Fixed(5, 4)})
    with town.session() as session:
        for swapped in ("persons", "rows", "positions"):
            with monkeypatch.context() as broken:

                def swap(self: CurrentAssignment, members: Any, name: str = swapped) -> Any:
                    right = assign_rows(members.register.users, members.rows(), members.groups)
                    values = {part: getattr(right, part) for part in ("persons", "rows", "positions")}
                    return type(right)(**{**values, name: values[name][::-1].copy()})

                broken.setattr(CurrentAssignment, "of", swap)
                with pytest.raises(RowMismatch, match="Nothing was charged"):
                    session.release(random_rows(session, 1))
        with town.database.read() as connection:
            assert connection.execute(sa.select(slots.c.slot)).all() == []
        assert session.release(random_rows(session, 1)).slot == 1


def test_a_slot_that_another_process_released(tmp_path: Path) -> None:
    """A process that lost its lock finds the other's release, and continues after it instead of trying for ever."""
    town = Town(tmp_path / "t.db", tmp_path / "t.json")
    town.people(3)
    first = town.session()
    first.release(random_rows(first, 1))
    first.writer._lock.release()
    with town.session() as second:
        kept = second.release(random_rows(second, 2))
        assert same(first.release(random_rows(first, 2)), kept)
        assert first.next_slot == 3


def live(folder: Path, seed: int) -> int:
    """A stream with failing writes, changes between two tries, and openings in between; how many errors there were.

    After every slot a publisher that is opened anew must be the one at work, to the byte.
    """
    chance = random.Random(seed)
    chosen = config(privacy={"mechanism": chance.choice(["pbd", "pba", "dpbd"]), "history_slots": 2})
    town = Town(folder / f"{seed}.db", folder / f"{seed}.json", chosen)
    people = [f"person-{k}" for k in range(5)]

    def change() -> None:
        levels = [Fixed(1, 2), Fixed(1, 3), Fixed(2, 3), Fixed("0.5", 2), None]
        town.require({user: chance.choice(levels) for user in chance.sample(people, chance.randrange(1, 3))})

    town.require({user: chance.choice([Fixed(1, 2), Fixed(1, 3)]) for user in people[:3]})
    session, errors = town.session(), 0
    while (slot := session.next_slot) <= 12:
        if chance.random() < 0.4:
            change()
        try:
            with fault(town.database, chance.randrange(1, 14), "database is locked") as came:
                session.release(random_rows(session, slot, seed))
        except StoreError:
            errors += 1
            if chance.random() < 0.7:
                change()
        assert bool(came) or session.next_slot == slot + 1
        if chance.random() < 0.3:
            at_work = session._publisher.to_bytes() if session.next_slot else b""
            session.close()
            session = town.session()
            assert session._publisher.to_bytes() == at_work, (seed, slot)
    session.close()
    found = audit(read_history(town.database))
    assert found.kept, found.violations
    town.database.close()
    return errors


@pytest.mark.parametrize("seeds", quick_and_slow([range(2)], [range(k, k + 16) for k in range(2, 98, 16)]))
def test_failed_writes_and_changes_between_two_tries(tmp_path: Path, seeds: range) -> None:
    """Whatever write of a slot fails, and whatever changes before the second try, the stream can be opened anew."""
    errors = sum(live(tmp_path, seed) for seed in seeds)
    assert errors > len(seeds)


def test_rows_are_compared_in_every_slot(tmp_path: Path) -> None:
    """A row assignment that was forged in the past, and forged back later, is found when the stream is opened."""
    town = Town(tmp_path / "t.db", tmp_path / "t.json")
    town.require({"ann": Fixed(1, 4), "bob": Fixed(1, 3)})
    with town.session() as session:
        for slot in range(1, 6):
            session.release(random_rows(session, slot))
    with town.database.write() as connection:
        for from_slot, row in ((2, 1), (4, 0)):
            connection.execute(row_assignments.insert().values(stream=1, person=0, from_slot=from_slot, row=row))
    with pytest.raises(CorruptState, match="slot 2 people are not in the rows"):
        town.session()
