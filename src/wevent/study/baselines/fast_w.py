"""Implements FAST_w: it samples a few slots with noise and smooths the samples by a filter.

[Fan14] samples a finite series, filters the noise and sets the next sample by how much the filter had to correct.
[Schaeler23] runs it over blocks of w slots with half the budget each, since a window can touch two blocks. One clock
serves all cells: with a clock for each cell, a person who moves would pay in several of them; its error is the mean of
the cells' relative corrections. Where the papers leave a rule open it is that of the code of [Schaeler23]: each block
begins anew, and the controller waits until it has five errors, so that the first six samples are in a row.

Scales. A sample is the histogram plus discrete Laplace noise of scale s·M/(E/2), s the sensitivity of one histogram;
the filter's constants are those of the sources, whatever s is.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Sequence
from typing import ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from wevent import Register
from wevent.extend import Counts, Offer, as_fraction
from wevent.study.baselines.base import Baseline, BaselineOptions, DesiredSpend

SAMPLES_PER_SLOT = 75, 1000
"""M/w as a quotient of whole numbers."""
P0, Q, R = 100.0, 1e5, 1e6
"""First variance of the estimate, variance of the process in a slot, variance of a sample."""
PROPORTIONAL, INTEGRAL, ERRORS = 0.9, 0.1, 5
"""Gains of the controller and how many errors it remembers."""
STRETCH, SET_POINT = 5.0, 0.1
"""How far an interval may grow at once, and the error at which it stays."""


class Fast(Baseline):
    """Adaptive sampling and filtering in blocks of w slots.

    Only samples, which are noisy, cross slots.

    Guarantees:
        A block of w slots pays at most floor(E/2), so that a window, which touches two, pays at most E.
        When a slot is sampled depends on earlier samples alone.
    """

    name: ClassVar[str] = "fast"

    def __init__(self, register: Register, cells: int | Sequence[Hashable], **options: Unpack[BaselineOptions]) -> None:
        super().__init__(register, cells, **options)
        many, slots = SAMPLES_PER_SLOT
        self.samples = max(1, many * self.common.window // slots)
        """How many slots of a block are sampled at most (M)."""
        self._price = self.common.units // 2 // self.samples
        self._block = -1
        self._sampled = 0
        self._variance = P0
        self._errors: deque[float] = deque(maxlen=ERRORS)
        self.interval = 1
        """Slots from one sample to the next."""

    def propose(self) -> DesiredSpend:
        """The price of a sample in slots that are due, nothing elsewhere."""
        block, into = divmod(self.ledger.slot - 1, self.common.window)
        taken = int(np.count_nonzero(self.paid()[self.common.window - 1 - into :]))  # lost ones are paid for too
        due = block != self._block or self.ledger.slot >= self._sampled + self.interval
        price = self._price if due and taken < self.samples else 0
        return DesiredSpend(np.zeros(1, np.int64), np.array([price], np.int64))

    def draw(self, data: Counts, offer: Offer) -> npt.NDArray[np.float64] | None:
        """Sample and correct if the slot is due."""
        epsilon = int(offer.publish_budget[0])
        if epsilon == 0:
            return None
        total = data.sum(axis=0)
        seen = self.noise.laplace(total, sensitivity=self.privacy.sensitivity, epsilon=as_fraction(epsilon))
        block = (offer.slot - 1) // self.common.window
        if block != self._block:  # the first sample of a block starts the filter
            self._block, self._sampled = block, offer.slot
            self._variance, self.interval = P0, 1
            self._errors.clear()
            return seen.astype(np.float64)
        return self._correct(seen.astype(np.float64), offer.slot)

    def _correct(self, seen: npt.NDArray[np.float64], slot: int) -> npt.NDArray[np.float64]:
        """[Fan14]: the Kalman filter's correction, and the controller's next interval."""
        prior = self.shown
        variance = self._variance + Q * (slot - self._sampled)  # one prediction for every slot since
        gain = variance / (variance + R)
        estimate = prior + gain * (seen - prior)
        self._variance, self._sampled = variance * (1 - gain), slot
        self._errors.append(float(np.mean(np.abs(estimate - prior) / np.maximum(estimate, 1))))
        if len(self._errors) == ERRORS:
            self.interval = next_interval(self.interval, self._errors)
        return estimate


def next_interval(interval: int, errors: Sequence[float]) -> int:
    """The next interval from the last one and the last relative corrections, newest last.

    Guarantees:
        At least 1, and at most 3 longer than before.
    """
    error = PROPORTIONAL * errors[-1] + INTEGRAL * sum(errors) / len(errors)  # [Fan14] δ
    grown = STRETCH * (1 - math.exp(min((error - SET_POINT) / SET_POINT, 50.0)))  # beyond 50 it is 1 in any case
    return max(1, interval + int(grown))
