"""Learns the bias of pooled counts from contrasts, one per publication, and corrects the counts by it (SPEC §14).

Several models of how the bias moves run side by side; one of them says that there is no bias but by chance.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from wevent.decisions.evidence import Evidence
from wevent.releases.models.bank import likelihood_weights, mix_models
from wevent.releases.models.bias import BiasModel, ContrastMix, renewed_part
from wevent.releases.models.dynamics import Floats

_PRIOR_VARIANCES = (0.01, 0.1, 1.0, 4.0)
"""Variances of a relative bias before any contrast; in a cell that only strict or only lenient people visit it is 1."""

_MOVEMENTS = (0.0, 1e-5, 1e-4, 1e-3)
"""The part of that variance by which a bias moves per slot."""

_NO_BIAS = 0.4
"""Prior weight of there being no bias at all."""

_FORGETTING = 0.999
"""Per publication."""

_LEAST_FUTURE = 100.0
"""A contrast is of use for as many slots as the stream has had, and at least for so many."""


def _models() -> tuple[Floats, Floats, Floats, Floats]:
    """Prior variance, movement per slot, chance and prior weight of every model (axes: model, 1)."""
    size, move, chance = (grid.ravel() for grid in np.meshgrid(_PRIOR_VARIANCES, _MOVEMENTS, (0.0, 1.0)))
    weight = np.ones(size.size)
    weight *= (1 - _NO_BIAS) / weight.sum()
    none = np.zeros(2)
    columns = (
        np.concatenate([none, size]),
        np.concatenate([none, size * move]),
        np.concatenate([[0.0, 1.0], chance]),
        np.concatenate([none + _NO_BIAS / 2, weight]),
    )
    return tuple(column[:, None] for column in columns)  # type: ignore[return-value]


class BiasCorrection:
    """The relative bias of each cell, as far as contrasts have shown it (axes: model, cell).

    Guarantees:
        It is a function of public evidence.
        Evidence without leverage passes unchanged.
    """

    def __init__(self, cells: int) -> None:
        self._prior_variance, self._movement, self._chance, self._prior_weight = _models()
        self._mean = np.zeros((self._prior_variance.size, cells))
        self._variance = np.repeat(self._prior_variance, cells, axis=1)
        self._score = np.zeros((self._prior_variance.size, cells))
        self._weight = np.repeat(self._prior_weight, cells, axis=1)
        self._slot = self._gap = self._first = 0  # of publications with leverage; 0 before any
        self._scale = np.ones(cells)
        self._leverage = 0.0

    def correct(self, slot: int, evidence: Evidence, level: Floats, people: int) -> tuple[Evidence, Floats]:
        """Evidence without its bias, and the variance of the correction, which no averaging removes (axes: cell).

        Args:
            slot: of the publication.
            evidence: with or without a contrast.
            level: the estimate of the counts so far (axes: cell).
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
            renewed = renewed_part(np.asarray(evidence.leverage), self._leverage)
            self._variance = self._variance + self._movement * self._gap + self._prior_variance * renewed
        self._slot, self._first, self._leverage = slot, self._first or slot, evidence.leverage
        mean, variance = mix_models(self._weight, self._mean, self._variance)
        variance = variance * unit * unit
        chance = (self._weight * self._chance).sum(axis=0) * unit
        bias, noise, contrast = mean * unit, evidence.variance, evidence.contrast
        if contrast is None:
            return Evidence(evidence.counts - bias, noise + chance), variance
        mix = ContrastMix.best(
            noise, np.full(bias.size, contrast.variance), np.full(bias.size, contrast.offset), variance + chance
        )
        counts = mix.pooled * evidence.counts + mix.contrast * contrast.counts - mix.bias * bias
        left = np.square(mix.bias)
        corrected = Evidence(counts, mix.noise(noise, np.asarray(contrast.variance)) + left * chance)
        rest = 1 - contrast.offset
        self._learn(
            (rest * evidence.counts - contrast.counts) / unit, (rest**2 * noise + contrast.variance) / unit**2, unit
        )
        return corrected, left * variance

    def _learn(self, measured: Floats, noise: Floats, unit: Floats) -> None:
        total = self._variance + self._chance / unit + noise
        surprise = measured - self._mean
        self._score = _FORGETTING * self._score - 0.5 * (np.log(total) + surprise * surprise / total)
        gain = self._variance / total
        self._mean, self._variance = self._mean + gain * surprise, self._variance * (1 - gain)
        self._weight = likelihood_weights(self._weight, self._score, self._prior_weight, len(self._score))

    def model(self) -> BiasModel:
        """The bias of a typical cell."""
        scale = float(np.sqrt(np.square(self._scale).mean()))
        middle = (self._weight * self._mean).sum(axis=0)
        spread = (self._weight * np.square(self._mean - middle)).sum(axis=0).mean()
        return BiasModel(
            scale,
            self._leverage,
            self._prior_variance[:, 0],
            self._variance.mean(axis=1) + spread,
            self._movement[:, 0],
            self._chance[:, 0],
            self._weight.mean(axis=1),
            max(float(self._gap), 1.0),
            max(float(self._slot - self._first), _LEAST_FUTURE),
        )

    def copy(self) -> Self:
        """An independent correction that has learned the same."""
        return copy(self)

    def state(self) -> dict[str, Any]:
        """What the correction has learned, as arrays."""
        return {
            "mean": self._mean,
            "variance": self._variance,
            "score": self._score,
            "weight": self._weight,
            "scale": self._scale,
            "slots": np.array([self._slot, self._gap, self._first]),
            "leverage": np.array([self._leverage]),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._mean, self._variance = state["mean"], state["variance"]
        self._score, self._weight = state["score"], state["weight"]
        self._scale, self._leverage = state["scale"], float(state["leverage"][0])
        self._slot, self._gap, self._first = state["slots"].tolist()
