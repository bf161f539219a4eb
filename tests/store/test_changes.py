"""Requirement changes are stored whole or not at all, and the latest one that can be met counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.store.changing import LENIENT, STRICT, in_force, make, stored_changes
from tests.store.scene import LEVELS, START, random_rows

from wevent import Dynamic, Fixed
from wevent.cohorts.requirement import Requirement
from wevent.cohorts.requirement_change import RequirementChange
from wevent.errors import InvalidInput, InvalidRequirement, SharedPeople, StoreFull
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store import changes as changing
from wevent.store.changes import store_changes
from wevent.store.database import Database
from wevent.store.demand import read_demand
from wevent.store.planning import ChangePolicy
from wevent.store.requirements import IMPORT, change_statuses, read_latest_changes
from wevent.store.streams import open_stream


def test_a_superseded_change_is_no_change(tmp_path: Path) -> None:
    """A person who changes several times before one slot is served as if only the last change had been stored."""
    made: list[list[int]] = []
    for name, steps in (("one", [LENIENT]), ("many", [STRICT, Fixed(1, 6), LENIENT])):
        town = make(tmp_path, name)
        town.people(6)
        with town.session() as session:
            session.release(random_rows(session, 1))
        for step in steps:
            town.require({"person-0": step})
        with town.session() as session:
            session.release(random_rows(session, 2))
            made.append(session._publisher.members.rows().tolist())
            assert session._publisher.ledger.rows == 4
    assert made[0] == made[1]


def test_a_change_before_the_second_try_of_a_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes stored between a failed charge and its second try, in one process: opening anew finds the same rows."""
    town = make(tmp_path)
    town.people(6)
    with town.session() as session:
        session.release(random_rows(session, 1))
        town.require({"person-0": Fixed(3, 4)})
        charge = session.journal.charge
        monkeypatch.setattr(session.journal, "charge", _full)
        with pytest.raises(StoreFull):
            session.release(random_rows(session, 2))
        monkeypatch.setattr(session.journal, "charge", charge)
        town.require({"person-0": Fixed(7, 4), "person-1": Fixed(9, 4)})
        session.release(random_rows(session, 2))
        session.release(random_rows(session, 3))
        assert in_force(session, "person-0") == (7 * 10**9, 4)
        rows = session._publisher.members.rows().tolist()
    with town.session() as session:
        assert session._publisher.members.rows().tolist() == rows
    assert audit(read_history(town.database)).kept


def _full(offer: object) -> None:
    raise StoreFull("no room")


def test_many_changes_go_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More changes than one transaction takes: the result is the same, and one that is refused stores none of them."""
    whole = make(tmp_path, "whole")
    changes = {f"person-{k}": LEVELS[k % 3] for k in range(25)}
    later: dict[str, Requirement | None] = {f"person-{k}": [None, Fixed(3, 4), LEVELS[k % 3]][k % 3] for k in range(30)}
    parts = make(tmp_path, "parts")
    for town in (whole, parts):
        town.require(dict(changes))
        town.require(later)
        monkeypatch.setattr(changing, "MOST_AT_ONCE", 4)
    assert stored_changes(whole) == stored_changes(parts)
    with whole.database.read() as first_town, parts.database.read() as second_town:
        assert read_demand(first_town, 1) == read_demand(second_town, 1)
    before = stored_changes(parts)
    with pytest.raises(InvalidRequirement):
        parts.require({**{f"new-{k}": Fixed(1, 4) for k in range(9)}, "last": Fixed(0.0001, 4)})
    assert stored_changes(parts) == before
    with parts.session() as session:
        session.release(random_rows(session, 1))


def test_what_is_refused_in_its_slot_is_seen_and_the_one_before_counts(tmp_path: Path) -> None:
    """With `reject`, an infeasible change is marked, what it replaced stays in force, and the demand is as before."""
    town = make(tmp_path, privacy={"mechanism": "dpbd", "infeasible": "reject"})
    town.require({"ann": Dynamic((8, 4), (8, 4)), "bob": Fixed(1, 4)})
    with town.session() as session:
        for slot in (1, 2):
            session.release(random_rows(session, slot))
    with town.database.read() as connection:
        before = read_demand(connection, 1)
    town.require({"ann": Dynamic((8, 4), (0.01, 4))})
    with town.session() as session:
        session.release(random_rows(session, 3))
    changes = [change for change in stored_changes(town) if change.person == 0]
    assert change_statuses(changes, 3) == ["in force", "refused"]
    with town.database.read() as connection:
        assert read_demand(connection, 1) == before
    with town.session() as session:
        session.release(random_rows(session, 4))
    town.require({"ann": Dynamic((8, 4), (7, 4))})
    with town.session() as session:
        session.release(random_rows(session, 5))


def test_a_second_stream_over_the_same_people(tmp_path: Path) -> None:
    """It is refused, with the line, unless it says that people are shared; a group may hold anybody's people."""
    first_town = make(tmp_path, stream={"name": "one"})
    first_town.require({"ann": Fixed(1, 4)})
    second_town = make(tmp_path, stream={"name": "two"})
    second_town.require({"bob": Fixed(1, 4)})
    with pytest.raises(SharedPeople, match=r"stream 'one'.*shared = true"):
        second_town.require({"eve": Fixed(1, 4), "ann": Fixed(1, 4)})
    with pytest.raises(SharedPeople, match="stream 'two'"):
        first_town.require({"bob": Fixed(1, 4)})
    first_town.require({"ann": None})
    with pytest.raises(SharedPeople):  # a person who left still has windows
        second_town.require({"ann": Fixed(1, 4)})
    stream = open_stream(second_town.database, "two", second_town.config.fixed(), lambda: START, second_town.witness)
    with pytest.raises(SharedPeople, match="line 7: a person"):
        changes = [RequirementChange("eve", Fixed(1, 4), line=6), RequirementChange("ann", Fixed(1, 4), line=7)]
        store_changes(second_town.database, second_town.config, stream, changes, lambda: START - 1)
    assert [change.person for change in stored_changes(second_town, stream.id)] == [0]
    group = {"group": {"size": 5, "epsilon": 1, "window": 4}}
    with pytest.raises(SharedPeople, match="unlisted"):
        make(tmp_path, stream={"name": "three"}, people=group).require({})
    three = make(tmp_path, stream={"name": "three"}, people={**group, "shared": True})
    three.require({"ann": Fixed(1, 4)})
    with pytest.raises(SharedPeople, match=r"'three' .*unlisted"):
        make(tmp_path, stream={"name": "four"}).require({})


def test_names_are_those_of_events(tmp_path: Path) -> None:
    """Spaces stay, composed and decomposed letters are one name, empty and endless names are refused."""
    town = make(tmp_path)
    assert town.require({" ann": STRICT, "ann": STRICT, "andr\u00e9": STRICT}) == 3
    assert town.require({"andre\u0301": STRICT}) == 0
    for wrong in ("", "x" * 513, "a\0b", "\ud800"):
        with pytest.raises(InvalidInput):
            town.require({wrong: STRICT})


@pytest.mark.parametrize("new", [1, 300])
def test_changes_read_the_people_who_change(tmp_path: Path, new: int) -> None:
    """What the database does to store changes does not grow with the people: 600 or 6,000, it is the same work."""
    work: dict[int, int] = {}
    for many in (600, 6_000):
        town = make(tmp_path, f"{many}")
        town.require({f"person-{k}": LEVELS[k % 3] for k in range(many)})
        ticks: list[int] = []
        with town.database.engine.connect() as connection:
            raw: Any = connection.connection.driver_connection
        raw.set_progress_handler(lambda ticks=ticks: ticks.append(1), 10)
        assert town.require({f"person-{k}": STRICT for k in range(new)}) == new
        raw.set_progress_handler(None, 10)
        work[many] = len(ticks)
    assert work[600] > 10
    assert work[6_000] < 1.5 * work[600]


def test_many_changes_see_what_was_stored_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody is read before the right to write is taken; what others store in between stays, or is changed once."""
    town = make(tmp_path)
    town.require({"ann": Fixed(1, 4), "bob": Fixed(1, 4), "eve": Fixed(1, 4)})
    real = Database.write
    waiting: list[dict[str, Requirement | None]] = [{"bob": None, "dan": Fixed(1, 4), "eve": Fixed(2, 4)}]

    def write(self: Database) -> Any:
        if waiting and sync:
            town.require(waiting.pop())
        return real(self)

    sync = False
    monkeypatch.setattr(Database, "write", write)
    stream = open_stream(town.database, "town", town.config.fixed(), lambda: START, town.witness)
    sync = True
    changes = [RequirementChange("ann", Fixed(1, 4)), RequirementChange("bob", Fixed(1, 4))]
    policy = ChangePolicy(returning=False)
    stored = store_changes(town.database, town.config, stream, changes, lambda: START - 1, policy, sync=True)
    assert (stored.unchanged, stored.away, stored.left, stored.joined) == (2, 0, 1, 0)
    with town.database.read() as connection:
        assert [past.requirement for _, past in sorted(read_latest_changes(connection, 1).items())] == [
            Fixed(1, 4), None, None, Fixed(1, 4),
        ]  # fmt: skip


def test_files_leave_what_people_set_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file changes nobody whose latest change was set, in parts or at once, unless it is to overwrite it.

    Also not a person who set what a file had required of them before, nor, in a sync, a person whom it leaves out.
    """
    town = make(tmp_path)
    everybody = ("ann", "bob", "dan", "eve")
    file = ChangePolicy(IMPORT, returning=False)
    assert town.require(dict.fromkeys(everybody, Fixed(2, 4)), policy=file) == 4
    assert town.require({"ann": Fixed(1, 4), "bob": None, "dan": Fixed(2, 4)}) == 2  # dan says the same as the file
    stream = open_stream(town.database, "town", town.config.fixed(), lambda: START, town.witness)

    def store(policy: ChangePolicy, *users: str, **more: bool) -> tuple[int, ...]:
        changes = [RequirementChange(user, Fixed(3, 4)) for user in users]
        stored = store_changes(town.database, town.config, stream, changes, lambda: START - 1, policy, **more)
        return stored.own, stored.away, stored.changed, stored.left, stored.returned

    assert store(file, *everybody, preview=True) == (2, 1, 1, 0, 0)
    assert store(file, "bob", "eve", sync=True, preview=True) == (2, 1, 1, 0, 0)
    assert store(file, "bob", "eve", sync=True) == (2, 1, 1, 0, 0)
    monkeypatch.setattr("wevent.store.changes.MOST_AT_ONCE", 1)
    assert store(replace(file, returning=True), *everybody) == (2, 0, 0, 0, 1)  # bob comes back
    assert store(ChangePolicy(), "dan") == (0, 0, 1, 0, 0)
    assert town.require({"dan": None}, policy=file) == 1  # a file may always let a person leave
    assert store(ChangePolicy(), "dan") == (0, 0, 0, 0, 1)
    assert store(replace(file, overwrite=True), *everybody) == (0, 0, 1, 0, 0)
    assert store(file, *everybody) == (0, 0, 0, 0, 0)
