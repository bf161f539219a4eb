"""Defines the structs of arrays that the kernels take, and how kernels are compiled.

`wevent.budgets.individual` lists every array. A struct is a named tuple; kernels write to its arrays in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
import numpy.typing as npt

from wevent.units import UNBOUNDED, Units

Int64s = npt.NDArray[np.int64]
Codes = npt.NDArray[Any]
Marks = npt.NDArray[np.bool_]

BLOCK = 8
"""Rows that lie side by side in a ring."""
LATER = 3
"""How many values of the least left in later slots are kept per row."""
BIG = np.int64(UNBOUNDED)
FOREVER = np.int64(2**62)
NOT_RESTING, IRREGULAR = 1, 2
"""Flags: proven not to rest until the next publication; may have spent more than the least share as change budget."""


class LevelArrays(NamedTuple):
    """The dynamic requirements in use (axes: level)."""

    backward: Units
    backward_window: Int64s
    half: Units
    forward: Units
    forward_window: Int64s
    share: Units


class PastArrays(NamedTuple):
    """What rows declared and spent in the last slots, exactly."""

    declared: Codes
    change_codes: Codes
    irregular_rows: npt.NDArray[np.int32]
    irregular_values: Units
    irregular_index: Int64s
    published: Int64s
    publish_spends: Units
    newest: int
    publications: int
    irregular_code: int
    span: int
    known: int
    forgotten: int
    slot: int
    longest: int


class RowArrays(NamedTuple):
    """How each row stands (axes: row)."""

    sizes: Int64s
    born: Int64s
    flags: npt.NDArray[np.uint8]
    declared_level: Codes
    closed_level: Codes


class CertificateArrays(NamedTuple):
    """What is proven of the past declarations of each row, and until which slot (axes: row; later_*: row, place)."""

    left: Units
    left_until: Int64s
    later_left: Units
    later_until: Int64s
    later_count: npt.NDArray[np.uint8]
    greatest_left: Units
    share: Units
    share_level: Codes
    share_until: Int64s


class SavedArrays(NamedTuple):
    """One declaration of each row, and what it lets absorption spend (axes: row)."""

    amount: Units
    level: Codes
    until: Int64s


class OfferArrays(NamedTuple):
    """What rows may spend in the next slot, and which rows a cheap bound does not decide (axes: row)."""

    change_budget: Units
    publish_budget: Units
    change_codes: Codes
    marked: Marks


_EMPTY = {
    "flags": NOT_RESTING,
    "left": UNBOUNDED,
    "left_until": 2**62,
    "greatest_left": UNBOUNDED,
    "share": UNBOUNDED,
    "share_until": 2**62,
}
"""What an array holds for a row without a past, where that is not 0."""

PerRow = TypeVar("PerRow", RowArrays, CertificateArrays, SavedArrays)


def grown(struct: PerRow, more: int) -> PerRow:
    """The same arrays with `more` rows without a past at the end."""

    def fill(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.full((more, *array.shape[1:]), _EMPTY.get(name, 0), array.dtype)

    arrays: dict[str, npt.NDArray[Any]] = struct._asdict()
    return struct._replace(**{name: np.concatenate([array, fill(name, array)]) for name, array in arrays.items()})


def clear(struct: PerRow, rows: Int64s) -> None:
    """Make `rows` rows without a past."""
    for name, array in struct._asdict().items():
        array[rows] = _EMPTY.get(name, 0)


_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}
"""Without `_nrt` nothing is counted: kernels allocate nothing, and counting references costs ten times their work."""
_CALLED = {**_OPTIONS, "no_cpython_wrapper": True}
_njit: Any = numba.njit  # whose types do not know all of these options

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def jit(kernel: Kernel) -> Kernel:
    """Compile a loop over rows."""
    compiled: Kernel = _njit(**_OPTIONS)(kernel)
    return compiled


def called(kernel: Kernel) -> Kernel:
    """Compile what only kernels call."""
    compiled: Kernel = _njit(**_CALLED)(kernel)
    return compiled


def inlined(kernel: Kernel) -> Kernel:
    """Compile what only kernels call into the kernel itself."""
    compiled: Kernel = _njit(**_CALLED, forceinline=True)(kernel)
    return compiled
