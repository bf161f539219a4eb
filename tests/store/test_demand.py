"""The limits refuse what people may not require together, and the stream goes on."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.store.changing import LENIENT, make, stored_changes
from tests.store.scene import LEVELS, START, config, random_rows

from wevent import Dynamic, Fixed
from wevent.cohorts.requirement import Requirement
from wevent.cohorts.requirement_change import RequirementChange
from wevent.errors import InvalidRequirement, InvalidSetting
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store import session as sessions
from wevent.store.changes import store_changes
from wevent.store.demand import read_demand
from wevent.store.requirements import change_statuses, read_latest_changes
from wevent.store.streams import open_stream


def test_shares_are_refused_when_stored(tmp_path: Path) -> None:
    """`share_ratio` refuses with the line of the file, nothing is stored, and the stream can be opened."""
    town = make(tmp_path, privacy={"limits": {"share_ratio": 10}})
    stream = open_stream(town.database, "town", town.config.fixed(), lambda: START, town.witness)
    changes = [RequirementChange("ann", Fixed(1, 4), line=2), RequirementChange("bob", Fixed(20, 4), line=3)]
    with pytest.raises(InvalidRequirement, match=r"line 3: .*at most 10.*share_ratio; require less"):
        store_changes(town.database, town.config, stream, changes, lambda: START - 1)
    assert stored_changes(town) == []
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
    number = stored_changes(town)[-1].number
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
    assert [change.number for change in stored_changes(town) if change.refused] == [number]
    assert change_statuses([change for change in stored_changes(town) if change.number == number], 1) == ["refused"]
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
