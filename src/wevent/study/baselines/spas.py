"""Implements SPAS: it releases a slot if a noisy question finds that the stream has changed.

A quarter of the budget pays for questions, three quarters for releases. [Li25] predicts how many releases a window
needs from how far earlier releases lay apart; its questions use the sparse vector technique [Lyu17]. This is its
accounted form: the warm-up pays from the ledger like everything else, the question has its true sensitivity, and what
the question does not use is not spent a second time. `protocols.printed_methods.spas` has the published form.

Not proven: one noisy threshold serves an endless stream, so more answers than the proof of the sparse vector technique
allows, and the number of releases it was made for changes on the way. Budgets are counted, no more than that.

Scales. The question of [Li25] is ‖x_t - x_{t-1}‖₁ / d, of sensitivity Δ = 2s/d with s that of one histogram. Only whole
numbers meet noise here, so the sum itself is measured: d times the mean, d times the scale. The threshold's noise then
has scale 4s/eps_s = d·2Δ/eps_s, the question's 8sc/eps_s = d·4cΔ/eps_s, both of the discrete Laplace distribution.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from wevent import Register
from wevent.extend import NANO, Counts, Offer, as_fraction
from wevent.study.baselines.base import Baseline, BaselineOptions, DesiredSpend

WARM_UP_STEP = 20
"""While warming up every twentieth slot is released."""


class SpasAction(StrEnum):
    """What a slot does, decided by public things alone."""

    RELEASE = "release"
    QUERY = "query"
    REPEAT = "repeat"


@dataclass(frozen=True, slots=True)
class SpasPlan:
    """What a slot does, what a release in it costs in units, and how many releases a window is to have."""

    action: SpasAction
    epsilon: int
    releases: int = 1


class Spas(Baseline):
    """Sparse-vector sampling with a predicted number of releases, accounted.

    Two things cross slots besides the releases: the true counts of the slot before, which the question compares
    with, and the noise of the threshold, drawn once, at the first question. Neither is ever shown.

    Guarantees:
        A window pays at most floor(E/4) for questions and floor(3E/4) for releases.
        What a slot offers depends on earlier releases and spends alone.
    """

    name: ClassVar[str] = "spas"
    proven: ClassVar[bool] = False

    def __init__(self, register: Register, cells: int | Sequence[Hashable], **options: Unpack[BaselineOptions]) -> None:
        super().__init__(register, cells, **options)
        window = self.common.window
        self.query_units = self.common.units // 4
        """Units of a window for the threshold and the questions, half for each (eps_s)."""
        self.release_units = 3 * self.common.units // 4
        """Units of a window for releases (eps_p)."""
        self._share = self.query_units // window
        self._warm_up = self.release_units // math.ceil(window / WARM_UP_STEP)
        self._before = np.zeros(len(self.domain), np.int64)
        self._threshold: int | None = None
        self._jumps: deque[ReleaseJump] = deque()
        self._squares = self._absolutes = 0
        self._plan = SpasPlan(SpasAction.REPEAT, 0)

    def propose(self) -> DesiredSpend:
        """The question's share always; a release's price where one is possible."""
        self._plan = self.plan()
        return DesiredSpend(np.array([self._share], np.int64), np.array([self._plan.epsilon], np.int64))

    def plan(self) -> SpasPlan:
        """What the next slot does."""
        slot, window = self.ledger.slot, self.common.window
        if slot <= window:  # nothing is known yet about how the stream changes
            release = slot % WARM_UP_STEP == 1
            return SpasPlan(SpasAction.RELEASE, self._warm_up) if release else SpasPlan(SpasAction.REPEAT, 0)
        c = self.releases()
        paid = self.paid()
        left = self.release_units - int(paid.sum())
        spending = np.flatnonzero(paid)
        until_refund = int(spending[0]) + 1 if spending.size else window  # L = w - (t - f)
        # [Li25]: as many slots as releases are left, so each of them may be one
        if until_refund <= left * c // self.release_units:
            return SpasPlan(SpasAction.RELEASE, left // until_refund, c)
        epsilon = self.release_units // c
        return SpasPlan(SpasAction.QUERY, epsilon, c) if 0 < epsilon <= left else SpasPlan(SpasAction.REPEAT, 0, c)

    def releases(self) -> int:
        """How many releases the next slot's window is to have: c, from the jumps within the last 2w slots."""
        # Both ends of a jump lie in the window: a jump into slot k begins in slot k - 1.
        while self._jumps and self._jumps[0].slot <= self.ledger.slot - 2 * self.common.window:
            gone = self._jumps.popleft()
            self._squares -= gone.squares
            self._absolutes -= gone.absolutes
        if not self._jumps:
            return 1
        many = len(self._jumps) * len(self.domain)
        variance = Fraction(self._squares, many) - Fraction(self._absolutes, many) ** 2  # V, never below 0
        s = self.privacy.sensitivity
        return max(1, math.floor(self.release_units / NANO / s * math.sqrt(variance / 12)))

    def draw(self, data: Counts, offer: Offer) -> npt.NDArray[np.float64] | None:
        """Query if the plan says so, release if the stream has changed."""
        totals = data.sum(axis=0)
        before, self._before = self._before, totals
        plan, epsilon = self._plan, int(offer.publish_budget[0])
        if plan.action is SpasAction.REPEAT or epsilon == 0:
            return None
        if plan.action is SpasAction.QUERY and not self._has_changed(int(np.abs(totals - before).sum()), plan.releases):
            return None
        fresh = self.noise.laplace(totals, sensitivity=self.privacy.sensitivity, epsilon=as_fraction(epsilon))
        self._note(offer.slot, fresh)
        return fresh.astype(np.float64)

    def _has_changed(self, distance: int, c: int) -> bool:
        """Whether the noisy distance is above the noisy threshold, both d times those of the paper."""
        s, half = self.privacy.sensitivity, Fraction(self.query_units, 2 * NANO)
        if self._threshold is None:
            self._threshold = int(self.noise.laplace([0], sensitivity=2 * s, epsilon=half)[0])
        answer = int(self.noise.laplace([distance], sensitivity=2 * s, epsilon=half / (2 * c))[0])
        return (answer - self._threshold) * self.release_units > len(self.domain) * s * c * NANO  # d·c/eps_p

    def _note(self, slot: int, fresh: Counts) -> None:
        """Keep how far a release lies from the one before; the first slot has none before it."""
        steps = (fresh - self.shown.astype(np.int64)).tolist()
        if slot == 1 or not any(steps):
            return
        jump = ReleaseJump(slot, sum(step * step for step in steps), sum(map(abs, steps)))
        self._jumps.append(jump)
        self._squares += jump.squares
        self._absolutes += jump.absolutes


@dataclass(frozen=True, slots=True)
class ReleaseJump:
    """How far the release of a slot lies from the one before: ‖Δr‖₂² and ‖Δr‖₁, whole numbers that add up exactly."""

    slot: int
    squares: int
    absolutes: int
