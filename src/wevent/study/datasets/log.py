"""Gives the probabilities of the data set log: a logistic curve ([Du25] "Datasets")."""

from __future__ import annotations

import numpy as np

from wevent.study.datasets.synthetic import Probabilities, round_half_up


def probabilities(slots: int, rounded: bool = False) -> Probabilities:
    """p_t = 0.25 / (1 + exp(-0.01 t)) for t = 1, 2, …; `rounded` as the released code has it (axes: slot)."""
    t = np.arange(1, slots + 1)
    p = 0.25 / (1 + np.exp(-0.01 * t))
    if rounded:
        p = round_half_up(p)
        p[:1] = 0.25  # its first slot takes the height of the curve
    return p
