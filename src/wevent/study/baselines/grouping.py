"""Decides which cells RescueDP samples together, from their last releases.

[Wang16], dynamic grouping: small cells that move alike share one draw of noise. It reads noisy releases alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

LAST = 3
"""How many releases of a cell are looked at."""
LARGE, NEAR, ALIKE = 30.0, 25.0, 0.5
"""Above this a cell is alone and a group is full; how far predictions in a group may lie apart; least correlation."""


@dataclass(frozen=True, slots=True)
class GroupCandidate:
    """A cell that is due, its last releases (axes: release), and whether there are enough of them."""

    cell: int
    last: npt.NDArray[np.float64]
    enough: bool


def group_cells(candidates: Sequence[GroupCandidate]) -> list[list[int]]:
    """Groups of cells, each cell in one of them.

    The smallest prediction, the mean of a cell's last three releases, opens a group. The others follow in ascending
    order: one that moves like the first cell joins, others are passed over, until a prediction lies too far from the
    first one or the group's predictions, before the newcomer's, add up to a large cell.

    Guarantees:
        Every cell is in exactly one group.
        Cells with a prediction above 30, or with fewer than three releases, are alone.
        In a group every prediction is less than 25 from the first one, and all but the last add up to less than 30.
    """
    small = [candidate for candidate in candidates if candidate.enough and candidate.last.mean() <= LARGE]
    waiting = sorted(small, key=lambda candidate: float(candidate.last.mean()))
    groups = [[candidate.cell] for candidate in candidates if not candidate.enough or candidate.last.mean() > LARGE]
    while waiting:
        first, *others = waiting
        cells, total, waiting = [first.cell], float(first.last.mean()), []
        for place, other in enumerate(others):
            prediction = float(other.last.mean())
            if prediction - first.last.mean() >= NEAR or total >= LARGE:
                waiting += others[place:]
                break
            if correlation(first.last, other.last) > ALIKE:
                cells.append(other.cell)
                total += prediction
            else:
                waiting.append(other)
        groups.append(cells)
    return groups


def correlation(first: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """Pearson's correlation; 0 if one of the two stands still."""
    a, b = first - first.mean(), other - other.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else 0.0
