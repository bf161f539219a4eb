"""What the people of the simulated city ask for: sizes and a seed come in, wishes and promises go out."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from wevent.budgets.feasibility import DynamicPromise, FixedPromise, Promise
from wevent.cohorts.requirement import Dynamic, Fixed, Levels, Requirement

LEVELS = Levels({"Strict": 0.5, "Usual": 1.0, "Open": 2.0}, {"Hour": 4, "Evening": 12, "Night": 24})
"""What people pick from: budgets and windows by name; a slot is a quarter of an hour."""

STRICTEST = LEVELS.fixed("Strict", "Night")
"""Whoever serves this serves every level."""

_ALL = [LEVELS.fixed(budget, window) for budget in LEVELS.budgets for window in LEVELS.windows]


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody asks for from a slot on; `None` stands for not being registered."""

    slot: int
    person: int
    requirement: Requirement | None


class Wishes:
    """Everybody's wishes, in order of slots.

    Guarantees:
        The same arguments give the same wishes.
        Every level is asked for at the start, so that every window is remembered from the first slot on.
    """

    def __init__(self, people: int, slots: int, seed: int, *, dynamic: bool) -> None:
        self._random = np.random.default_rng([seed, 1])
        self._slots = slots
        self._of: dict[int, list[Wish]] = {}
        for person in range(people):
            self._add(1, person, _ALL[person] if person < len(_ALL) else self._level())
        some = max(1, people // 100)
        chosen = len(_ALL) + self._random.permutation(people - len(_ALL))[: 4 * some]
        late, leaving, doubtful, moody = np.split(chosen, 4)
        for person in late.tolist():
            self._of[person] = []
            self._add(self._later(), person, self._level())
        for person in leaving.tolist():
            gone = self._later()
            self._add(gone, person, None)
            if person % 2:
                self._add(gone + 1 + int(self._random.integers(12)), person, self._level())
        for person in doubtful.tolist():
            self._add(self._later(), person, self._level())
        for person in moody.tolist() if dynamic else ():
            self._moods(person)
        self._in: dict[int, list[Wish]] = defaultdict(list)
        for wishes in self._of.values():
            for wish in wishes:
                self._in[wish.slot].append(wish)

    def at(self, slot: int) -> list[Wish]:
        """The wishes that hold from `slot` on."""
        return self._in.get(slot, [])

    def promises(self, person: int) -> list[Promise]:
        """Everything that somebody was promised in the slots of this run."""
        made: list[Promise] = []
        wishes = self._of[person]
        for place, wish in enumerate(wishes):
            end = wishes[place + 1].slot - 1 if place + 1 < len(wishes) else self._slots
            if isinstance(wish.requirement, Fixed):
                made.append(FixedPromise(wish.requirement.units, wish.requirement.window, wish.slot, end))
            elif isinstance(wish.requirement, Dynamic):
                ahead, back = wish.requirement.forward, wish.requirement.backward
                sides = (back.units, back.window, ahead.units, ahead.window)
                made += [DynamicPromise(slot, *sides) for slot in range(wish.slot, end + 1)]
        return made

    def _moods(self, person: int) -> None:
        """Dynamic from the start, with a new wish every two hours; fixed in the last quarter."""
        self._of[person] = []
        settles = 1 + 3 * self._slots // 4
        for slot in range(1, settles, 8):
            self._add(slot, person, LEVELS.dynamic(forward=self._names(), backward=self._names()))
        self._add(settles, person, self._level())

    def _add(self, slot: int, person: int, requirement: Requirement | None) -> None:
        if slot <= self._slots:
            self._of.setdefault(person, []).append(Wish(slot, person, requirement))

    def _later(self) -> int:
        """Some slot after the first."""
        return 2 + int(self._random.integers(max(1, self._slots - 1)))

    def _level(self) -> Fixed:
        return LEVELS.fixed(*self._names())

    def _names(self) -> tuple[str, str]:
        return str(self._random.choice(list(LEVELS.budgets))), str(self._random.choice(list(LEVELS.windows)))
