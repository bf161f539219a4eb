"""Models the bias of pooled counts towards lenient people, and mixes counts and contrast by it (SPEC §12).

L are the unbiased counts, M the pooled ones, and C = M - L is the bias. Every publication shows M, and beside it the
contrast L - γM. The variance of C decides how much of either counts: without a bias the pooled counts, with a bias of
any size the one sum of both that no bias can change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from wevent.decisions.evidence import ForecastError, MeasurementOptions
from wevent.releases.models.dynamics import Floats


@dataclass(frozen=True, slots=True)
class BiasModel:
    """The relative bias of a typical cell by each model, for choosing how to measure (axes: model).

    Attributes:
        scale: a relative bias times scale and leverage is a number of people.
        leverage: of the last publication.
        prior_variance: of the relative bias before the first contrast.
        variance: of it after the last contrast.
        movement: variance that it gains per slot.
        chance: 1 if people are placed anew in each slot, so that chance adds to every publication; otherwise 0.
        weight: of each model.
        gap: slots between the last two publications.
        future_slots: slots for which a contrast measured now is of use.
    """

    scale: float
    leverage: float
    prior_variance: Floats = field(repr=False)
    variance: Floats = field(repr=False)
    movement: Floats = field(repr=False)
    chance: Floats = field(repr=False)
    weight: Floats = field(repr=False)
    gap: float
    future_slots: float

    def error(self, options: MeasurementOptions, gap: Floats | None = None) -> ForecastError:
        """Expected squared error of corrected counts, with the contrasts measured until then."""
        gap = np.asarray(self.gap) if gap is None else gap
        people = np.maximum(options.leverage * self.scale, 1e-9)
        measured = (np.square(1 - options.offset) * options.noise + options.contrast) / np.square(people)
        each = np.maximum(measured[..., None] + self.chance / people[..., None], 1e-30)
        movement = self.movement * gap[..., None]
        renewed = renewed_part(options.leverage, self.leverage)[..., None] * self.prior_variance
        settled = (np.sqrt(np.square(movement) + 4 * movement * each) - movement) / 2
        excess = np.maximum(self.variance + renewed - settled, 0.0)
        publications = self.future_slots / gap[..., None]
        later = settled + each / publications * np.log1p(publications * excess / each)  # in the mean until then
        variance = (later @ self.weight) * np.square(people)
        chance = float(self.chance @ self.weight) * people
        mix = ContrastMix.best(options.noise, options.contrast, options.offset, variance + chance)
        left = np.square(mix.bias)
        return ForecastError(mix.noise(options.noise, options.contrast) + left * chance, left * variance)


def renewed_part(leverage: Floats, before: float) -> Floats:
    """The part of a relative bias's variance that is new, because people weigh otherwise than before."""
    if before == 0.0:
        return np.zeros(leverage.shape)
    return np.square(np.log(np.maximum(leverage, 1e-9) / before)) / 2


@dataclass(frozen=True, slots=True)
class ContrastMix:
    """Weights with which pooled counts M and contrast L - γM are added; the sum is biased by `bias` times C.

    Guarantees:
        The sum is L in the mean if there is no bias.
    """

    pooled: Floats
    contrast: Floats
    bias: Floats

    @classmethod
    def best(cls, noise: Floats, contrast: Floats, offset: Floats, variance: Floats) -> Self:
        """The sum of least variance if C has mean 0 and this variance; `noise` and `contrast` are variances too."""
        # With b = 1-γ for the part of L in a contrast: weights 1 - b·y and y; the bias is 1 - y.
        b = 1 - offset
        y = (b * noise + variance) / (b * b * noise + contrast + variance)
        return cls(1 - b * y, y, 1 - y)

    def noise(self, noise: Floats, contrast: Floats) -> Floats:
        """Variance of the sum, without that of C."""
        return np.square(self.pooled) * noise + np.square(self.contrast) * contrast
