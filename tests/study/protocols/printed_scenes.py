"""Streams and requirements that the tests of protocol `printed` share."""

from __future__ import annotations

import numpy as np

from wevent.cohorts.requirement import Fixed
from wevent.study.requirements import StudyRequirements


def requirements_of(*own: tuple[float, int], size: int = 100) -> StudyRequirements:
    """Types of one size that never move."""
    common = Fixed(min(e for e, _ in own), max(w for _, w in own))
    return StudyRequirements(common, tuple(Fixed(*pair) for pair in own), np.repeat(np.arange(len(own)), size))


def jumpy(slots: int, sizes: list[int], seed: int) -> np.ndarray[tuple[int, int, int], np.dtype[np.int64]]:
    """Counts that jump in every slot (axes: slot, type, cell)."""
    random = np.random.default_rng(seed)
    ones = random.binomial(sizes, random.random((slots, 1)))
    return np.stack([np.array(sizes) - ones, ones], axis=2)
