"""Implements frequency oracles: randomised reports, and unbiased counts with their variance.

Everybody hides their own symbol before it leaves them; here the reports of all people of a group are drawn at
once, by a few binomial draws, from exactly the law that they would have one by one. Groups have budgets of their own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from wevent.errors import InvalidSetting, WrongShape
from wevent.extend import NANO, PROBABILITY_BITS, Counts, Noise, Units

Floats = npt.NDArray[np.float64]

_CERTAIN = 1 << PROBABILITY_BITS
_HALF = _CERTAIN >> 1
_MARGIN = 1 - 2.0**-44
"""Covers the rounding of doubles, budgets up to 100 and the halvings below, always on the private side."""


@dataclass(frozen=True, slots=True)
class OracleEstimate:
    """What the reports say (axes: group, symbol).

    Attributes:
        counts: how many people have each symbol; unbiased, and may be negative.
        variance: of each of these counts; an unbiased estimate, too.
    """

    counts: Floats = field(repr=False)
    variance: Floats = field(repr=False)


class FrequencyOracle(ABC):
    """How people of several groups report one of some symbols, each group with a budget of its own.

    Guarantees:
        Whatever a person's symbol is changed into, no report of theirs becomes likelier by more than e^epsilon,
        exactly: chances are whole multiples of 2⁻⁶², rounded to the private side.
        Supports follow the law that they have if everybody reports alone.
        The expectation of `OracleEstimate.counts` is the true counts, up to the errors of doubles.

    Attributes:
        symbols: how many there are.
        gap: how much likelier a report supports its own symbol than another one, p - q (axes: group).
        other: the chance that it supports another one, q (axes: group).
        spread: variance that each report adds to the estimate of a symbol that it does not have (axes: group).
        extra: and by how much more to that of its own symbol (axes: group).
    """

    name: ClassVar[str]

    def __init__(self, budgets: Units, symbols: int) -> None:
        if symbols < 1 or budgets.min(initial=1) < 1:
            raise InvalidSetting("a report needs a symbol and at least one unit of budget. Nothing was drawn.")
        self.symbols = symbols
        self.gap, self.other = self._chances(budgets)
        # [Wang17]: the variance of n_v is linear in n_v, with p(1-p) - q(1-q) = (p-q)(1-p-q).
        self.spread = self.other * (1 - self.other) / self.gap**2
        self.extra = (1 - self.gap - 2 * self.other) / self.gap

    @abstractmethod
    def _chances(self, budgets: Units) -> tuple[Floats, Floats]:
        """Fix the chances of all draws; p - q and q as they really are."""

    @abstractmethod
    def _draw(self, counts: Counts, noise: Noise) -> Counts:
        """The supports."""

    def supports(self, counts: Counts, noise: Noise) -> Counts:
        """How many reports support each symbol, for so many people of each (axes: group, symbol)."""
        if counts.shape != (shape := (self.gap.size, self.symbols)):
            raise WrongShape(f"counts must be of shape {shape}, got {counts.shape}. Nothing was drawn.")
        return self._draw(counts, noise)

    def read(self, supports: Counts, people: Counts) -> OracleEstimate:
        """Remove the bias from the supports of so many people in each group (axes of `people`: group)."""
        counts = (supports - (people * self.other)[:, None]) / self.gap[:, None]
        return OracleEstimate(counts, (people * self.spread)[:, None] + counts * self.extra[:, None])

    def error(self, people: Counts) -> Floats:
        """Variance of the counts of so many people, mean over all symbols; known beforehand (axes: group)."""
        return people * (self.spread + self.extra / self.symbols)


class GRR(FrequencyOracle):
    """Generalized randomized response: report the truth, or a symbol at random. [Wang17].

    A person keeps their symbol with chance (e^ε - 1)/(e^ε + k - 1) and else draws any of the k symbols alike, their
    own among them. What strays does not depend on the truth, so all who stray are spread together.
    """

    name: ClassVar[str] = "grr"

    def _chances(self, budgets: Units) -> tuple[Floats, Floats]:
        more = np.expm1(budgets / NANO)
        self._keep = _floor(more / (more + self.symbols))
        return _chance(self._keep), _chance(_CERTAIN - self._keep) / self.symbols

    def _draw(self, counts: Counts, noise: Noise) -> Counts:
        kept = noise.binomial(counts, self._keep[:, None])
        strayed = (counts - kept).sum(axis=1, keepdims=True)
        for chances, inhabited in _halvings(self.symbols):
            left = noise.binomial(strayed, chances)
            strayed = np.stack([left, strayed - left], axis=-1).reshape(counts.shape[0], -1)[:, inhabited]
        return np.asarray(kept + strayed)


class OUE(FrequencyOracle):
    """Optimized unary encoding: one bit per symbol, the true one by a fair coin. [Wang17].

    Every other bit is 1 with chance q = 1/(e^ε + 1). What is rounded down is 1/2 - q = tanh(ε/2)/2.
    """

    name: ClassVar[str] = "oue"

    def _chances(self, budgets: Units) -> tuple[Floats, Floats]:
        self._flip = _HALF - _floor(np.tanh(budgets / (2 * NANO)) / 2)
        return _chance(_HALF - self._flip), _chance(self._flip)

    def _draw(self, counts: Counts, noise: Noise) -> Counts:
        elsewhere = counts.sum(axis=1, keepdims=True) - counts
        own = noise.binomial(counts, np.int64(_HALF))
        return np.asarray(own + noise.binomial(elsewhere, self._flip[:, None]))


def kind_for(budget: int, symbols: int) -> type[FrequencyOracle]:
    """The oracle of less variance for a budget in units. [Wang17]."""
    return OUE if symbols > 3 * math.exp(budget / NANO) + 2 else GRR


def _floor(chances: Floats) -> Counts:
    """Multiples of 2⁻⁶² that are never above the exact chances."""
    return np.asarray(np.floor(np.ldexp(chances * _MARGIN, PROBABILITY_BITS)).astype(np.int64))


def _chance(multiples: Counts) -> Floats:
    return np.asarray(np.ldexp(multiples.astype(np.float64), -PROBABILITY_BITS))


@lru_cache(maxsize=64)
def _halvings(symbols: int) -> tuple[tuple[Counts, Counts], ...]:
    """How to spread people evenly: per level, the chance to go left at each node, and which children have symbols.

    The chances are rounded to the nearest multiple of 2⁻⁶², so a symbol's share is off by less than 2⁻⁵⁵ of itself.
    """
    levels = []
    nodes = [symbols]
    while max(nodes) > 1:
        chances = [(_CERTAIN * ((size + 1) // 2) + size // 2) // size for size in nodes]
        children = [child for size in nodes for child in ((size + 1) // 2, size // 2)]
        levels.append((np.array(chances, np.int64), np.flatnonzero(children)))
        nodes = [child for child in children if child]
    return tuple(levels)
