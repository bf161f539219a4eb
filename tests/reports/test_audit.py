"""The audit finds what is broken, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from tests.store.scene import LEVELS, Town, config, random_rows
from tests.support import quick_and_slow

from wevent import Dynamic, Fixed
from wevent.cohorts.requirement import Requirement
from wevent.cohorts.requirement_change import RequirementChange
from wevent.mechanisms import EstimatorName
from wevent.reports.audit import audit
from wevent.reports.findings import Audit
from wevent.reports.history import SlotRecord, StreamHistory, read_history
from wevent.reports.neighbours import try_mechanism
from wevent.reports.officer import Judged, officer_page
from wevent.settings import Privacy
from wevent.store.arrays import decode_integers, encode_array
from wevent.store.checksums import update
from wevent.store.schema import releases, row_assignments, shown, slots, waiting

ONE = 10**9


def record(slot: int, spent: int, decision: str = "published", **more: Any) -> SlotRecord:
    """A slot of one row that spent something."""
    source = slot if decision == "published" else 0
    facts = {"charged": 1, "released": 2, "forfeited": False, "threshold": 1.0, "source": source, **more}
    change_budget = np.array([spent if decision != "published" else 0], np.int64)
    publish_budget = np.array([spent if decision == "published" else 0], np.int64)
    return SlotRecord(slot, decision=decision, change_budget=change_budget, publish_budget=publish_budget, **facts)


def past(
    spends: list[int],
    changes: list[RequirementChange],
    assignments: list[tuple[int, int]] | None = None,
    carry: int = 1,
) -> StreamHistory:
    """A history of one person, in row 0 unless row assignments are given."""
    records, source = [], 0
    for slot, spent in enumerate(spends, start=1):
        source = slot if spent else source
        records.append(record(slot, spent, "published" if spent else "skipped", source=source))
    return StreamHistory("town", {"people.carry": carry}, records, {0: changes}, {0: assignments or [(1, 0)]})


def change(slot: int, requirement: Requirement | None) -> RequirementChange:
    return RequirementChange(0, requirement, slot)


def fixed(slot: int, epsilon: int, window: int) -> RequirementChange:
    return change(slot, Fixed(epsilon, window))


def test_windows_just_full() -> None:
    """Exactly the promise is kept; one unit more is not, and the slot and the window are named."""
    assert audit(past([ONE, 0, 0, ONE], [fixed(1, 1, 3)])).kept
    found = audit(past([ONE, 0, 1, ONE], [fixed(1, 1, 3)]))
    assert [(violation.slot, violation.people) for violation in found.violations] == [(3, 1)]
    assert "slots 1 to 3 hold epsilon=1.000000001 where 1 was promised" in found.violations[0].what


def test_old_versions_stay_alive() -> None:
    """A change to something laxer does not free the old window, nor does leaving."""
    assert not audit(past([ONE, ONE, 0], [fixed(1, 1, 3), fixed(2, 5, 1)])).kept
    assert not audit(past([ONE, ONE, 0], [fixed(1, 1, 3), change(2, None)])).kept


def test_dynamic() -> None:
    """The forward side binds from the slot of the declaration on, the backward side in that slot."""
    changes = [change(1, Dynamic((1, 2), (2, 2))), change(2, Dynamic((9, 1), (1, 2)))]
    assert audit(past([ONE, 0], changes)).kept
    found = audit(past([ONE, 1], changes))
    assert [violation.slot for violation in found.violations] == [2, 2]  # forward of slot 1, backward of slot 2


def test_carried_windows_are_wider() -> None:
    """With people carried for 3 slots, a promise over 2 slots is kept over 4."""
    assert audit(past([ONE, 0, 0, ONE], [fixed(1, 1, 2)])).kept
    assert not audit(past([ONE, 0, 0, ONE], [fixed(1, 1, 2)], carry=3)).kept


def test_a_person_who_is_not_charged() -> None:
    """A requirement in force without a row in the charges is found."""
    found = audit(past([0, 0], [fixed(1, 1, 2)], [(1, 0), (2, -1)]))
    assert [(violation.slot, "not charged" in violation.what) for violation in found.violations] == [(2, True)]


def test_given_up_slots() -> None:
    """After slots given up by a restore nothing is spent until the window has passed; before them anything allowed."""
    spends = [ONE, 0, 0, 0, ONE]
    history = past(spends, [fixed(1, 1, 3)])
    history.slots[1] = record(2, 0, "lost", forfeited=True, source=1, hold=3)
    history.slots[2] = record(3, 0, "skipped", source=1)
    history.slots[3] = record(4, 0, "skipped", source=1)
    assert audit(history).kept
    history.slots[3] = record(4, 1, "published", source=4)
    history.slots[4] = record(5, 0, "skipped", source=4)
    found = audit(history)
    assert [violation.slot for violation in found.violations] == [4, 4]
    assert "given up after a restore" in found.violations[0].what
    assert "held back until slot 4" in found.violations[1].what


@pytest.fixture
def town(tmp_path: Path) -> Town:
    made = Town(tmp_path / "town.db", tmp_path / "w.json", config(privacy={"mechanism": "dpbd", "history_slots": 8}))
    made.people(9)
    for slot in range(1, 8):
        if slot == 3:
            made.require(
                {"person-0": Dynamic((1, 3), (1, 2)), "person-1": None, "person-8": Fixed(3, 2), "late": Fixed(1, 3)}
            )
        if slot == 5:
            made.require({"person-1": Fixed(1, 4), "person-0": Fixed(2, 2)})
        with made.session() as session:
            session.release(random_rows(session, slot))
    return made


def look(town: Town) -> Audit:
    return audit(read_history(town.database))


def test_a_real_store(town: Town) -> None:
    """Everything that was promised is listed, with people and worst windows; a page can be made of it."""
    found = look(town)
    assert found.kept, found.violations
    assert found.people == 10
    promised = {promise.requirement: promise.people for promise in found.promises}
    assert {type(requirement) for requirement in promised} == {Fixed, Dynamic}
    at_first = len([k for k in range(9) if LEVELS[k % 3] == Fixed(1, 4)])
    assert promised[Fixed(1, 4)] == at_first + 1  # person-1 came back to it
    page = officer_page([Judged(found, {"cells": ["<b>"], "privacy.neighbours": "add_remove"})])
    assert "Every promise was kept" in page
    assert "&lt;b&gt;" in page
    assert "person-" not in page
    assert "http" not in page


@pytest.mark.parametrize("estimator", ["unbiased", "pooled"])
def test_a_filtered_store(tmp_path: Path, estimator: str) -> None:
    """What is promised is proven for `auto` too; the page says how counts come about and what must be true for them."""
    chosen = config(privacy={"mechanism": "auto", "estimator": estimator, "history_slots": 8})
    town = Town(tmp_path / "town.db", tmp_path / "w.json", chosen)
    town.people(9)
    for slot in range(1, 12):
        if slot == 4:
            town.require({"person-0": Fixed(0.2, 7), "person-1": None})
        with town.session() as session:
            session.release(random_rows(session, slot))
    history = read_history(town.database)
    found = audit(history)
    assert found.kept, found.violations
    assert all(0 < line.worst.ratio <= 1 for line in found.promises if line.worst is not None)
    page = officer_page([Judged(found, history.settings, None, history.assumptions)])
    assert f"<em>{estimator}</em>" in page
    assert ("says nothing about where they are" in page) == (estimator == "pooled")
    with town.database.write() as connection:
        connection.execute(shown.delete().where(shown.c.slot == 6))
        kept = connection.execute(sa.select(slots.c.change_budget).where(slots.c.slot == 2)).scalar_one()
        larger = encode_array(decode_integers(kept) + 100 * ONE)
        update(connection, slots, slots.c.slot == 2, change_budget=larger)
    broken = {(violation.slot, violation.people > 0) for violation in look(town).violations}
    assert {(6, False), (2, True)} <= broken


@pytest.mark.parametrize("part", ["change_budget", "publish_budget"])
def test_a_forged_charge(town: Town, part: str) -> None:
    """One charge that is larger than it was is found, in its slot, with the class of people."""
    with town.database.write() as connection:
        kept = connection.execute(sa.select(slots).where(slots.c.slot == 4)).one()
        larger = decode_integers(getattr(kept, part)).copy()
        larger[0] += 100 * ONE
        update(connection, slots, slots.c.slot == 4, **{part: encode_array(larger)})
        update(connection, releases, releases.c.slot == 4, decision="lost", counts=None, source=0)
    found = look(town)
    assert not found.kept
    assert any(violation.slot == 4 and violation.people > 0 for violation in found.violations)


def test_forged_history(town: Town) -> None:
    """Missing slots and row assignments, releases that do not fit and events that were kept too long are found."""

    def found_after(words: str) -> bool:
        return any(words in violation.what for violation in look(town).violations)

    for change, words in (
        (row_assignments.delete().where(row_assignments.c.person == 2), "not charged"),
        (waiting.insert().values(stream=1, slot=3, batch=1, number=0, events=b""), "events wait"),
    ):
        with town.database.write() as connection:
            connection.execute(change)
        assert found_after(words), words
    with town.database.write() as connection:
        update(connection, releases, releases.c.slot == 6, source=99)
    assert found_after("last published")
    for gone, words in (
        (releases.delete().where(releases.c.slot == 5), "no release"),
        (slots.delete().where(slots.c.slot == 5), "slot 5 is missing"),
    ):
        with town.database.write() as connection:
            connection.execute(gone)
        assert found_after(words), words


@pytest.mark.parametrize(
    "way", quick_and_slow([("uniform", None)], [("pbd", None), ("auto", None), ("auto", "pooled")])
)
def test_neighbouring_streams(way: tuple[str, EstimatorName | None]) -> None:
    """It does not refute its promise, and does refute one that it never made (wrong in one of 1,000 runs each)."""
    mechanism, estimator = way
    trial = try_mechanism(mechanism, Privacy(), ONE, 2, 150, estimator)
    assert not trial.refuted
    assert trial.window == 2
    broken = try_mechanism(mechanism, Privacy(), 50 * ONE, 1, 150, estimator)
    assert broken.loss.refutes(1.0)
