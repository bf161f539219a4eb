"""Finds the fullest window, NOT PRIVATE, in what draws really cost."""

from __future__ import annotations

import numpy as np

from wevent.study.protocols.printed_methods.segments import Array, Floats


def fullest(spent: Floats, epsilon: Floats, window: Array) -> float:
    """The largest sum over a type's window, over its budget; windows reach across segments, as people do.

    Args:
        spent: in the order of the run (axes: slot, type).
        epsilon: what a window may hold that begins in a slot (axes: type, or slot and type).
        window: how many slots it has (axes: type, or slot and type).
    """
    slots, types = spent.shape
    totals = np.vstack([np.zeros(types), spent.cumsum(axis=0)])
    start = np.arange(slots)[:, None]
    end = np.minimum(start + window, slots)
    return float(((totals[end, np.arange(types)] - totals[:-1]) / epsilon).max())
