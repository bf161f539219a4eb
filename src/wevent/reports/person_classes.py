"""Groups people of the same past, and says what they spent and what they were promised.

People who were in the same rows and required the same are judged once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from wevent.budgets.feasibility import DynamicPromise, FixedPromise, Promise
from wevent.cohorts.requirement import Fixed, Requirement
from wevent.cohorts.requirement_change import RequirementChange
from wevent.reports.history import StreamHistory
from wevent.store.schema import UNLISTED

RowSpends = dict[int, npt.NDArray[np.int64]]
"""What every row spent, by slot (axes: row)."""


@dataclass(frozen=True, slots=True)
class Requires:
    """A requirement, or None after leaving, and the first and the last slot in which it is in force."""

    requirement: Requirement | None
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class PersonClass:
    """People of the same past.

    Attributes:
        size: how many they are; the declared group counts with its declared size.
        row_assignments: pairs of first slot and row, in order; row -1 for none.
        changes: what they require, in the order of storing.
        unlisted_until: the last slot in which they may have been among the unlisted people, 0 if in none.
    """

    size: int
    row_assignments: Sequence[tuple[int, int]]
    changes: Sequence[RequirementChange]
    unlisted_until: int

    def requires(self, end: int) -> Iterator[Requires]:
        """What they required one after the other; the last requirement is in force until `end`."""
        for change, following in zip_longest(self.changes, self.changes[1:]):
            last = end if following is None else (following.slot or 0) - 1
            yield Requires(change.requirement, change.slot or 0, last)


def person_classes(history: StreamHistory) -> list[PersonClass]:
    """Everybody who was ever promised anything, by their past."""
    group = history.settings.get("people.group")
    sizes: dict[tuple[object, ...], int] = {}
    classes: dict[tuple[object, ...], PersonClass] = {}
    for person, changes in history.requirements.items():
        listed = history.listed.get(person, changes[0].slot or 0)
        unlisted_until = listed - 1 if group is not None and person != UNLISTED else 0
        assigned = history.row_assignments.get(person, ())
        past = (tuple(assigned), tuple((change.slot, change.requirement) for change in changes), unlisted_until)
        size = int(group["size"]) if person == UNLISTED and group else 1
        sizes[past] = sizes.get(past, 0) + size
        if past not in classes:
            classes[past] = PersonClass(0, assigned, changes, unlisted_until)
    return [
        PersonClass(sizes[past], found.row_assignments, found.changes, found.unlisted_until)
        for past, found in classes.items()
    ]


def row_spends(history: StreamHistory) -> RowSpends:
    """What every row spent, slots that were given up left out."""
    return {record.slot: record.spent for record in history.slots if not record.forfeited}


def spends_of_unlisted(history: StreamHistory, spent: RowSpends, last: int) -> list[int]:
    """What the row of unlisted people spent, slot by slot; nothing where there is none."""
    rows = _rows(history.row_assignments.get(UNLISTED, ()), last)
    units = [0] * last
    for slot, charges in spent.items():
        if 0 <= rows[slot] < charges.size:
            units[slot - 1] = int(charges[rows[slot]])
    return units


@dataclass(frozen=True, slots=True)
class ClassSpends:
    """What a class of people spent, slot by slot from 1 on; and what is wrong with how they were charged, and where."""

    units: list[int]
    problems: dict[str, int]


def class_spends(people: PersonClass, spent: RowSpends, last: int, unlisted: list[int]) -> ClassSpends:
    """What a class of people spent: in their own rows, and before they were listed in that of the unlisted."""
    units = [*unlisted[: people.unlisted_until], *[0] * (last - people.unlisted_until)][:last]
    in_force = [False] * (last + 1)
    for required in people.requires(last):
        for slot in range(required.first, min(required.last, last) + 1):
            in_force[slot] = required.requirement is not None
    row_of = _rows(people.row_assignments, last)
    problems: dict[str, int] = {}
    for slot, charges in spent.items():
        row = row_of[slot]
        if 0 <= row < charges.size:
            units[slot - 1] += int(charges[row])
            if not in_force[slot]:
                problems.setdefault("a person was counted in a row without a requirement in force", slot)
        elif in_force[slot]:
            problems.setdefault("a person with a requirement in force was not charged", slot)
    return ClassSpends(units, problems)


def promises(people: PersonClass, last: int, carry: int) -> Iterator[tuple[Requirement, list[Promise]]]:
    """Every promise to a class of people up to a slot, with windows widened where people are carried."""
    for required in people.requires(last):
        requirement, first, end = required.requirement, required.first, required.last
        if requirement is None or end < first:
            continue
        if isinstance(requirement, Fixed):
            yield requirement, [FixedPromise(requirement.units, requirement.window + carry - 1, first, end)]
        else:
            sides = [(side.units, side.window + carry - 1) for side in (requirement.backward, requirement.forward)]
            yield requirement, [DynamicPromise(slot, *sides[0], *sides[1]) for slot in range(first, end + 1)]


def _rows(row_assignments: Sequence[tuple[int, int]], last: int) -> list[int]:
    """The row of every slot from 0 on, -1 for none."""
    row_of = [-1] * (last + 1)
    ends = [from_slot for from_slot, _ in row_assignments[1:]] + [last + 1]
    for (from_slot, row), end in zip(row_assignments, ends, strict=bool(row_assignments)):
        row_of[from_slot : min(end, last + 1)] = [row] * (min(end, last + 1) - from_slot)
    return row_of
