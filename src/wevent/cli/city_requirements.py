"""Draws what the people of the simulated city require in which slots, and lists what they were promised."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from wevent.budgets.feasibility import DynamicPromise, FixedPromise, Promise
from wevent.cohorts.requirement import Dynamic, Fixed, Levels, Requirement
from wevent.cohorts.requirement_change import RequirementChange

LEVELS = Levels({"Strict": 0.5, "Usual": 1.0, "Open": 2.0}, {"Hour": 4, "Evening": 12, "Night": 24})
"""What people pick from: budgets and windows by name; a slot is a quarter of an hour."""

STRICTEST = LEVELS.fixed("Strict", "Night")
"""A publisher that serves this serves every level."""

_ALL = [LEVELS.fixed(epsilon, window) for epsilon in LEVELS.epsilons for window in LEVELS.windows]


class CityRequirements:
    """The requirement changes of all residents, in the order of slots.

    Guarantees:
        The same arguments give the same changes.
        Every level is required from the start, so that every window is remembered from the first slot on.
    """

    def __init__(self, people: int, slots: int, seed: int, *, dynamic: bool) -> None:
        self._random = np.random.default_rng([seed, 1])
        self._slots = slots
        self.users = [f"resident-{person:05d}" for person in range(people)]
        self._of: dict[int, list[RequirementChange]] = {}  # by resident, in the order of slots
        for person in range(people):
            self._add(1, person, _ALL[person] if person < len(_ALL) else self._level())
        hundredth = max(1, people // 100)
        chosen = len(_ALL) + self._random.permutation(people - len(_ALL))[: 4 * hundredth]
        late, leaving, changing, dynamic_residents = np.split(chosen, 4)
        for person in late.tolist():
            self._of[person] = []
            self._add(self._later(), person, self._level())
        for person in leaving.tolist():
            gone = self._later()
            self._add(gone, person, None)
            if person % 2:
                self._add(gone + 1 + int(self._random.integers(12)), person, self._level())
        for person in changing.tolist():
            self._add(self._later(), person, self._level())
        for person in dynamic_residents.tolist() if dynamic else ():
            self._change_often(person)
        self._in: dict[int | None, list[RequirementChange]] = defaultdict(list)  # by slot
        for changes in self._of.values():
            for change in changes:
                self._in[change.slot].append(change)

    def at(self, slot: int) -> list[RequirementChange]:
        """The changes that are in force from `slot` on."""
        return self._in.get(slot, [])

    def promises(self, person: int) -> list[Promise]:
        """Everything that one resident was promised in the slots of this run."""
        made: list[Promise] = []
        begins = [change.slot or 1 for change in self._of[person]]
        ends = [*(begin - 1 for begin in begins[1:]), self._slots][: len(begins)]
        for change, begin, end in zip(self._of[person], begins, ends, strict=True):
            required = change.requirement
            if isinstance(required, Fixed):
                made.append(FixedPromise(required.units, required.window, begin, end))
            elif isinstance(required, Dynamic):
                back, ahead = required.backward, required.forward
                sides = (back.units, back.window, ahead.units, ahead.window)
                made += [DynamicPromise(slot, *sides) for slot in range(begin, end + 1)]
        return made

    def _change_often(self, person: int) -> None:
        """Dynamic from the start, with a change every two hours; fixed in the last quarter."""
        self._of[person] = []
        settles = 1 + 3 * self._slots // 4
        for slot in range(1, settles, 8):
            self._add(slot, person, LEVELS.dynamic(forward=self._names(), backward=self._names()))
        self._add(settles, person, self._level())

    def _add(self, slot: int, person: int, requirement: Requirement | None) -> None:
        if slot <= self._slots:
            self._of.setdefault(person, []).append(RequirementChange(self.users[person], requirement, slot))

    def _later(self) -> int:
        """A slot after the first."""
        return 2 + int(self._random.integers(max(1, self._slots - 1)))

    def _level(self) -> Fixed:
        return LEVELS.fixed(*self._names())

    def _names(self) -> tuple[str, str]:
        return str(self._random.choice(list(LEVELS.epsilons))), str(self._random.choice(list(LEVELS.windows)))
