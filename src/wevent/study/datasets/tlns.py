"""Gives the probabilities of the data set tlns: a random walk ([Du25] "Datasets")."""

from __future__ import annotations

import math

import numpy as np

from wevent.study.datasets.java_random import JavaRandom
from wevent.study.datasets.synthetic import Probabilities

START, DEVIATION, SEED = 0.05, 0.0025, 1


def walk(slots: int) -> tuple[Probabilities, int]:
    """The walk from its start on, and in how many of its slots it was clipped at 0 or 1.

    Every step is rounded to two decimals, half up, and then clipped: this gives the 8 clipped slots of 10,000 that
    the paper reports; without rounding there would be 19.
    """
    random, p, clipped = JavaRandom(SEED), START, 0
    steps = np.empty(slots)
    for t in range(slots):
        p = math.floor((p + DEVIATION * random.next_gaussian()) * 100 + 0.5) / 100
        if not 0 <= p <= 1:
            p = min(max(p, 0.0), 1.0)
            clipped += 1
        steps[t] = p
    return steps, clipped


def probabilities(slots: int, rounded: bool = False) -> Probabilities:
    """The walk, which is rounded in itself; `rounded` begins with its start, as the released code does (axes: slot)."""
    if rounded:
        return np.append(START, walk(max(slots - 1, 0))[0])[:slots]
    return walk(slots)[0]
