"""Computes the error of budget selection threshold by threshold, and random cohorts and publications."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
INF = math.inf
SLACK = 1 + 1e-9
"""Rounding of doubles; every comparison is otherwise exact."""


def least_error(budgets: Floats, sizes: Ints, sensitivity: float = 1) -> float:
    """The error of optimal budget selection (SPEC §3), threshold by threshold; people without budget are lost."""
    errors = [INF]
    for threshold in {float(e) for e in budgets if e > 0}:
        below = budgets < threshold
        p = np.expm1(budgets[below]) / np.expm1(threshold)
        n = sizes[below]
        errors.append(float((n * p * (1 - p)).sum() + (n * (1 - p)).sum() ** 2 + 2 * (sensitivity / threshold) ** 2))
    return min(errors)


def cohorts(rng: np.random.Generator, most: int = 5) -> tuple[Floats, Ints, Ints]:
    """Random epsilons, windows and sizes."""
    m = int(rng.integers(1, most + 1))
    return rng.uniform(0.2, 5, m), rng.integers(1, 7, m), 10 ** rng.integers(0, 5, m)


def random_publications(rng: np.random.Generator, slots: int, window: int, most: int) -> list[int]:
    """Slots, often as early as allowed, with at most `most` of them in any `window` consecutive slots."""
    chosen: list[int] = []
    for t in range(1, slots + 1):
        if sum(t - q < window for q in chosen) < most and rng.random() < 0.8:
            chosen.append(t)
    return chosen
