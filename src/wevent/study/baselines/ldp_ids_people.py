"""LDP-IDS by dividing the people: places come in, unbiased counts or the last ones again go out.

Whoever is asked reports with the whole budget, and is not asked again while that report is in the window. Who is
asked is public, drawn without a look at where anybody is. [Ren22].
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
        Nobody is asked twice within w slots.
        Who is asked depends on seed, register and past decisions, never on where anybody is.
    """

    feeds: ClassVar[Literal["rows", "people"]] = "people"

    def open_rows(self, register: Register) -> None:
        """One row for each person, and public randomness to draw people by."""
        one = np.ones(self.people, np.int64)
        self.ledger.open_fixed(one * self.common.units, one * self.common.window, one)
        coins = self.noise.bernoulli(np.full(128, 1 << (PROBABILITY_BITS - 1), np.int64))
        self.public = np.random.default_rng(int.from_bytes(np.packbits(coins).tobytes()))

    def wish(self, first: People, second: People, *, nullified: bool = False) -> DesiredSpend:
        """The whole budget of everybody who is asked in part 1 or part 2."""
        change_budget, publish_budget = np.zeros((2, self.people), np.int64)
        change_budget[first] = publish_budget[second] = self.common.units
        return DesiredSpend(change_budget, publish_budget, nullified)

    def asked(self, data: Counts, spends: npt.NDArray[np.int64]) -> Counts:
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
        return self.wish(nobody, self._turns[(self.ledger.slot - 1) % w :: w])

    def draw(self, data: Counts, offer: Offer) -> npt.NDArray[np.float64] | None:
        """What the group reports."""
        group = self.asked(data, offer.publish_budget)
        return self.ask(group, self.common.units).counts if group.any() else None


class AdaptivePeople(PeopleDivision):
    """Some people tell whether the stream moved; more of them are asked if it did.

    N/(2w) people are asked for part 1 in every slot. If that is no whole number, one more or less, so that w slots
    ask half of all; with fewer than 2w people some slots ask nobody and repeat the last counts.
    """

    @abstractmethod
    def saved(self, busy: int) -> int | None:
        """How many people publish in the next slot if it moved; None to rest.

        Args:
            busy: how many people were asked in the last w - 1 slots, for whatever part.
        """

    def measured(self, first: int, last: int) -> int:
        """How many people are asked for part 1 in these slots."""
        N, w = self.people, self.common.window
        return last * N // (2 * w) - max(first - 1, 0) * N // (2 * w)

    def propose(self) -> DesiredSpend:
        """People who are drawn from those with their whole budget left."""
        free = np.flatnonzero(self.ledger.room() >= self.common.units)
        measuring = self.measured(self.ledger.slot, self.ledger.slot)
        saved = self.saved(self.people - free.size)
        drawn = self.public.choice(free, measuring + (saved or 0), replace=False)
        return self.wish(drawn[:measuring], drawn[measuring:], nullified=saved is None)

    def draw(self, data: Counts, offer: Offer) -> npt.NDArray[np.float64] | None:
        """New counts if dis > Var(ε, n)."""
        first, second = self.asked(data, offer.change_budget), self.asked(data, offer.publish_budget)
        if not (first.any() and second.any()):
            return None
        epsilon = self.common.units
        if self.moved(self.ask(first, epsilon)) <= self.error(int(second.sum()), epsilon):
            return None
        return self.ask(second, epsilon).counts


class LPD(AdaptivePeople):
    """Local population distribution: half of those whom the publications in the window left. [Ren22]."""

    name: ClassVar[str] = "lpd"

    def saved(self, busy: int) -> int:
        """Half of N/2 less those who published in the last w - 1 slots."""
        t, w = self.ledger.slot, self.common.window
        published = busy - self.measured(t - w + 1, t - 1)
        return (self.people // 2 - published) // 2


class LPA(AdaptivePeople):
    """Local population absorption: take up the people of quiet slots, then rest. [Ren22]."""

    name: ClassVar[str] = "lpa"

    def saved(self, busy: int) -> int | None:
        """The people of the slots since the last publication and its rest, at most N/2."""
        now, N, w = self.ledger.view(), self.people, self.common.window
        rest = max(0, -(-2 * w * int(np.count_nonzero(now.last_spend)) // N) - 1)
        waited = now.slot - now.last_slot - rest
        return N * min(waited, w) // (2 * w) if waited > 0 else None
