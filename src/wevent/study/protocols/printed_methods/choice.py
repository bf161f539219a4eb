"""Chooses thresholds and draws samples and noise, NOT PRIVATE, as the released code did.

OBS, SM and DC of [Du25] for many segments at once, with continuous noise; SPEC §§3–4 have the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from wevent.study.protocols.printed_methods.segments import Array, Floats


@dataclass(frozen=True, slots=True)
class PrintedChoice:
    """The threshold of least error in each segment, and that error; 0 and infinite where nobody offers anything."""

    threshold: Floats
    error: Floats


def choose(budgets: Floats, sizes: Array) -> PrintedChoice:
    """The best threshold of each segment.

    Args:
        budgets: on offer (axes: segment, type).
        sizes: registered people (axes: type).
    """
    grown = np.expm1(budgets)
    offered = budgets > 0
    safe = np.where(offered, budgets, 1.0)
    # Axes: segment, candidate, type.
    kept = np.minimum(grown[:, None, :] / np.where(offered, grown, 1.0)[:, :, None], 1.0)
    lost = sizes * (1 - kept)
    error = (lost * kept).sum(axis=2) + lost.sum(axis=2) ** 2 + 2 / safe**2  # SPEC §3, OBS of [Du25]
    error[~offered] = np.inf
    best = (np.arange(len(budgets)), error.argmin(axis=1))
    return PrintedChoice(np.where(offered[best], budgets[best], 0.0), error[best])


def sample(random: Generator, counts: Array, budgets: Floats, threshold: Floats) -> Array:
    """Keep everybody with the probability of their budget, and count the kept ones (axes: segment, cell).

    Args:
        random: draws the sample.
        counts: true ones (axes: segment, type, cell).
        budgets: axes segment, type.
        threshold: positive (axes: segment).
    """
    chance = np.minimum(np.expm1(budgets) / np.expm1(threshold)[:, None], 1.0)
    return random.binomial(counts, chance[:, :, None]).sum(axis=1)


def measure_change(random: Generator, counts: Array, budgets: Floats, threshold: Floats, shown: Floats) -> Floats:
    """Noisy mean distance of a sample from what is shown (axes: segment); the reference is not rounded."""
    distance = np.abs(sample(random, counts, budgets, threshold) - shown).mean(axis=1)
    return distance + random.laplace(size=len(distance)) / (shown.shape[1] * threshold)  # SPEC §4, DC of [Du25]


def publish(random: Generator, counts: Array, budgets: Floats, threshold: Floats) -> Floats:
    """A fresh sample with noise on each cell (axes: segment, cell)."""
    kept = sample(random, counts, budgets, threshold)
    return kept + random.laplace(size=kept.shape) / threshold[:, None]


def by_error(choice: PrintedChoice) -> Floats:
    """PBD, PBA, DPBD and DPBA publish when the change is above the root of the expected squared error."""
    return np.sqrt(choice.error)


def by_scale(choice: PrintedChoice) -> Floats:
    """BD and BA publish when the change is above the scale of the noise."""
    offered = choice.threshold > 0
    return np.where(offered, 1 / np.where(offered, choice.threshold, 1.0), np.inf)
