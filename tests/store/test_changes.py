"""Requirement changes: from which slot on they hold, what the limits refuse, and that nothing is half stored."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.store.scene import LEVELS, START, WIDTH, Town, config, random_rows, sorted_events

from wevent import Dynamic, Fixed
from wevent.cohorts.requirement import Requirement
from wevent.cohorts.requirement_change import RequirementChange
from wevent.errors import InvalidInput, InvalidRequirement, InvalidSetting, SharedPeople, StoreFull
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store import changes as changing
from wevent.store import session as sessions
from wevent.store.changes import store_changes
from wevent.store.database import Database
from wevent.store.demand import read_demand
from wevent.store.effect import slots_begun_by_files
from wevent.store.planning import ChangePolicy
from wevent.store.requirements import IMPORT, StoredChange, change_statuses, read_changes, read_latest_changes
from wevent.store.session import Session
from wevent.store.streams import open_stream

STRICT, LENIENT = Fixed(0.1, 4), Fixed(50, 4)


def make(folder: Path, name: str = "town", **parts: Any) -> Town:
    chosen = config(**parts)
    return Town(folder / f"{name}.db", folder / f"{name}-{chosen.stream.name}.json", chosen)


def kept(town: Town, stream: int = 1) -> list[StoredChange]:
    with town.database.read() as connection:
        return list(read_changes(connection, stream))


def in_force(session: Session, user: str) -> tuple[int, int]:
    members = session._publisher.members
    row = int(members.rows()[members.register.position(session.people[user])])
    found = members.ledger.versions.in_force(row)
    assert found is not None
    return int(found[0]), int(found[1])


@pytest.mark.parametrize("closing", ["arrival", "operator"])
def test_a_slot_that_has_begun_keeps_its_requirements(tmp_path: Path, closing: str) -> None:
    """Strict before slot 1, lenient ten seconds after it began: slot 1 is strict, though nothing was charged yet."""
    town = make(tmp_path, slots={"closing": closing})
    town.require({"ann": STRICT}, now=START - 1)
    town.require({"ann": LENIENT}, now=START + 10_000_000)
    assert [change.from_slot for change in kept(town)] == [1, 2]
    with town.session() as session:
        session.release(random_rows(session, 1))
        assert in_force(session, "ann") == (STRICT.units, 4)
        session.release(random_rows(session, 2))
        assert in_force(session, "ann") == (LENIENT.units, 4)
    first, second = kept(town)
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
        assert [change.from_slot for change in kept(town)] == [1, 6]
        town.require({"bob": STRICT}, now=much_later)
        assert kept(town)[-1].from_slot == 3
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
    changes = kept(town)
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


def test_shares_are_refused_when_stored(tmp_path: Path) -> None:
    """`share_ratio` refuses with the line of the file, nothing is stored, and the stream can be opened."""
    town = make(tmp_path, privacy={"limits": {"share_ratio": 10}})
    stream = open_stream(town.database, "town", town.config.fixed(), lambda: START, town.witness)
    changes = [RequirementChange("ann", Fixed(1, 4), line=2), RequirementChange("bob", Fixed(20, 4), line=3)]
    with pytest.raises(InvalidRequirement, match=r"line 3: .*at most 10.*share_ratio; require less"):
        store_changes(town.database, town.config, stream, changes, lambda: START - 1)
    assert kept(town) == []
    town.require({"ann": Fixed(1, 4)})
    with pytest.raises(InvalidRequirement, match="require more"):
        town.require({"bob": Fixed(0.05, 4)})
    with town.session() as session:
        session.release(random_rows(session, 1))


def test_slot_1_refuses_one_person_instead_of_everybody(tmp_path: Path) -> None:
    """A requirement in the store that slot 1 cannot serve is marked; everybody else is published, and it is shown."""
    town = make(tmp_path)
    town.people(3)
    town.require({"odd": LENIENT})
    number = kept(town)[-1].number
    town.config = config(privacy={"mechanism": "pbd", "history_slots": 8, "limits": {"epsilon": 10}})
    with town.database.write() as connection:  # as if the limits had been set after the requirement was stored
        connection.exec_driver_sql("DELETE FROM demand")
        import json

        from wevent.store.checksums import update
        from wevent.store.schema import streams

        update(connection, streams, streams.c.id == 1, settings=json.dumps(town.config.fixed()))
    with town.session() as session:
        session.release(random_rows(session, 1))
        assert session._publisher.members.register.users == [0, 1, 2]
    assert [change.number for change in kept(town) if change.refused] == [number]
    assert change_statuses([change for change in kept(town) if change.number == number], 1) == ["refused"]
    with town.session() as session:
        session.release(random_rows(session, 2))


def test_a_huge_window_leaves_the_stream_healthy(tmp_path: Path) -> None:
    """200 cohorts and one window of 2²⁰ slots would need gigabytes: refused when stored; the default limit is lower."""
    town = make(tmp_path)
    with pytest.raises(InvalidRequirement, match="16384"):
        town.require({"ann": Fixed(90, 2**14 + 1)})
    limits = {"window": 2**20, "least_share": 0, "share_ratio": 1e9}
    town = make(tmp_path, "wide", privacy={"limits": limits})
    town.require({f"person-{k}": Fixed(f"{1 + k / 100}", 4) for k in range(200)})
    with pytest.raises(InvalidRequirement, match=r"201 rows that remember 1,048,576 slots.*history_cells"):
        town.require({"ann": Fixed(90, 2**20)})
    with pytest.raises(InvalidRequirement, match="history_cells"):  # the other way round
        other = make(tmp_path, "other", privacy={"limits": limits})
        other.require({"ann": Fixed(90, 2**20), **{f"person-{k}": Fixed(f"{1 + k / 100}", 4) for k in range(200)}})
    with town.session() as session:
        assert session.release(random_rows(session, 1)).slot == 1
    town.require({"person-0": None})  # leaving is never refused


def test_people_who_change_need_rows_of_their_own(tmp_path: Path) -> None:
    """Each person who is dynamic or changes counts as a row; asking again before the stream begins does not."""
    town = make(tmp_path, privacy={"mechanism": "dpbd", "history_slots": 8, "limits": {"history_cells": 60}})
    town.require({f"person-{k}": Fixed(1, 4) for k in range(20)})
    town.require({f"person-{k}": Fixed(2, 4) for k in range(20)})
    with town.session() as session:
        session.release(random_rows(session, 1))
    town.require({f"person-{k}": Fixed(3, 4) for k in range(6)})
    with pytest.raises(InvalidRequirement, match="8 rows that remember 8 slots"):
        town.require({"person-7": Fixed(3, 4)})
    with pytest.raises(InvalidRequirement, match="8 rows"):
        town.require({"new": Dynamic((1, 4), (2, 4))})
    town.require({"person-0": None})
    town.require({"person-7": Fixed(3, 4)})


def test_a_lowered_limit_is_named(tmp_path: Path) -> None:
    """`history_cells` below what is stored: opening says how much is needed; raised again, the stream goes on."""
    town = make(tmp_path)
    town.people(9)
    with town.session() as session:
        session.release(random_rows(session, 1))
    town.config = config(privacy={"mechanism": "pbd", "history_slots": 8, "limits": {"history_cells": 20}})
    with pytest.raises(InvalidSetting, match=r"3 rows that remember 8 slots each\. Set it to 24 or more"):
        town.session()
    town.config = config(privacy={"mechanism": "pbd", "history_slots": 8, "limits": {"history_cells": 24}})
    with town.session() as session:
        session.release(random_rows(session, 2))


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
    assert kept(whole) == kept(parts)
    with whole.database.read() as first_town, parts.database.read() as second_town:
        assert read_demand(first_town, 1) == read_demand(second_town, 1)
    before = kept(parts)
    with pytest.raises(InvalidRequirement):
        parts.require({**{f"new-{k}": Fixed(1, 4) for k in range(9)}, "last": Fixed(0.0001, 4)})
    assert kept(parts) == before
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
    changes = [change for change in kept(town) if change.person == 0]
    assert change_statuses(changes, 3) == ["in force", "refused"]
    with town.database.read() as connection:
        assert read_demand(connection, 1) == before
    with town.session() as session:
        session.release(random_rows(session, 4))
    town.require({"ann": Dynamic((8, 4), (7, 4))})
    with town.session() as session:
        session.release(random_rows(session, 5))


def test_the_demand_is_what_people_require(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After any joins, changes, leaves, returns and refusals the counts equal those of everybody's latest change."""
    monkeypatch.setattr(sessions, "STATE_EVERY", 3)
    for seed in range(2):
        chance = random.Random(seed)
        town = make(tmp_path, f"seed-{seed}", privacy={"mechanism": "dpbd", "infeasible": "reject"})
        choices: list[Requirement | None] = [*LEVELS, Dynamic((4, 3), (4, 2)), Dynamic((4, 3), (0.05, 3)), None]
        for slot in range(1, 10):
            for _ in range(chance.randrange(3)):
                town.require({f"person-{chance.randrange(6)}": chance.choice(choices)})
            with town.session() as session:
                session.release(random_rows(session, slot))
            with town.database.read() as connection:
                pasts = read_latest_changes(connection, 1)
                counted = {key: number for key, number in read_demand(connection, 1).items() if number}
            wanted: dict[Any, int] = {}
            for past in pasts.values():
                if past.requirement is not None:
                    key = (past.requirement, past.changed)
                    wanted[key] = wanted.get(key, 0) + 1
            assert counted == wanted
        assert audit(read_history(town.database)).kept


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
    assert [change.person for change in kept(second_town, stream.id)] == [0]
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
    assert store(replace(file, returning=True), *everybody) == (
        2,
        0,
        0,
        0,
        1,
    )  # bob comes back
    assert store(ChangePolicy(), "dan") == (0, 0, 1, 0, 0)
    assert town.require({"dan": None}, policy=file) == 1  # a file may always let a person leave
    assert store(ChangePolicy(), "dan") == (0, 0, 0, 0, 1)
    assert store(replace(file, overwrite=True), *everybody) == (0, 0, 1, 0, 0)
    assert store(file, *everybody) == (0, 0, 0, 0, 0)
