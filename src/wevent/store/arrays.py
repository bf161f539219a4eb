"""Encodes arrays of numbers as compressed little-endian bytes, and decodes them exactly.

Counts are whole or fractional. Fractional ones begin with a mark that no compressed array begins with.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.errors import CorruptState

_KINDS = {"i": "<i8", "f": "<f8"}
_FRACTIONAL = b"f"


def encode_array(array: npt.NDArray[Any]) -> bytes:
    """Whole numbers as int64, others as float64, one axis."""
    kind = _KINDS["f" if array.dtype.kind == "f" else "i"]
    return zlib.compress(np.ascontiguousarray(array, dtype=kind).tobytes(), 1)


def decode_integers(data: bytes) -> npt.NDArray[np.int64]:
    """The int64 array again."""
    return np.frombuffer(_inflated(data), "<i8").astype(np.int64)


def decode_floats(data: bytes) -> npt.NDArray[np.float64]:
    """The float64 array again."""
    return np.frombuffer(_inflated(data), "<f8").astype(np.float64)


def encode_counts(array: npt.NDArray[Any]) -> bytes:
    """Counts, whole or fractional."""
    return (_FRACTIONAL if array.dtype.kind == "f" else b"") + encode_array(array)


def decode_counts(data: bytes) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """The counts again: int64 if they were whole, float64 if they were fractional."""
    return decode_floats(data[1:]) if data[:1] == _FRACTIONAL else decode_integers(data)


def _inflated(data: bytes) -> bytes:
    try:
        plain = zlib.decompress(data)
    except (zlib.error, TypeError):
        plain = b"?"
    if len(plain) % 8:
        raise CorruptState("an array in the store is damaged; restore the store from a whole copy")
    return plain
