"""A stream in a store: what is kept comes back, whatever happens in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from tests.store.scene import CELLS, Town, config, random_rows, same, sorted_events, waiting_rows
from tests.store.test_filtered import CrashError, crash

from wevent import Dynamic, Fixed
from wevent.cohorts.requirement import Requirement
from wevent.errors import SettingsChanged, SlotOutOfOrder, StreamBusy, StreamTaken, WitnessMissing
from wevent.releases.release import Decision
from wevent.store import session as sessions
from wevent.store.schema import releases, slots, waiting
from wevent.store.witness import WitnessRecord

WAYS: list[Any] = [("pba", 3), ("dpbd", 3), ("uniform", 3), ("dpba", 1000), ("auto", 3)]
WAYS += [
    pytest.param(*way, marks=pytest.mark.slow)
    for way in [("pbd", 3), ("dpba", 3), ("bd", 3), ("pbd", 1000), ("auto", 1000)]
]


@pytest.fixture
def town(tmp_path: Path) -> Town:
    made = Town(tmp_path / "town.db", tmp_path / "witness.json")
    made.people(30)
    return made


@pytest.mark.parametrize(("mechanism", "state_every"), WAYS)
def test_opening_again_changes_nothing(
    tmp_path: Path, mechanism: str, state_every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publisher brought back from the store, by state and replay, is to the byte the one that was closed."""
    monkeypatch.setattr(sessions, "STATE_EVERY", state_every)
    town = Town(
        tmp_path / "town.db", tmp_path / "witness.json", config(privacy={"mechanism": mechanism, "history_slots": 8})
    )
    town.people(12)
    fixed = [Fixed(2, 4), Fixed(1, 6)] if mechanism in ("bd", "uniform") else [Fixed(0.7, 5), Fixed(3, 2)]
    changes: dict[int, dict[str, Requirement | None]] = {
        3: {"person-0": fixed[0], "person-90": fixed[1]},
        5: {"person-1": None, "person-3": None},
        7: {"person-1": fixed[1], "person-90": None},
        8: {"person-2": Dynamic((1, 3), (2, 4)) if mechanism.startswith("dp") else fixed[0]},
        10: {"person-2": Fixed(1, 4)},
    }
    for slot in range(1, 14):
        if slot in changes:
            town.require(changes[slot])
        with town.session() as session:
            before = session._publisher.to_bytes()
        with town.session() as session:
            assert session._publisher.to_bytes() == before
            assert session.next_slot == slot
            released = session.release(random_rows(session, slot))
            kept = session.journal.find(slot)
            assert kept is not None
            assert same(kept, released)
            assert same(session.release(random_rows(session, slot)), released)


def test_a_charged_slot_is_lost(town: Town) -> None:
    """After an interruption between charge and release the slot is lost: its charge stays, its counts repeat."""
    with town.session() as session:
        first = session.release(random_rows(session, 1))
        offer = session._publisher.ledger.offer(session._publisher.schedule)
        crash(session, "after the charge")
        with pytest.raises(CrashError):
            session.release(random_rows(session, 2))
    with town.session() as session:
        lost = session.journal.find(2)
        assert lost is not None
        assert lost.decision is Decision.LOST
        assert (lost.counts == first.counts).all()
        assert session.next_slot == 3
        change_budget, publish_budget = session._publisher.ledger.history.spends(0)
        assert change_budget[-1] + publish_budget[-1] == offer.change_budget[0] + offer.publish_budget[0]


def test_events_wait_and_go(town: Town) -> None:
    """Accepted events wait in their slot, are counted in it, and are deleted with its release."""
    with town.session() as session:
        events = [(f"person-{k}", slot * 60_000_000 + k, CELLS[k % 3]) for k in range(30) for slot in range(3)]
        session.intake.accept(sorted_events(session, events))
    with town.session() as session:
        rows = waiting_rows(session, 1)
        assert (rows.cells == np.arange(30) % 3).all()
        session.release(rows)
        with town.database.read() as connection:
            left = connection.execute(sa.select(waiting.c.slot).order_by(waiting.c.slot)).scalars().all()
        assert left == [2, 3]


def test_a_slot_is_kept_once(town: Town) -> None:
    """The schema refuses a second charge and a second release of a slot."""
    with town.session() as session:
        session.release(random_rows(session, 1))
        with pytest.raises(StreamTaken), session.writer.transaction() as connection:
            connection.execute(slots.insert().from_select(slots.c.keys(), sa.select(slots)))
        with pytest.raises(StreamTaken), session.writer.transaction() as connection:
            connection.execute(releases.insert().from_select(releases.c.keys(), sa.select(releases)))


def test_slots_come_in_order(town: Town) -> None:
    """A slot that is not due is refused and changes nothing."""
    with town.session() as session:
        with pytest.raises(SlotOutOfOrder):
            session.release(random_rows(session, 2))
        assert session.release(random_rows(session, 1)).slot == 1


def test_two_processes_exclude_each_other(town: Town) -> None:
    """While a stream is open, nobody else opens it; afterwards anybody may."""
    with town.session(), pytest.raises(StreamBusy):
        town.session()
    town.session().close()


def test_a_lost_lock_is_noticed(town: Town) -> None:
    """If another process went on with the stream, the first writer can no longer write, and nothing is shown."""
    first = town.session()
    first.release(random_rows(first, 1))
    first.writer._lock.release()
    with town.session() as second:
        with pytest.raises(StreamTaken):
            first.release(random_rows(first, 2))
        released = second.release(random_rows(second, 2))
        assert same(first.release(random_rows(first, 2)), released)  # reading is not writing
        assert second.release(random_rows(second, 3)).slot == 3


def test_settings_stay(town: Town) -> None:
    """A privacy setting that differs is refused, with its name and the way to a new stream; other streams go on."""
    town.people(3)
    with town.session() as session:
        session.release(random_rows(session, 1))
    changes: list[tuple[str, dict[str, Any]]] = [
        ("slots", {"width": "2 min"}),
        ("cells", {"names": ["north"]}),
        ("people", {"one_cell": "last"}),
        ("privacy", {"mechanism": "pba"}),
        ("privacy", {"neighbours": "substitution"}),
    ]
    for part, value in changes:
        town.config = config(**{part: value})
        with pytest.raises(SettingsChanged, match=rf"{part}.*name.*under \[stream\]"):
            town.session()
    town.config = config(stream={"name": "other"}, slots={"width": "2 min"})
    town.session().close()


def test_levels_may_be_added_not_changed(town: Town) -> None:
    """New names of levels are taken; a level of another value is refused."""
    town.config = config(stream={"name": "s"}, levels={"epsilons": {"a": 1}, "windows": {"b": 2}})
    town.require({})
    town.config = config(stream={"name": "s"}, levels={"epsilons": {"a": 1, "c": 2}, "windows": {"b": 2}})
    town.require({})
    town.config = config(stream={"name": "s"}, levels={"epsilons": {"a": 1, "c": 3}, "windows": {"b": 2}})
    with pytest.raises(SettingsChanged, match=r"levels.epsilons.c was 2, is 3"):
        town.require({})


def test_changes_wait_for_the_next_slot(town: Town) -> None:
    """A change that is stored after the changes of its slot were applied is in force from the next slot on."""
    with town.session() as session:
        session.release(random_rows(session, 1))
        session.begin(2)
        assert town.require({"person-0": Fixed(0.1, 8)}) == 1
        publisher = session._publisher
        session.release(random_rows(session, 2))
        assert publisher.members.ledger.versions.in_force(int(publisher.members.rows()[0])) == (10**9, 4)
        session.release(random_rows(session, 3))
        assert publisher.members.ledger.versions.in_force(int(publisher.members.rows()[0])) == (10**8, 8)


def test_slots_without_anybody(tmp_path: Path) -> None:
    """With nobody registered a slot is lost, spends nothing, and the stream goes on."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json")
    town.require({"ann": Fixed(1, 4)})
    with town.session() as session:
        session.release(random_rows(session, 1))
    town.require({"ann": None})
    with town.session() as session:
        assert session.release(random_rows(session, 2)).decision is Decision.LOST
    town.require({"ann": Fixed(1, 4)})
    with town.session() as session:
        assert session.release(random_rows(session, 3)).decision is not Decision.LOST


@pytest.mark.parametrize("mechanism", ["pbd", "dpba"])
def test_a_restored_copy_spends_nothing(tmp_path: Path, mechanism: str) -> None:
    """An older copy loses the slots up to the witness's h; nobody, nor a newcomer, spends before h + longest window."""
    chosen = config(privacy={"mechanism": mechanism, "history_slots": 8})
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", chosen)
    town.people(9)
    for slot in range(1, 9):
        if slot == 5:
            town.database.close()
            (tmp_path / "backup.db").write_bytes((tmp_path / "town.db").read_bytes())
        with town.session() as session:
            session.release(random_rows(session, slot))
    copy = Town(tmp_path / "backup.db", tmp_path / "witness.json", chosen)
    with copy.session() as session:
        assert session.next_slot == 9
        for slot in range(5, 9):
            given_up = session.journal.find(slot)
            assert given_up is not None
            assert given_up.decision is Decision.LOST
    copy.require({"newcomer": Fixed(1, 4)})
    longest, users = 6, ("person-0", "person-1", "person-2", "newcomer")
    for slot in range(9, 17):
        with copy.session() as session:
            session.release(random_rows(session, slot))
            publisher = session._publisher
            assert publisher.trace is not None
            for user in users:
                row = publisher.members.rows()[publisher.members.register.position(session.people[user])]
                spent = int(publisher.trace.spent[row])
                assert (spent == 0) == (slot < 8 + longest), (user, slot)
    with pytest.raises(StreamTaken):  # the first one, still there, is fenced off by the witness
        town.witness.advance(9, WitnessRecord(town.database.identity(), "town", epoch=8))


def test_without_a_witness_the_operator_must_speak(town: Town) -> None:
    """A stream that has begun is not opened without its witness, unless the operator says what may have been shown."""
    with town.session() as session:
        session.release(random_rows(session, 1))
    town.witness.path.unlink()
    with pytest.raises(WitnessMissing, match="slots up to 1"):
        town.session()
    with town.session(shown=4) as session:
        assert session.next_slot == 5
        session.release(random_rows(session, 5))
    town.witness.path.write_text("{")
    with pytest.raises(WitnessMissing, match="damaged"):
        town.session()
