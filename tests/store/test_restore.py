"""Stores that are older than what was shown: what was lost is given up, and nobody's promise is broken."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from tests.store.scene import Town, config, random_rows
from tests.store.test_witness import copy, publish

from wevent import Dynamic, Fixed
from wevent.cohorts.requirement import Requirement
from wevent.errors import (
    CorruptState,
    InvalidSetting,
    RequirementsMissing,
    StoreReplaced,
    StoreUnavailable,
    StreamBusy,
    WitnessMissing,
)
from wevent.noise import SecureNoise
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store import forfeiting
from wevent.store.database import open_database
from wevent.store.schema import slots, streams
from wevent.store.session import Session


def spends(town: Town, user: str, slots: int) -> list[int]:
    """Release so many slots; what a person spent in each, in units."""
    spent = []
    with town.session() as session:
        for slot in range(session.next_slot, session.next_slot + slots):
            session.release(random_rows(session, slot))
            members = session._publisher.members
            row = members.rows()[members.register.position(session.people[user])]
            trace = session._publisher.trace
            spent.append(0 if trace is None else int(trace.spent[row]))
    return spent


def worst(spent: list[int], window: int) -> int:
    """The most that any window of consecutive slots holds."""
    return max(sum(spent[first : first + window]) for first in range(len(spent)))


@pytest.mark.parametrize("mechanism", ["pbd", "dpbd"])
def test_promises_made_in_the_lost_copy(tmp_path: Path, mechanism: str) -> None:
    """Somebody who required a longer window after the backup is protected by it over the restore, as if it were known.

    u moves from (0.2, 2) to (1, 20) after the copy was made, so that u has something left to spend. The restored
    store does not know; it must not spend again what the lost one spent inside that window.
    """
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", config(privacy={"mechanism": mechanism}))
    town.ask({"u": Fixed(0.2, 2), "v": Fixed(1, 2)})
    publish(town, 3)
    backup = copy(town, tmp_path / "backup.db")
    longer: Requirement = Fixed(1, 20) if mechanism == "pbd" else Dynamic((1, 20), (4, 20))
    town.ask({"u": longer})
    lost = spends(town, "u", 6)
    assert sum(lost) > 0
    restored = Town(backup, tmp_path / "witness.json", town.config)
    with pytest.raises(RequirementsMissing, match="1 requirement changes are missing") as caught:
        restored.session()
    assert caught.value.fields == {"missing": 1}
    restored.ask({"u": longer})
    again = spends(restored, "u", 30)
    assert worst(lost + again, 20) <= 10**9
    assert not any(again[:19])  # slots 10 to 28: the last given up one is 9, and the longest window 20
    assert any(again[19:])
    assert audit(read_history(restored.database)).kept


def test_a_person_who_joined_in_the_lost_copy(tmp_path: Path) -> None:
    """Whoever joins again after a restore with a forward requirement spends nothing inside the lost windows."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", config(privacy={"mechanism": "dpbd"}))
    town.ask({"v": Fixed(1, 3)})
    publish(town, 2)
    backup = copy(town, tmp_path / "backup.db")
    town.ask({"u": Dynamic((1, 8), (4, 2))})
    lost = spends(town, "u", 3)
    restored = Town(backup, tmp_path / "witness.json", town.config)
    with pytest.raises(RequirementsMissing):
        restored.session()  # the slots are given up, so that the person joins after them
    restored.ask({"u": Dynamic((1, 8), (4, 2))})
    again = spends(restored, "u", 12)
    assert worst(lost + again, 8) <= 10**9
    assert not any(again[:7])
    assert any(again[7:])


def test_without_a_witness_the_limits_hold(tmp_path: Path) -> None:
    """Without a witness nobody knows what was promised: the longest window that the limits allow holds everybody."""
    chosen = config(privacy={"mechanism": "pbd", "limits": {"window": 10}})
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", chosen)
    town.ask({"u": Fixed(1, 2)})
    publish(town, 2)
    town.witness.path.unlink()
    with town.session(shown=5) as session:
        assert session.next_slot == 6
    again = spends(town, "u", 12)
    assert not any(again[:9])
    assert any(again[9:])
    known = town.witness.read()
    assert known is not None
    assert known.longest_window == 10


def test_the_hold_is_kept(tmp_path: Path) -> None:
    """The store says how long everybody is held back, and a process that starts later holds them back as long."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json")
    town.ask({"u": Fixed(1, 6)})
    publish(town, 2)
    backup = copy(town, tmp_path / "backup.db")
    publish(town, 2)
    restored = Town(backup, tmp_path / "witness.json")
    spent = [spends(restored, "u", 1)[0] for _ in range(7)]
    assert [bool(units) for units in spent] == [False] * 5 + [True] * 2
    with restored.database.read() as connection:
        found = connection.execute(
            sa.select(slots.c.slot, slots.c.forfeited, slots.c.hold).order_by(slots.c.slot)
        ).all()
    assert [tuple(row) for row in found[1:5]] == [(2, False, 0), (3, True, 6), (4, True, 6), (5, False, 0)]


def test_lost_changes_are_asked_for(tmp_path: Path) -> None:
    """Publishing waits for requirement changes that the witness counted, or for the operator's word, which is kept."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json")
    town.ask({"u": Fixed(5, 3), "v": Fixed(1, 3)})
    publish(town, 2)
    backup = copy(town, tmp_path / "backup.db")
    town.ask({"u": Fixed(0.1, 3)})
    town.ask({"v": None})
    restored = Town(backup, tmp_path / "witness.json")
    for _ in range(2):
        with pytest.raises(RequirementsMissing, match="2 requirement changes"):
            restored.session()
    restored.ask({"u": Fixed(0.1, 3)})
    with pytest.raises(RequirementsMissing, match="1 requirement changes"):
        restored.session()
    with restored.session(requirements_lost=True):
        pass
    with restored.session() as session:
        session.release(random_rows(session, 3))
    with restored.database.read() as connection:
        assert tuple(connection.execute(sa.select(streams.c.changes, streams.c.changes_lost)).one()) == (4, 1)
    second = copy(restored, tmp_path / "second.db")
    restored.ask({"u": Fixed(0.2, 3)})  # what is lost after the word was given is noticed again
    with pytest.raises(RequirementsMissing, match="1 requirement changes"):
        Town(second, tmp_path / "witness.json").session()


@pytest.mark.parametrize("how", ["deleted", "emptied", "another"])
def test_a_store_that_is_gone(tmp_path: Path, how: str) -> None:
    """Where a witness knows of a stream, neither publishing nor storing a requirement begins it anew."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json")
    town.ask({"u": Fixed(1, 4), "v": Fixed(1, 7)})
    publish(town, 5)
    town.database.close()
    for path in tmp_path.glob("town.db*"):
        path.unlink()
    if how == "emptied":
        (tmp_path / "town.db").touch()
    elif how == "another":
        other = Town(tmp_path / "town.db", tmp_path / "other.json", config(stream={"name": "other"}))
        other.ask({"w": Fixed(1, 4)})
        other.database.close()
    fresh = Town(tmp_path / "town.db", tmp_path / "witness.json")
    with pytest.raises(StoreReplaced, match=r"slots up to 5.*--restored 5"):
        fresh.ask({"u": Fixed(1, 4)})
    with pytest.raises(StoreReplaced):
        fresh.session()
    with pytest.raises(RequirementsMissing, match="2 requirement changes"):
        fresh.session(shown=6)
    fresh.ask({"u": Fixed(1, 4), "v": Fixed(1, 7)})
    again = spends(fresh, "u", 8)
    assert [bool(units) for units in again] == [False] * 6 + [True] * 2  # slots 7 to 12 are within 7 of slot 6
    assert audit(read_history(fresh.database, "town")).kept


def test_a_store_cut_back_to_an_older_state(tmp_path: Path, drawn: list[str]) -> None:
    """An older copy written into the running store's own file is noticed before anything is drawn."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json")
    town.people(3)
    with town.session() as session:
        session.release(random_rows(session, 1))
        old = copy(town, tmp_path / "old.db").read_bytes()
        session.release(random_rows(session, 2))
        session.release(random_rows(session, 3))
        town.database.close()
        for path in (tmp_path / "town.db-wal", tmp_path / "town.db-shm"):
            path.unlink(missing_ok=True)
        (tmp_path / "town.db").write_bytes(old)
        assert drawn
        drawn.clear()
        with pytest.raises(CorruptState, match="older copy"):
            session.release(random_rows(session, 4))
        assert not drawn
    with town.session() as session:
        assert session.next_slot == 4


def test_a_store_that_vanishes(tmp_path: Path, drawn: list[str]) -> None:
    """A store whose folder is removed, or whose file is replaced, is noticed at the next slot; nothing is drawn."""
    for replaced in (False, True):
        folder = tmp_path / f"folder-{replaced}"
        folder.mkdir()
        town = Town(folder / "town.db", tmp_path / f"witness-{replaced}.json")
        town.people(3)
        with town.session() as session:
            session.release(random_rows(session, 1))
            drawn.clear()
            if replaced:
                shutil.copy(folder / "town.db", folder / "copy.db")
                (folder / "copy.db").rename(folder / "town.db")
            else:
                shutil.rmtree(folder)
            with pytest.raises(StoreUnavailable):
                session.release(random_rows(session, 2))
            assert not drawn


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows whenever noise is drawn."""
    seen: list[str] = []
    for name in ("_words", "_add_laplace"):
        method = getattr(SecureNoise, name)

        def draw(*given: Any, _method: Any = method) -> Any:
            seen.append("draw")
            return _method(*given)

        monkeypatch.setattr(SecureNoise, name, draw)
    return seen


def test_one_lock_for_all_names(tmp_path: Path) -> None:
    """A store that is open under one name is not opened under another that leads to the same file."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json")
    town.people(3)
    (tmp_path / "link.db").symlink_to("town.db")
    other = Town(tmp_path / "link.db", tmp_path / "witness.json")
    with town.session(), pytest.raises(StreamBusy):
        other.session()


def test_very_many_slots(tmp_path: Path) -> None:
    """Thousands of slots are given up in seconds and do not slow down later starts; impossible numbers are refused."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json")
    town.people(3)
    publish(town, 1)
    town.witness.path.unlink()
    for wrong in (20_261_116, 1_000_002, -1):
        with pytest.raises(InvalidSetting, match="Nothing was changed"):
            town.session(shown=wrong)
    assert not town.witness.path.exists()
    begun = time.monotonic()
    with town.session(shown=6_000) as session:
        assert session.next_slot == 6_001
    middle = time.monotonic()
    with town.session() as session:
        assert session.next_slot == 6_001
        kept = session.journal.find(5_000)
        assert kept is not None
        assert np.array_equal(kept.counts, session._publisher.last[0])
    assert time.monotonic() - middle < max(1.0, (middle - begun) / 2)
    with pytest.raises(WitnessMissing):
        Town(copy(town, tmp_path / "copy.db"), tmp_path / "elsewhere" / "witness.json").session()


def test_giving_up_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies while it gives slots up leaves the rest to the next one, with the same hold."""
    monkeypatch.setattr(forfeiting, "FORFEITED_AT_ONCE", 4)
    chosen = config(privacy={"mechanism": "auto", "limits": {"window": 9}})
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", chosen)
    town.people(3)
    publish(town, 1)
    town.witness.path.unlink()
    hear, heard = Session._hear, []

    def die(self: Session, slot: int, *, settled: bool) -> None:
        heard.append(slot)
        if len(heard) == 3:
            raise KeyboardInterrupt
        hear(self, slot, settled=settled)

    monkeypatch.setattr(Session, "_hear", die)
    with pytest.raises(KeyboardInterrupt):
        town.session(shown=14)
    monkeypatch.setattr(Session, "_hear", hear)
    with town.session() as session:
        assert session.next_slot == 15
    with open_database(tmp_path / "town.db").read() as connection:
        found = connection.execute(sa.select(slots.c.hold).order_by(slots.c.slot)).scalars().all()
    assert found == [0] + [9] * 13
