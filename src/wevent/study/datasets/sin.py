"""Gives the probabilities of the data set sin: a sine wave ([Du25] "Datasets")."""

from __future__ import annotations

import numpy as np

from wevent.study.datasets.synthetic import Probabilities, round_half_up


def probabilities(slots: int, rounded: bool = False) -> Probabilities:
    """p_t = 0.05 sin(0.01 t) + 0.075 for t = 1, 2, …; `rounded` as the released code has it (axes: slot)."""
    t = np.arange(1, slots + 1)
    p = 0.05 * np.sin(0.01 * t) + 0.075
    if rounded:
        p = round_half_up(p)
        p[:1] = 0.075  # its first slot takes the initial value as it is
    return p
