"""Measures how far releases are off: errors of slots, and their means.

`amre` is what [Du25] calls average mean relative error; in spite of its name nothing is relative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from wevent.errors import UnknownName

Floats = npt.NDArray[np.float64]
Metric = Callable[[Floats, Floats], Floats]
"""Maps true and released counts (axes: slot, cell) to one error for each slot."""


def amre(true: Floats, released: Floats) -> Floats:
    """Mean squared error of a cell."""
    return np.square(released - true).mean(axis=1)


def mae(true: Floats, released: Floats) -> Floats:
    """Mean absolute error of a cell."""
    return np.abs(released - true).mean(axis=1)


def mre(true: Floats, released: Floats) -> Floats:
    """Mean relative error of a cell; small counts are compared with 1 % of the slot's total, and at least 1."""
    floor = np.maximum(0.01 * true.sum(axis=1, keepdims=True), 1.0)
    return (np.abs(released - true) / np.maximum(true, floor)).mean(axis=1)


def ajsd(true: Floats, released: Floats) -> Floats:
    """Jensen-Shannon divergence, in nats, between the histograms clipped at 0 and normalised to 1."""
    return _divergence(_normalised(true), _normalised(released))


def ajsd_raw(true: Floats, released: Floats) -> Floats:
    """The same formula on raw counts, negative ones set to 0: no divergence, but what was printed."""
    return _divergence(true, np.maximum(released, 0.0))


def awd(true: Floats, released: Floats) -> Floats:
    """1-Wasserstein distance between the clipped, normalised histograms over the cell index."""
    return np.abs(np.cumsum(_normalised(released) - _normalised(true), axis=1)).sum(axis=1)


def awd_plane(rows: int, columns: int) -> Metric:
    """1-Wasserstein distance over a grid of cells, a step to a neighbour costing 1."""

    def metric(true: Floats, released: Floats) -> Floats:
        surplus = _normalised(released) - _normalised(true)
        return np.array([_transport(rows, columns, surplus_of_slot) for surplus_of_slot in surplus])

    return metric


METRICS: dict[str, Metric] = {metric.__name__: metric for metric in (amre, mae, mre, ajsd, ajsd_raw, awd)}
"""Every metric by name; `awd_plane` comes with a grid."""


def known_metric(name: str, plane: tuple[int, int] | None = None) -> Metric:
    """The metric of a name."""
    if name == "awd_plane" and plane is not None:
        return awd_plane(*plane)
    if name not in METRICS:
        known = tuple(METRICS) + (("awd_plane",) if plane is not None else ())
        raise UnknownName(f"no metric is called {name!r}; known are {', '.join(known)}", known=known)
    return METRICS[name]


@dataclass(frozen=True, slots=True)
class MeanErrors:
    """Mean over slots of each metric."""

    slots: int
    means: dict[str, float]


class Scorer:
    """Collects slots and averages their errors.

    Guarantees:
        The mean over all slots, however many; at most `block` slots are in memory at a time.
    """

    def __init__(self, names: Sequence[str], plane: tuple[int, int] | None = None, block: int = 512) -> None:
        self._metrics = {name: known_metric(name, plane) for name in names}
        self._sums = dict.fromkeys(self._metrics, 0.0)
        self._block = block
        self._true: list[npt.ArrayLike] = []
        self._released: list[npt.ArrayLike] = []
        self._slots = 0

    def add(self, true: npt.ArrayLike, released: npt.ArrayLike) -> None:
        """One slot."""
        self._true.append(true)
        self._released.append(released)
        if len(self._true) >= self._block:
            self._flush()

    def add_all(self, true: Floats, released: Floats) -> None:
        """Many slots at once (axes: slot, cell)."""
        for first in range(0, len(true), self._block):
            self._add_block(true[first : first + self._block], released[first : first + self._block])

    def errors(self) -> MeanErrors:
        """The means so far."""
        self._flush()
        return MeanErrors(self._slots, {name: total / max(self._slots, 1) for name, total in self._sums.items()})

    def _flush(self) -> None:
        if self._true:
            self._add_block(np.asarray(self._true, np.float64), np.asarray(self._released, np.float64))
            self._true, self._released = [], []

    def _add_block(self, true: Floats, released: Floats) -> None:
        for name, metric in self._metrics.items():
            self._sums[name] += float(metric(true, released).sum())
        self._slots += len(true)


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean of positive values."""
    return float(np.exp(np.mean(np.log(list(values)))))


def _normalised(counts: Floats) -> Floats:
    """Negative counts set to 0, then shares of the whole; a histogram of nothing counts as uniform."""
    clipped = np.maximum(counts, 0.0)
    total = clipped.sum(axis=1, keepdims=True)
    return np.where(total > 0, clipped / np.where(total > 0, total, 1.0), 1 / counts.shape[1])


def _divergence(true: Floats, released: Floats) -> Floats:
    middle = (true + released) / 2
    return (_entropy_term(released, middle) + _entropy_term(true, middle)).sum(axis=1) / 2


def _entropy_term(counts: Floats, middle: Floats) -> Floats:
    """c·ln(c/v), terms with 0 dropped."""
    positive = counts > 0
    return np.where(positive, counts * np.log(np.where(positive, counts, 1.0) / np.where(positive, middle, 1.0)), 0.0)


@cache
def _edges(rows: int, columns: int) -> npt.NDArray[np.float64]:
    """What each directed step between neighbours takes from one cell and gives to another (axes: cell, step)."""
    cell = np.arange(rows * columns).reshape(rows, columns)
    sides = (cell[:, :-1], cell[:, 1:]), (cell[:-1], cell[1:])
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in sides])
    both = np.concatenate([pairs, pairs[:, ::-1]])
    steps = np.zeros((cell.size, len(both)))
    steps[both[:, 0], np.arange(len(both))] = 1
    steps[both[:, 1], np.arange(len(both))] = -1
    return steps


def _transport(rows: int, columns: int, surplus: Floats) -> float:
    """The least total of steps that evens a surplus out: a flow on the grid (Beckmann's form of the distance)."""
    from scipy.optimize import linprog

    steps = _edges(rows, columns)
    if not steps.size or not np.abs(surplus).max() > 0:
        return 0.0
    balanced = surplus - surplus.mean()  # rounding crumbs would make it infeasible
    found = linprog(np.ones(steps.shape[1]), A_eq=steps[:-1], b_eq=balanced[:-1], method="highs")
    return float(found.fun)
