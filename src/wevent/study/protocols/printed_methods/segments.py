"""Cuts a stream into segments of 250 slots, NOT PRIVATE, that share nothing.

The released code of [Du25] handed segments to threads and started everything anew in each of them. Here all
segments take their first slot together, then their second, and so on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

LENGTH = 250
"""Slots in a segment."""

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def cut(stream: Array) -> Array:
    """Cut (slot, …) into (segment, slot of the segment, …); slots that a last segment lacks are filled with 0.

    Guarantees:
        What is drawn for the filled slots comes after all others of that segment, so it changes nothing.
    """
    segments = -(-len(stream) // LENGTH)
    padded = np.zeros((segments * LENGTH, *stream.shape[1:]), stream.dtype)
    padded[: len(stream)] = stream
    return padded.reshape(segments, LENGTH, *stream.shape[1:])


def join(segments: Array, slots: int) -> Array:
    """Put (segment, slot of the segment, …) together to (slot, …) again, without the filled slots."""
    return segments.reshape(-1, *segments.shape[2:])[:slots]
