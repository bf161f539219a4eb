"""Implements LDP-IDS by dividing the people: LPU, LPD and LPA.

A person reports with the whole budget, and does not report again while that report is in the window. Who reports is
public, and drawn independently of where people are. [Ren22].
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from wevent import Register
from wevent.extend import PROBABILITY_BITS, Counts, Offer
from wevent.study.baselines.base import DesiredSpend
from wevent.study.baselines.local import LocalBaseline

People = npt.NDArray[np.int64]


class PeopleDivision(LocalBaseline):
    """One row of the ledger for each person, by the strictest requirement of all.

    Guarantees:
        Nobody reports twice within w slots.
        Who reports depends on seed, register and past decisions, never on where people are.
    """

    feeds: ClassVar[Literal["rows", "people"]] = "people"

    def open_rows(self, register: Register) -> None:
        """One row for each person, and public randomness to draw people by."""
        ones = np.ones(self.people, np.int64)
        self.ledger.open_fixed(ones * self.common.units, ones * self.common.window, ones)
        coins = self.noise.bernoulli(np.full(128, 1 << (PROBABILITY_BITS - 1), np.int64))
        self.public = np.random.default_rng(int.from_bytes(np.packbits(coins).tobytes()))

    def desired_spend(self, first: People, second: People, *, nullified: bool = False) -> DesiredSpend:
        """The whole budget of everybody who reports, to measure change or to publish."""
        change_budget, publish_budget = np.zeros((2, self.people), np.int64)
        change_budget[first] = publish_budget[second] = self.common.units
        return DesiredSpend(change_budget, publish_budget, nullified)

    def symbols_of(self, data: Counts, spends: npt.NDArray[np.int64]) -> Counts:
        """How many of those who spend their whole budget have each symbol; private (axes: symbol)."""
        return np.bincount(data[np.flatnonzero(spends == self.common.units)], minlength=self.symbols)


class LPU(PeopleDivision):
    """Local population uniform: w groups of people, drawn once, who report in turn. [Ren22].

    With fewer people than w some groups are empty; the last counts are repeated in their slots.
    """

    name: ClassVar[str] = "lpu"

    def open_rows(self, register: Register) -> None:
        """One row for each person, in the order in which they report."""
        super().open_rows(register)
        self._turns = self.public.permutation(self.people)

    def propose(self) -> DesiredSpend:
        """The group whose turn it is."""
        nobody, w = np.empty(0, np.int64), self.common.window
        return self.desired_spend(nobody, self._turns[(self.ledger.slot - 1) % w :: w])

    def draw(self, data: Counts, offer: Offer) -> npt.NDArray[np.float64] | None:
        """What the group reports."""
        group = self.symbols_of(data, offer.publish_budget)
        return self.collect(group, self.common.units).counts if group.any() else None


class AdaptivePeople(PeopleDivision):
    """A few people's reports measure change; more people report if the stream has changed.

    N/(2w) people report to measure change in every slot. If that is no whole number, one more or less, so that w slots
    take half of all; with fewer than 2w people nobody reports in some slots, which repeat the last counts.
    """

    @abstractmethod
    def publishers(self, busy: int) -> int | None:
        """How many people report for a publication in the next slot, if it has changed; None to rest.

        Args:
            busy: how many people reported in the last w - 1 slots, for either purpose.
        """

    def measured(self, first: int, last: int) -> int:
        """How many people report to measure change in these slots."""
        N, w = self.people, self.common.window
        return last * N // (2 * w) - max(first - 1, 0) * N // (2 * w)

    def propose(self) -> DesiredSpend:
        """People who are drawn from those with their whole budget left."""
        free = np.flatnonzero(self.ledger.room() >= self.common.units)
        measuring = self.measured(self.ledger.slot, self.ledger.slot)
        publishers = self.publishers(self.people - free.size)
        drawn = self.public.choice(free, measuring + (publishers or 0), replace=False)
        return self.desired_spend(drawn[:measuring], drawn[measuring:], nullified=publishers is None)

    def draw(self, data: Counts, offer: Offer) -> npt.NDArray[np.float64] | None:
        """New counts if dis > Var(ε, n)."""
        first, second = self.symbols_of(data, offer.change_budget), self.symbols_of(data, offer.publish_budget)
        if not (first.any() and second.any()):
            return None
        epsilon = self.common.units
        if self.distance(self.collect(first, epsilon)) <= self.error(int(second.sum()), epsilon):
            return None
        return self.collect(second, epsilon).counts


class LPD(AdaptivePeople):
    """Local population distribution: half of those whom the publications in the window left. [Ren22]."""

    name: ClassVar[str] = "lpd"

    def publishers(self, busy: int) -> int:
        """Half of N/2 less those who published in the last w - 1 slots."""
        t, w = self.ledger.slot, self.common.window
        published = busy - self.measured(t - w + 1, t - 1)
        return (self.people // 2 - published) // 2


class LPA(AdaptivePeople):
    """Local population absorption: take up the people of quiet slots, then rest. [Ren22]."""

    name: ClassVar[str] = "lpa"

    def publishers(self, busy: int) -> int | None:
        """The people of the slots since the last publication and its rest, at most N/2."""
        view, N, w = self.ledger.view(), self.people, self.common.window
        rest = max(0, -(-2 * w * int(np.count_nonzero(view.last_spend)) // N) - 1)
        waited = view.slot - view.last_slot - rest
        return N * min(waited, w) // (2 * w) if waited > 0 else None
