"""Counts randomised reports, NOT PRIVATE, and leaves their bias in.

PLBU as the released code of [Du25] had it: everybody answers by generalized randomized response with the least
E_i/w_i of all, and the reports are counted as if they were the truth.
"""

from __future__ import annotations

import math

import numpy as np

from wevent.study.protocols.printed_methods.segments import Array


def report(counts: Array, people: int, epsilon: float, random: np.random.Generator) -> Array:
    """Count the reports of everybody (axes: slot, cell).

    A person keeps the true cell with probability p-q and else names any cell, all alike, which is the same law as
    naming the true cell with p and each other one with q. An absent person names any cell.

    Args:
        counts: true ones (axes: slot, cell).
        people: registered.
        epsilon: of one report.
        random: draws everything.
    """
    cells = counts.shape[1]
    kept = random.binomial(counts, math.expm1(epsilon) / (math.exp(epsilon) + cells - 1))
    return kept + random.multinomial(people - kept.sum(axis=1), np.full(cells, 1 / cells))
