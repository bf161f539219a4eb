"""Every accepted event is released with its slot, waits for it, or is counted as lost with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.store.scene import CELLS, START, WIDTH, Town, config, sorted_events, waiting_rows
from tests.store.test_feeding import iso

from wevent import Fixed
from wevent.errors import StoreUnavailable
from wevent.store.accounting import EventAccount, read_account, read_tallies
from wevent.store.feeding import publish_files
from wevent.store.session import Session


class KilledError(BaseException):
    """The process ends here."""


def account(town: Town) -> EventAccount:
    """Where the events are; always balanced."""
    with town.database.read() as connection:
        found = read_account(connection, 1)
    assert found.balanced, found
    return found


def kill_at(session: Session, moment: str, slot: int) -> None:
    """Let the process end at a moment of a slot's release: before its charge, after it, or after its release."""
    journal = session.journal
    name = "charge" if moment != "after the release" else "settle"
    method = getattr(journal, name)

    def call(given: Any) -> Any:
        if given.slot == slot:
            if moment != "before the charge":
                method(given)
            raise KilledError
        return method(given)

    setattr(journal, name, call)


MOMENTS = ["before the charge", "after the charge", "after the release"]


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_live_stream(tmp_path: Path, moment: str) -> None:
    """Killed between charge and release, a slot's events are counted as lost; killed elsewhere, none is."""
    town = Town(tmp_path / "t.db", tmp_path / "t.json")
    town.people(4)
    with town.session() as session:
        events = [(f"person-{k % 4}", slot * WIDTH + k, CELLS[k % 3]) for slot in range(4) for k in range(10 + slot)]
        session.intake.accept(sorted_events(session, events))
        assert account(town) == EventAccount(46, 0, 46, 0)
        session.release(waiting_rows(session, 1))
        assert account(town) == EventAccount(46, 10, 36, 0)
        kill_at(session, moment, 2)
        with pytest.raises(KilledError):
            session.release(waiting_rows(session, 2))
        account(town)
    with town.session() as session:
        lost = 11 if moment == "after the charge" else 0
        after = 11 if moment == "after the release" else 0
        assert account(town) == EventAccount(46, 10 + after, 36 - after - lost, lost)
        while session.next_slot <= 4:
            session.release(waiting_rows(session, session.next_slot))
        assert account(town) == EventAccount(46, 46 - lost, 0, lost)


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_files(tmp_path: Path, moment: str) -> None:
    """In streams of files an event is accepted once, with its slot's charge, however often the files are read."""
    town = Town(tmp_path / "t.db", tmp_path / "t.json", config(slots={"closing": "files"}))
    town.people(4)
    path = tmp_path / "events.csv"
    lines = [f"person-{k % 4},{iso(slot * 60 + k)},north" for slot in range(4) for k in range(10 + slot)]
    path.write_text("\n".join(["user,time,place", *lines, f"nobody,{iso(3)},north"]) + "\n")
    until = START + 4 * WIDTH
    with town.session() as session:
        kill_at(session, moment, 2)
        with pytest.raises(KilledError):
            publish_files(session, [path], until, lambda release: None)
        account(town)
    with town.session() as session:
        publish_files(session, [path], until, lambda release: None)
    lost = 11 if moment == "after the charge" else 0
    assert account(town) == EventAccount(46, 46 - lost, 0, lost)
    with town.database.read() as connection:
        assert read_tallies(connection, 1)["accepted"] == 46


def test_slots_that_are_given_up(tmp_path: Path) -> None:
    """Events that wait for slots which are given up after a restore, or in which nobody is registered, are lost."""
    town = Town(tmp_path / "t.db", tmp_path / "t.json")
    town.require({"ann": Fixed(1, 2)})
    with town.session() as session:
        events = [("ann", slot * WIDTH + k, "north") for slot in range(6) for k in range(3)]
        session.intake.accept(sorted_events(session, events))
        session.release(waiting_rows(session, 1))
    with town.session(shown=3) as session:
        assert session.next_slot == 4
        assert account(town) == EventAccount(18, 3, 9, 6)
        town.require({"ann": None})
        session.release(waiting_rows(session, 4))
        assert account(town) == EventAccount(18, 3, 6, 9)


def test_an_error_after_the_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in the same process loses the slot's events as a kill does, once."""
    town = Town(tmp_path / "t.db", tmp_path / "t.json")
    town.people(4)
    with town.session() as session:
        events = [(f"person-{k % 4}", slot * WIDTH + k, "east") for slot in range(3) for k in range(5)]
        session.intake.accept(sorted_events(session, events))
        with monkeypatch.context() as broken:

            def refuse(release: Any) -> Any:
                raise StoreUnavailable("the store is not there")

            broken.setattr(session.journal, "settle", refuse)
            with pytest.raises(StoreUnavailable):
                session.release(waiting_rows(session, 1))
        assert session.next_slot == 2
        assert account(town) == EventAccount(15, 0, 10, 5)
        session.release(waiting_rows(session, 2))
        assert account(town) == EventAccount(15, 5, 5, 5)
