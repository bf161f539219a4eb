"""A requirement change takes effect after every slot that was charged or had begun when it was stored."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.store.changing import LENIENT, STRICT, in_force, make, stored_changes
from tests.store.scene import START, WIDTH, random_rows, sorted_events

from wevent import Fixed
from wevent.cohorts.requirement_change import RequirementChange
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store.changes import store_changes
from wevent.store.effect import slots_begun_by_files
from wevent.store.requirements import change_statuses
from wevent.store.streams import open_stream


@pytest.mark.parametrize("closing", ["arrival", "operator"])
def test_a_slot_that_has_begun_keeps_its_requirements(tmp_path: Path, closing: str) -> None:
    """Strict before slot 1, lenient ten seconds after it began: slot 1 is strict, though nothing was charged yet."""
    town = make(tmp_path, slots={"closing": closing})
    town.require({"ann": STRICT}, now=START - 1)
    town.require({"ann": LENIENT}, now=START + 10_000_000)
    assert [change.from_slot for change in stored_changes(town)] == [1, 2]
    with town.session() as session:
        session.release(random_rows(session, 1))
        assert in_force(session, "ann") == (STRICT.units, 4)
        session.release(random_rows(session, 2))
        assert in_force(session, "ann") == (LENIENT.units, 4)
    first, second = stored_changes(town)
    assert (first.charged_slot, first.begun_slot, first.stored) == (0, 0, START - 1)
    assert (second.charged_slot, second.begun_slot, second.stored) == (0, 1, START + 10_000_000)
    assert audit(read_history(town.database)).kept


def test_accepted_events_keep_their_requirement(tmp_path: Path) -> None:
    """Closed by the operator: events of slots 2 to 6 accepted under a strict requirement are released under it."""
    town = make(tmp_path)
    town.require({"ann": STRICT})
    with town.session() as session:
        session.release(random_rows(session, 1))
        events = [("ann", (slot - 1) * WIDTH, "north") for slot in range(2, 7)]
        session.intake.accept(sorted_events(session, events))
    town.require({"ann": LENIENT}, now=START + 6 * WIDTH - 1)
    with town.session() as session:
        for slot in range(2, 7):
            session.release(random_rows(session, slot))
            assert in_force(session, "ann") == (STRICT.units, 4), slot
        session.release(random_rows(session, 7))
        assert in_force(session, "ann") == (LENIENT.units, 4)


def test_the_clock_is_read_under_the_lock(tmp_path: Path) -> None:
    """A change that waits for the right to write is judged by the time at which it gets it, not by the time before."""
    town = make(tmp_path, slots={"closing": "arrival"})
    stream = open_stream(town.database, "town", town.config.fixed(), lambda: START, town.witness)
    held: list[bool] = []

    def clock() -> int:
        with pytest.raises(sa.exc.OperationalError), town.database.engine.connect() as other:
            other.exec_driver_sql("PRAGMA busy_timeout = 0")
            other.exec_driver_sql("BEGIN IMMEDIATE")
        held.append(True)
        return START

    store_changes(town.database, town.config, stream, [RequirementChange("ann", STRICT)], clock)
    assert held == [True]


def test_files_are_released_under_what_was_in_force_when_they_came(tmp_path: Path) -> None:
    """A change during a run holds after its last slot; one between two runs for the next run; the clock is nothing."""
    town = make(tmp_path, slots={"closing": "files"})
    much_later = START + 10**6 * WIDTH
    town.require({"ann": STRICT}, now=much_later)
    with town.session() as session:
        with slots_begun_by_files(session.writer, 5):
            session.release(random_rows(session, 1))
            town.require({"ann": LENIENT}, now=much_later)
            session.release(random_rows(session, 2))
        assert [change.from_slot for change in stored_changes(town)] == [1, 6]
        town.require({"bob": STRICT}, now=much_later)
        assert stored_changes(town)[-1].from_slot == 3
        for slot in range(3, 6):
            session.refresh_people()
            session.release(random_rows(session, slot))
            assert in_force(session, "ann") == (STRICT.units, 4)
        session.release(random_rows(session, 6))
        assert in_force(session, "ann") == (LENIENT.units, 4)


def test_an_older_change_never_overtakes_a_newer_one(tmp_path: Path) -> None:
    """A lenient change from a host whose clock is ahead, then a strict one: the strict one stays in force."""
    town = make(tmp_path, slots={"closing": "arrival"})
    town.require({"ann": Fixed(1, 4)}, now=START - 1)
    town.require({"ann": LENIENT}, now=START + 9 * WIDTH)
    stream = open_stream(town.database, "town", town.config.fixed(), lambda: START, town.witness)
    change = [RequirementChange("ann", STRICT)]
    assert store_changes(town.database, town.config, stream, change, lambda: START + 2 * WIDTH).from_slot == 11
    changes = stored_changes(town)
    assert [change.from_slot for change in changes] == [1, 11, 11]
    assert [change.stored for change in changes] == sorted(change.stored for change in changes)
    assert change_statuses(changes, 3) == ["in force", "superseded", "pending"]
    assert change_statuses(changes, 11) == ["over", "superseded", "in force"]
    with town.session() as session:
        for slot in range(1, 16):
            session.release(random_rows(session, slot))
            assert in_force(session, "ann") == ((10**9, 4) if slot < 11 else (STRICT.units, 4))
    with town.session() as session:
        assert in_force(session, "ann") == (STRICT.units, 4)
    assert audit(read_history(town.database)).kept
