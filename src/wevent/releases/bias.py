"""Correcting pooled counts: private contrasts come in, one per publication, corrected evidence goes out.

Pooled counts M lean towards lenient people, by C = M - L, if L are the counts as they should be. Every publication
shows M, and beside it L - γM. How far C was before says how much of either to believe: where nothing leans the
pooled counts, where they may lean by anything the sum of both that no lean can change. How C moves is gathered
by a few models, one of which says that there is no lean but by chance.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from wevent.decisions.evidence import Evidence, MeasurementOptions
from wevent.releases.models import Floats

_SIZES = (0.01, 0.1, 1.0, 4.0)
"""Variances of a relative lean before anything is known; 1 is a cell that only strict or only lenient people visit."""

_MOVES = (0.0, 1e-5, 1e-4, 1e-3)
"""How much of that variance a lean moves by per slot."""

_NONE = 0.4
"""What is believed at first in there being no lean at all."""

_FORGETTING = 0.999
"""Per publication."""

_SOON = 100.0
"""What is learned will be of use for as many slots as there were, and at least for so many."""


def _models() -> tuple[Floats, Floats, Floats, Floats]:
    """Size, movement per slot, chance and belief of every model (axes: model, 1)."""
    size, move, chance = (grid.ravel() for grid in np.meshgrid(_SIZES, _MOVES, (0.0, 1.0)))
    belief = np.ones(size.size)
    belief *= (1 - _NONE) / belief.sum()
    none = np.zeros(2)
    columns = (
        np.concatenate([none, size]),
        np.concatenate([none, size * move]),
        np.concatenate([[0.0, 1.0], chance]),
        np.concatenate([none + _NONE / 2, belief]),
    )
    return tuple(column[:, None] for column in columns)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class BiasModel:
    """What is known of the relative lean of a typical cell, for choosing how to measure (axes: model).

    Attributes:
        scale: by which a relative lean is multiplied, beside the leverage, to give people.
        leverage: of the last publication.
        size: variance of the relative lean before anything is known, by each model.
        variance: of it now.
        moves: of it per slot.
        chance: whether people are placed anew in each slot, so that chance adds to every publication.
        weight: of each model.
        gap: slots between the last two publications.
        ahead: slots for which what is learned now will be of use.
    """

    scale: float
    leverage: float
    size: Floats = field(repr=False)
    variance: Floats = field(repr=False)
    moves: Floats = field(repr=False)
    chance: Floats = field(repr=False)
    weight: Floats = field(repr=False)
    gap: float
    ahead: float

    def error(self, ways: MeasurementOptions, gap: Floats | None = None) -> tuple[Floats, Floats]:
        """Of corrected counts, what a filter can average out, and what it cannot, with what will be known by then."""
        gap = np.asarray(self.gap) if gap is None else gap
        people = np.maximum(ways.leverage * self.scale, 1e-9)
        seen = (np.square(1 - ways.offset) * ways.noise + ways.contrast) / np.square(people)
        each = np.maximum(seen[..., None] + self.chance / people[..., None], 1e-30)
        moves = self.moves * gap[..., None]
        turned = unlike(ways.leverage, self.leverage)[..., None] * self.size
        settled = (np.sqrt(np.square(moves) + 4 * moves * each) - moves) / 2
        more = np.maximum(self.variance + turned - settled, 0.0)
        often = self.ahead / gap[..., None]
        later = settled + each / often * np.log1p(often * more / each)  # in the mean until then
        variance = (later @ self.weight) * np.square(people)
        chance = float(self.chance @ self.weight) * people
        mix = Mix.best(ways.noise, ways.contrast, ways.offset, variance + chance)
        left = np.square(mix.lean)
        return mix.noise(ways.noise, ways.contrast) + left * chance, left * variance


def unlike(leverage: Floats, before: float) -> Floats:
    """How much of a relative lean is new where people weigh otherwise than before, as a part of its variance."""
    if before == 0.0:
        return np.zeros(leverage.shape)
    return np.square(np.log(np.maximum(leverage, 1e-9) / before)) / 2


@dataclass(frozen=True, slots=True)
class Mix:
    """How pooled counts M and contrast L - γM are added up; their lean is `lean` times C.

    Guarantees:
        Weights of M and of the contrast give L in the mean if there is no lean.
    """

    of_pooled: Floats
    of_contrast: Floats
    lean: Floats

    @classmethod
    def best(cls, noise: Floats, contrast: Floats, offset: Floats, variance: Floats) -> Self:
        """The sum of least variance if C has mean 0 and such a variance."""
        # With b = 1-γ for what a contrast has of L: weights 1 - b·y and y; the lean is 1 - y.
        b = 1 - offset
        y = (b * noise + variance) / (b * b * noise + contrast + variance)
        return cls(1 - b * y, y, 1 - y)

    def noise(self, noise: Floats, contrast: Floats) -> Floats:
        """Variance of the sum, without that of C."""
        return np.square(self.of_pooled) * noise + np.square(self.of_contrast) * contrast


class Correction:
    """What has been learned about how strict and lenient people differ.

    Guarantees:
        A function of public evidence.
        Evidence without leverage passes unchanged.
    """

    def __init__(self, cells: int) -> None:
        self._size, self._moves, self._chance, self._belief = _models()
        self._mean = np.zeros((self._size.size, cells))
        self._variance = np.repeat(self._size, cells, axis=1)
        self._score = np.zeros((self._size.size, cells))
        self._weight = np.repeat(self._belief, cells, axis=1)
        self._slot = self._gap = self._first = 0
        self._scale = np.ones(cells)
        self._leverage = 0.0

    def correct(self, slot: int, evidence: Evidence, level: Floats, people: int) -> tuple[Evidence, Floats]:
        """Evidence without its lean, and the variance of the correction, which no averaging removes (axes: cell).

        Args:
            slot: of the publication.
            evidence: with or without a contrast.
            level: what is known of the counts so far (axes: cell).
            people: how many are registered.
        """
        if evidence.leverage == 0.0:
            return evidence, np.zeros(level.size)
        # A person is in a cell or not: where nearly everybody is, strict and lenient people cannot differ much.
        inside = np.clip(level, 0.0, people)
        self._scale = np.maximum(inside * (1 - inside / max(people, 1)), 1.0)
        unit = self._scale * evidence.leverage
        if self._slot:
            self._gap = slot - self._slot
            turned = unlike(np.asarray(evidence.leverage), self._leverage)
            self._variance = self._variance + self._moves * self._gap + self._size * turned
        self._slot, self._first, self._leverage = slot, self._first or slot, evidence.leverage
        mean = (self._weight * self._mean).sum(axis=0)
        variance = (self._weight * (self._variance + np.square(self._mean - mean))).sum(axis=0) * unit * unit
        chance = (self._weight * self._chance).sum(axis=0) * unit
        lean, noise, contrast = mean * unit, evidence.variance, evidence.contrast
        if contrast is None:
            return Evidence(evidence.counts - lean, noise + chance), variance
        mix = Mix.best(
            noise, np.full(lean.size, contrast.variance), np.full(lean.size, contrast.offset), variance + chance
        )
        counts = mix.of_pooled * evidence.counts + mix.of_contrast * contrast.counts - mix.lean * lean
        left = np.square(mix.lean)
        corrected = Evidence(counts, mix.noise(noise, np.asarray(contrast.variance)) + left * chance)
        rest = 1 - contrast.offset
        self._learn(
            (rest * evidence.counts - contrast.counts) / unit, (rest**2 * noise + contrast.variance) / unit**2, unit
        )
        return corrected, left * variance

    def _learn(self, seen: Floats, noise: Floats, unit: Floats) -> None:
        total = self._variance + self._chance / unit + noise
        off = seen - self._mean
        self._score = _FORGETTING * self._score - 0.5 * (np.log(total) + off * off / total)
        gain = self._variance / total
        self._mean, self._variance = self._mean + gain * off, self._variance * (1 - gain)
        models, cells = self._score.shape
        often = (self._weight.sum(axis=1, keepdims=True) + models * self._belief) / (cells + models)
        weight = often * np.exp(self._score - self._score.max(axis=0))
        self._weight = weight / weight.sum(axis=0)

    def doubt(self) -> BiasModel:
        """What is known, in short."""
        scale = float(np.sqrt(np.square(self._scale).mean()))
        middle = (self._weight * self._mean).sum(axis=0)
        apart = (self._weight * np.square(self._mean - middle)).sum(axis=0).mean()
        weight = self._weight.mean(axis=1)
        return BiasModel(
            scale,
            self._leverage,
            self._size[:, 0],
            self._variance.mean(axis=1) + apart,
            self._moves[:, 0],
            self._chance[:, 0],
            weight,
            max(float(self._gap), 1.0),
            max(float(self._slot - self._first), _SOON),
        )

    def copy(self) -> Self:
        """An independent one that learned the same."""
        return copy(self)

    def state(self) -> dict[str, Any]:
        """Everything that was learned."""
        times = np.array([self._slot, self._gap, self._first])
        learned = {"mean": self._mean, "variance": self._variance, "score": self._score, "weight": self._weight}
        leverage = np.array([self._leverage])
        return {"learned": learned, "scale": self._scale, "times": times, "leverage": leverage}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with what was learned before."""
        learned = state["learned"]
        self._mean, self._variance = learned["mean"], learned["variance"]
        self._score, self._weight = learned["score"], learned["weight"]
        self._scale, self._leverage = state["scale"], float(state["leverage"][0])
        self._slot, self._gap, self._first = (int(each) for each in state["times"])
