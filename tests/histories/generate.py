"""Generates histories that are steered towards combinations, from a seed and a profile.

Windows are short, so that much happens within them, with a jump to a long one now and then. Requirements come from a
small palette, so that people meet in cohorts. More happens in slots that are a multiple of the span, where rows are
merged.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace

from tests.histories.events import (
    Declare,
    Ending,
    Event,
    FailCharge,
    History,
    HistorySlot,
    Leave,
    Reopen,
    Req,
    Require,
    RequireGroup,
    Restore,
    longest_window,
)
from tests.histories.profiles import COMMON, DYNAMIC, Profile
from tests.oracle import DynamicReq, FixedReq

from wevent.mechanisms import ESTIMATORS

EPSILONS = [10**8, 5 * 10**8, 10**9, 3 * 10**9, 10**10]
ENDINGS = [Ending.PUBLISH] * 6 + [Ending.SKIP] * 2 + [Ending.NATURAL] * 2 + [Ending.LOSE]
_NEVER = 100 * 10**9


class Generator:
    """Draws histories of one profile; the same seed gives the same ones."""

    def __init__(self, profile: Profile, seed: int | str) -> None:
        self._profile, self._rng = profile, random.Random(seed)

    def history(self) -> History:
        """One more history."""
        return _Draft(self._profile, self._rng).history()


class _Draft:
    """A history that is being drawn, with a rough idea of who is listed and how long windows are."""

    def __init__(self, profile: Profile, rng: random.Random) -> None:
        self._profile, self._rng = profile, rng
        self._recipe = rng.choice(profile.recipes)
        self._has_group = rng.random() < profile.group
        self._palette = [self._fixed(self._window()) for _ in range(rng.randint(2, 3))]
        self._users = [f"u{number}" for number in range(rng.randint(3, 6))]
        founders = self._users[: rng.randint(1, len(self._users))] if rng.random() < 0.8 else self._users[:2]
        self._listed: dict[str, Req] = {user: self._requirement() for user in founders}
        if self._recipe in COMMON and rng.random() < 0.8:  # a person so strict that others may change
            self._listed[founders[0]] = FixedReq(10**8, 6)
        self._span = max(map(longest_window, self._listed.values()))
        self._due: defaultdict[int, list[Event]] = defaultdict(list)
        self._endings: dict[int, Ending] = {}

    def history(self) -> History:
        rng, profile = self._rng, self._profile
        founders = tuple(self._listed.items())
        group = self._requirement() if self._has_group else None
        self._span = max(self._span, longest_window(group) if group else 1)
        slots = []
        for number in range(1, rng.randint(*profile.slots) + 1):
            events = [*self._due.pop(number, []), *self._random_events(number)]
            for event in events:
                self._learn(event)
            slots.append(HistorySlot(tuple(events), self._endings.get(number, rng.choice(ENDINGS))))
        return History(
            recipe=self._recipe,
            estimator=rng.choice(list(ESTIMATORS)),
            fast=rng.random() < 0.5,
            infeasible="reject" if rng.random() < profile.reject else "project",
            rest=rng.choice(["all", "own", "own"]),
            history_slots=1 if rng.random() < 0.9 else rng.randint(2, 8),
            founders=founders,
            others=tuple(user for user in self._users if user not in dict(founders)),
            group=group,
            unlisted_again=self._has_group and rng.random() < profile.unlisted_again,
            slots=tuple(slots),
        )

    # --- single events ---------------------------------------------------------------------------

    def _random_events(self, number: int) -> list[Event]:
        rng, profile = self._rng, self._profile
        events: list[Event] = []
        calm = profile.calm if number % self._span else profile.calm / 3
        while rng.random() * (calm + sum(profile.weights.values())) > calm:
            name = _weighted(rng, profile.weights)
            events += self._event(name)
        if profile.motifs and rng.random() < 0.12:
            self._motif(_weighted(rng, profile.motifs), number)
        return events

    def _event(self, name: str) -> list[Event]:
        rng = self._rng
        if name == "require":
            return [Require(rng.choice(self._users), self._requirement())]
        if name == "leave":
            return [Leave(rng.choice(self._users))]
        if name == "list":
            unlisted = [user for user in self._users if user not in self._listed]
            return [Require(rng.choice(unlisted), self._requirement())] if unlisted else []
        if name == "group":
            return [RequireGroup(self._requirement())] if self._has_group else []
        if name == "declare":
            return [self._declaration()]
        if name == "fail":
            after = [Require(rng.choice(self._users), self._requirement())] if rng.random() < 0.7 else []
            return [FailCharge(), *after]
        if name == "reopen":
            return [Reopen(rng.choice([1, 2, 4, 8, 40]))]
        return [self._restore(rng.randint(1, 8))]

    def _restore(self, lost: int) -> Restore:
        return Restore(lost, tuple(user for user in self._users if self._rng.random() < 0.3))

    def _declaration(self) -> Declare:
        """Most people at once, for whatever they like."""
        rng = self._rng
        table = [self._dynamic() for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.2:
            table.append(self._dynamic(back_window=self._span + rng.randint(1, 6)))
        return Declare(tuple(table), tuple((user, rng.randrange(len(table))) for user in self._most()))

    def _beyond(self) -> Declare:
        """All at once: a looser requirement, then a window longer than the span, then one that is tight as well."""
        rng, more = self._rng, self._span + self._rng.randint(1, 6)
        loose = DynamicReq(_NEVER, 1, EPSILONS[-1], rng.randint(1, 2))
        longer = replace(self._dynamic(), back_epsilon=_NEVER, back_window=more)
        tight = DynamicReq(rng.choice(EPSILONS[:4]), rng.randint(self._span + 1, more), rng.choice(EPSILONS), 2)
        chosen = self._most()
        order = sorted(rng.randrange(3) for _ in chosen) if rng.random() < 0.8 else [2] * len(chosen)
        return Declare((loose, longer, tight), tuple(zip(chosen, order, strict=True)))

    def _most(self) -> list[str]:
        return [user for user in self._users if user in self._listed and self._rng.random() < 0.8]

    # --- scripts over several slots ----------------------------------------------------------------

    def _motif(self, name: str, number: int) -> None:
        """Put the events of a script into this slot's future; the rest of the history goes on around them."""
        rng, due = self._rng, self._due
        user, other = rng.sample(self._users, 2)
        met, span = rng.choice(self._palette), self._span
        merge = (number // span + 1 + rng.randint(0, 1)) * span  # rows are merged at multiples of the span
        if name == "merge then longer":
            user, met, young, merge = self._meet(user, number)
            due[merge + rng.randint(1, max(1, young + met.window - 1 - merge))].append(Require(user, self._long(met)))
        elif name == "merge then failed charge":
            _, _, _, merge = self._meet(user, number)
            someone = rng.choice(self._users)
            after: Event = Leave(someone) if rng.random() < 0.3 else Require(someone, self._requirement())
            due[merge] += [FailCharge(), after]
            due[merge + rng.randint(1, 3)].append(Reopen(rng.choice([2, 4, 8])))
        elif name == "change at a multiple of the span":
            due[merge].append(Require(user, self._requirement()))
            due[merge + rng.choice([0, 1, span])].append(Require(user, self._long(met)))
        elif name == "declare beyond the span":
            later = number + span + rng.randint(0, 2)
            for quiet in range(later - span, later):  # what was spent lies beyond the span by then
                self._endings[quiet] = Ending.SKIP
            self._endings[later - span - 1] = Ending.PUBLISH
            due[later].append(self._beyond())
        elif name == "restore after a change":
            lost = rng.randint(1, 6)
            due[number + rng.randint(1, lost)].append(Require(user, self._long(met)))
            due[number + lost + 1].append(self._restore(lost + rng.randint(0, 1)))
        elif name == "restore then return":
            lost, back = rng.randint(1, 6), rng.randint(0, 3)
            due[number + 1 + rng.randint(0, lost)].append(Leave(user))
            due[number + lost + 1].append(self._restore(lost))
            due[number + lost + 2].append(Leave(user))
            due[number + lost + 2 + back].append(Require(user, self._requirement()))
        elif name == "restore then join":
            lost, wait = rng.randint(1, 6), rng.choice([0, 0, rng.randint(1, 8)])
            newcomer, required = self._newcomer(), self._requirement()
            due[number + 1 + rng.randint(0, lost - 1)].append(Require(newcomer, required))
            due[number + lost + 1].append(self._restore(lost))
            again = required if rng.random() < 0.5 else self._requirement()
            due[number + lost + 1 + wait].append(Require(newcomer, again))
        elif name == "restore then tighter":
            lost, wait = rng.randint(1, 6), rng.randint(0, 8)
            due[number + lost + 1].append(self._restore(lost))
            due[number + lost + 1 + wait].append(Require(user, self._tighter()))
            due[number + lost + 3 + wait].append(Require(other, self._long(met)))
        elif name == "listed and back":
            due[number + 1].append(Require(user, self._requirement()))
            due[number + 1 + rng.randint(1, 4)].append(Leave(user))
            due[number + 5 + rng.randint(1, 4)].append(Require(user, self._requirement()))

    def _meet(self, user: str, number: int) -> tuple[str, FixedReq, int, int]:
        """Let a person in a row of their own meet a younger cohort that they may be merged into.

        A burst, then nothing left for a whole window, in which the cohort is born: its spends are then the greater
        ones in every remembered slot. Returns who it is, what both require, the cohort's birth and the slot of the
        merge.
        """
        rng, due = self._rng, self._due
        window = max(3, self._span)
        met = FixedReq(rng.choice(EPSILONS[:4]) + rng.randrange(10**6), window)
        merge = -(-(number + 2 + window) // window) * window
        burst = merge - window - rng.randint(0, 1)
        young = burst + 2 + rng.randint(0, window - 2)
        if rng.random() < 0.8:
            user = user if rng.random() < 0.3 else self._newcomer()
            due[burst].append(Require(user, FixedReq(10**10, 1)))
            self._endings[burst] = Ending.PUBLISH
        due[burst + 1].append(Require(user, met))
        due[young].append(Require(self._newcomer(), met))
        return user, met, young, merge

    def _newcomer(self) -> str:
        """A person who is new to the history."""
        self._users.append(f"n{len(self._users)}")
        return self._users[-1]

    # --- requirements ------------------------------------------------------------------------------

    def _requirement(self) -> Req:
        rng = self._rng
        if self._recipe in DYNAMIC and rng.random() < self._profile.dynamic:
            return self._dynamic()
        if self._recipe in COMMON and rng.random() < 0.5:
            return FixedReq(rng.choice(EPSILONS), rng.randint(1, 5))
        if rng.random() < self._profile.jumps:
            return self._long(rng.choice(self._palette))
        return rng.choice(self._palette) if rng.random() < 0.8 else self._fixed(self._window())

    def _window(self) -> int:
        return self._rng.randint(1, self._profile.windows)

    def _fixed(self, window: int) -> FixedReq:
        return FixedReq(self._rng.choice(EPSILONS), window)

    def _long(self, met: FixedReq) -> Req:
        """A jump to a long window, with little more budget than before."""
        rng = self._rng
        window = rng.choice([rng.randint(7, 12), rng.randint(10, 40)])
        if self._recipe in DYNAMIC and rng.random() < self._profile.dynamic:
            return self._dynamic(back_window=window)
        return FixedReq(rng.choice([max(10**8, met.epsilon // 2), met.epsilon, 3 * 10**9]), window)

    def _tighter(self) -> Req:
        rng = self._rng
        return FixedReq(10**8, rng.randint(2, 6)) if rng.random() < 0.5 else self._requirement()

    def _dynamic(self, back_window: int | None = None) -> DynamicReq:
        rng = self._rng
        forward, window = rng.choice(EPSILONS), self._window()
        if rng.random() < self._profile.jumps:
            window = rng.randint(7, 20)
        if back_window is None and rng.random() < 0.3:
            return DynamicReq(_NEVER, 1, forward, window)
        return DynamicReq(rng.choice(EPSILONS), back_window or self._window(), forward, window)

    def _learn(self, event: Event) -> None:
        """Keep the rough idea up to date."""
        if isinstance(event, Require):
            self._listed[event.user] = event.requirement
            self._span = max(self._span, longest_window(event.requirement))
        elif isinstance(event, Leave):
            self._listed.pop(event.user, None)
        elif isinstance(event, Declare):
            self._span = max(self._span, *map(longest_window, event.table))


def _weighted(rng: random.Random, weights: dict[str, float]) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]
