"""The audit fails on stores that a faulty ledger, session or restore would have produced; rows are written by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.store.scene import START, WIDTH, config

from wevent.reports.audit import audit
from wevent.reports.findings import Audit
from wevent.reports.history import read_history
from wevent.store.arrays import encode_array, encode_counts
from wevent.store.damage import check_store
from wevent.store.database import open_database
from wevent.store.schema import people, releases, requirement_changes, row_assignments, slots, streams
from wevent.store.streams import find_stream

ONE = 10**9
GROUP = -1


@dataclass(frozen=True)
class Change:
    """A requirement change; `stored` in slots since the first began, such as 2.5 for the middle of slot 3."""

    person: int
    from_slot: int
    terms: tuple[Any, ...]  # kind, epsilon, window, backward epsilon, backward window
    stored: float = -1.0
    charged_slot: int = 0
    begun_slot: int = 0
    refused: bool = False


@dataclass(frozen=True)
class Store:
    """What is written into a store: charges of rows by slot, in whole epsilon; None for a slot that was forfeited."""

    changes: Sequence[Change]
    spends: Sequence[Sequence[float] | None]
    row_assignments: Sequence[tuple[int, int, int]]  # person, from_slot, row
    hold: int = 0
    settings: dict[str, Any] = field(default_factory=dict)

    def audit(self, folder: Path) -> Audit:
        """Write it, then judge it."""
        database = open_database(folder / "town.db", create=True)
        chosen = config(**{"privacy": {"mechanism": "dpbd"}, **self.settings})
        with database.write() as connection:
            values = {
                "settings": json.dumps(chosen.fixed()),
                "created": 1,
                "epoch": 1,
                "begun": True,
                "changes": len(self.changes),
            }
            connection.execute(streams.insert().values(name="town", **values))
            for person in sorted({change.person for change in self.changes}):
                connection.execute(people.insert().values(stream=1, person=person, name=f"p{person}"))
            for number, change in enumerate(self.changes, start=1):
                kind, *terms = (*change.terms, None, None, None, None)[:5]
                names = ("epsilon", "window", "backward_epsilon", "backward_window")
                facts = {
                    "person": change.person,
                    "from_slot": change.from_slot,
                    "refused": change.refused,
                    "kind": kind,
                }
                facts |= {"charged_slot": change.charged_slot, "begun_slot": change.begun_slot, "source": "set"}
                facts |= {"stored": START + int(change.stored * WIDTH), **dict(zip(names, terms, strict=True))}
                connection.execute(requirement_changes.insert().values(stream=1, number=number, **facts))
            for slot, spent in enumerate(self.spends, start=1):
                self._write_slot(connection, slot, spent)
            for person, from_slot, row in self.row_assignments:
                connection.execute(
                    row_assignments.insert().values(stream=1, person=person, from_slot=from_slot, row=row)
                )
        check_store(database)
        assert find_stream(database, "town")
        found = audit(read_history(database))
        database.close()
        return found

    def _write_slot(self, connection: Any, slot: int, spent: Sequence[float] | None) -> None:
        charge = np.array([] if spent is None else [round(part * ONE) for part in spent], np.int64)
        charges = {
            "change_budget": encode_array(np.zeros_like(charge)),
            "publish_budget": encode_array(charge),
            "nullified": False,
        }
        hold = self.hold if spent is None else 0
        times = {"charged": START + slot * WIDTH, "forfeited": spent is None, "hold": hold}
        connection.execute(slots.insert().values(stream=1, slot=slot, **charges, **times))
        published = bool(charge.any())
        source = slot if published else self._published_before(slot)
        decision = "lost" if spent is None else "published" if published else "skipped"
        counts = {"counts": encode_counts(np.zeros(3, np.int64)), "standard_error": encode_array(np.ones(3))}
        more = counts if published else {}
        values = {"released": 1, "decision": decision, "source": source, "threshold": 1.0 if published else None}
        connection.execute(releases.insert().values(stream=1, slot=slot, **values, **more))

    def _published_before(self, slot: int) -> int:
        return max((k for k, spent in enumerate(self.spends[: slot - 1], start=1) if spent and any(spent)), default=0)


def fixed(epsilon: float, window: int) -> tuple[Any, ...]:
    return "fixed", round(epsilon * ONE), window


LEAVE = ("leave",)

MERGED = Store(
    # a person in row 0 merges into the younger row 1, then requires a longer window, which has forgotten row 0
    [Change(0, 1, fixed(1, 2)), Change(1, 5, fixed(1, 2), 3.5, 3, 4), Change(0, 7, fixed(3, 10), 5.5, 5, 6)],
    [(1, 0), (0, 0), (1, 0), (0, 0), (1, 1), (0, 0), (0, 1), (0, 0)],
    [(0, 1, 0), (0, 6, 1), (1, 5, 1)],
)

LISTED = Store(
    [Change(0, 4, fixed(1, 3), 2.5, 2, 3)],
    [(1,), (0,), (1,), (0, 0), (0, 1)],
    [(GROUP, 1, 0), (0, 4, 1)],
    settings={"people": {"group": {"size": 50, "epsilon": 1, "window": 2}}},
)

BEGUN = Store(
    [Change(0, 1, fixed(0.1, 4)), Change(0, 1, fixed(50, 4), stored=10 / 60, begun_slot=1)],
    [(10,), (10,)],
    [(0, 1, 0)],
    settings={"slots": {"closing": "arrival"}},
)

OVERTAKEN = Store(
    [Change(0, 1, fixed(5, 2)), Change(0, 4, fixed(15, 2), 1.5, 1, 3), Change(0, 3, fixed(0.1, 2), 1.6, 1, 2)],
    [(0,), (0,), (0.1,), (10,)],
    [(0, 1, 0)],
    settings={"slots": {"closing": "files"}},
)

RESTORED = Store(
    # slot 3 was given up; a person comes back with a forward requirement and spends at once
    [Change(0, 1, fixed(1, 2)), Change(0, 4, ("dynamic", ONE, 2, ONE, 1), 2.5, 3, 3)],
    [(0.5,), (0.5,), None, (1,), (0,)],
    [(0, 1, 0)],
    hold=20,
)

WAITED = replace(RESTORED, spends=[*RESTORED.spends[:3], *[(0,)] * 19, (1,)])

UNLAWFUL = {
    "merged into a younger row": (MERGED, "hold epsilon=4 where 3 was promised"),
    "listed after the group": (LISTED, "slots 3 to 5 hold epsilon=2 where 1 was promised"),
    "change in a slot that had begun": (BEGUN, "had begun before it was stored"),
    "change in a slot that had begun, by the clock alone": (
        replace(BEGUN, changes=[BEGUN.changes[0], replace(BEGUN.changes[1], begun_slot=0)]),
        "had begun before it was stored",
    ),
    "change in a begun slot, closed by the operator": (
        Store([Change(0, 1, fixed(0.1, 4)), Change(0, 2, fixed(50, 4), 5.5, 1, 0)], [(0,), (10,), (10,)], [(0, 1, 0)]),
        "had begun before it was stored",
    ),
    "change in a slot whose events were taken": (
        replace(BEGUN, settings={"slots": {"closing": "files"}}),
        "had begun before it was stored",
    ),
    "change in a charged slot": (
        replace(BEGUN, changes=[BEGUN.changes[0], Change(0, 2, fixed(50, 4), 0.9, 2, 1)]),
        "charged before it was stored",
    ),
    "older change after a newer one": (OVERTAKEN, "after a newer one of the same person"),
    "older change after a newer one, judged by the newer": (OVERTAKEN, "hold epsilon=10.1 where 0.1 was promised"),
    "spent inside the hold": (RESTORED, "held back until slot 22"),
    "no hold after a restore": (replace(WAITED, hold=0), "held back for 0 slots only"),
    "hold shorter than a promised window": (replace(WAITED, hold=1), "where windows of 2 slots were promised"),
    "hold forgets the carry": (
        replace(
            WAITED,
            hold=2,
            settings={"people": {"presence": "carry", "carry": 3}, "privacy": {"neighbours": "substitution"}},
        ),
        "where windows of 4 slots were promised",
    ),
    "promise made before the restore, with a longer window": (
        Store(
            [Change(0, 1, fixed(1, 2)), Change(0, 6, fixed(1, 20), 4.5, 5, 5)],
            [(0,), None, (0,), (0,), (0,), (1,)],
            [(0, 1, 0)],
            hold=2,
        ),
        "reach into slots given up after a restore",
    ),
    "refused change that took effect": (
        Store(
            [Change(0, 1, fixed(0.1, 3)), Change(0, 2, fixed(50, 3), 0.5, 1, 1, refused=True)],
            [(0,), (25.6,), (0,)],
            [(0, 1, 0)],
        ),
        "hold epsilon=25.6 where 0.1 was promised",
    ),
    "counted in a row that is not charged for them": (
        Store([Change(0, 1, fixed(1, 2)), Change(1, 1, fixed(5, 2))], [(0, 5)], [(0, 1, 2), (1, 1, 1)]),
        "was not charged",
    ),
    "counted in the row of a looser requirement": (
        Store([Change(0, 1, fixed(0.01, 2)), Change(1, 1, fixed(50, 2))], [(0, 50)], [(0, 1, 1), (1, 1, 1)]),
        "hold epsilon=50 where 0.01 was promised",
    ),
    "counted after leaving": (
        Store([Change(0, 1, fixed(1, 2)), Change(0, 2, LEAVE, 0.5, 0, 1)], [(0,), (0,)], [(0, 1, 0)]),
        "without a requirement in force",
    ),
    "group that is not charged": (replace(LISTED, row_assignments=[(0, 4, 1)]), "was not charged"),
    "group above its own promise": (
        replace(LISTED, spends=[(1,), (1,), (0,), (0, 0), (0, 0)]),
        "slots 1 to 2 hold epsilon=2 where 1 was promised",
    ),
    "left while the old window lives": (
        Store(
            [Change(0, 1, fixed(1, 4)), Change(0, 2, LEAVE, 0.5, 0, 1), Change(0, 3, fixed(5, 1), 1.5, 1, 2)],
            [(1,), (0,), (5,)],
            [(0, 1, 0), (0, 2, -1), (0, 3, 0)],
        ),
        "hold epsilon=6 where 1 was promised",
    ),
}


@pytest.mark.parametrize("name", UNLAWFUL)
def test_the_audit_fails(tmp_path: Path, name: str) -> None:
    """Each such store is found out, with words that say what is wrong."""
    store, words = UNLAWFUL[name]
    found = store.audit(tmp_path)
    assert any(words in violation.what for violation in found.violations), found.violations


LAWFUL = {
    "merged, and the new window counts what was spent": replace(MERGED, spends=[*MERGED.spends[:6], (0, 0), (0, 0)]),
    "listed after the group, windows full": replace(LISTED, spends=[(1,), (0,), (0,), (0, 0), (0, 1)]),
    "listed, and what the group spends later is not theirs": replace(
        LISTED, spends=[(1,), (0,), (0,), (1, 0), (0, 1)], row_assignments=LISTED.row_assignments
    ),
    "change after the slot that had begun": replace(
        BEGUN,
        changes=[BEGUN.changes[0], Change(0, 2, fixed(50, 4), 10 / 60, 0, 1)],
        spends=[(0,), (0,), (0,), (0,), (10,)],
    ),
    "newer change after an older one": replace(
        OVERTAKEN,
        changes=[OVERTAKEN.changes[0], Change(0, 4, fixed(15, 2), 1.5, 1, 3)],
        spends=[(0,), (0,), (0,), (0,), (10,)],
    ),
    "after the hold": WAITED,
    "refused change without effect": Store(
        [Change(0, 1, fixed(0.1, 3)), Change(0, 2, fixed(50, 3), 0.5, 1, 1, refused=True)], [(0,), (0.1,)], [(0, 1, 0)]
    ),
    "left, and nowhere counted": Store(
        [Change(0, 1, fixed(1, 2)), Change(0, 2, LEAVE, 0.5, 0, 1)], [(1,), (0,), (1,)], [(0, 1, 0), (0, 2, -1)]
    ),
}


@pytest.mark.parametrize("name", LAWFUL)
def test_the_audit_passes(tmp_path: Path, name: str) -> None:
    """The same stores without the fault are kept: the audit does not cry wolf."""
    found = LAWFUL[name].audit(tmp_path)
    assert found.kept, found.violations
