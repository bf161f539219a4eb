"""Refuses requirements that rows cannot serve: the past holds too much or is forgotten, or the history is too long.

Every check reads the rows and changes nothing, so that callers check all of a call before they apply any of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wevent.budgets.history import LONG_AGO
from wevent.cohorts.requirement import Fixed, Requirement
from wevent.errors import BudgetExceeded, Infeasible, InvalidRequirement
from wevent.units import Units, show, to_epsilon

if TYPE_CHECKING:
    from wevent.budgets.pasts import Past
    from wevent.budgets.rows import Rows

INDIVIDUAL = 2**40
"""Individual rows are numbered from here on in every call that names a row."""

_CELL = 16
"""Bytes that a row outside the individual ones holds for one slot."""

_CERTIFICATES = 160
"""Bytes that an individual row holds besides its slots and publications."""


def longest_window(requirement: Requirement) -> int:
    """How many slots a requirement reaches back over, or binds for."""
    if isinstance(requirement, Fixed):
        return requirement.window
    return max(requirement.backward.window, requirement.forward.window)


def refuse_oversize(rows: Rows, window: int, more: int = 0, individual: int = 0) -> None:
    """Raise `InvalidRequirement` if histories would hold more than the operator's limit.

    Args:
        rows: the rows as they are.
        window: the longest window that is required now.
        more: so many rows are needed besides, outside the individual ones.
        individual: so many individual rows are needed besides.
    """
    limit, span = rows.privacy.limits.history_cells, max(rows.span, window)
    cells = (rows.history.rows + max(more - rows.unused, 0)) * span
    inside, code, places = individual, 1, 8
    if rows.individual is not None:
        inside += rows.individual.rows
        code, places = rows.individual.past.code_bytes, rows.individual.past.places
    cells += -(-inside * (2 * code * span + 8 * places + _CERTIFICATES) // _CELL) if inside else 0
    if cells > limit:
        raise InvalidRequirement(
            f"window={window} with {rows.rows + more + individual} rows needs a history of {cells} cells, above the "
            f"operator's limit of {limit} (limits.history_cells); require a shorter window. Nothing was changed.",
            cells=cells,
            limit=limit,
        )


def refuse_infeasible(rows: Rows, past: Past, requirement: Requirement) -> None:
    """Raise `Infeasible`, if the settings say so, where a past breaks a backward side.

    Of several rows of the past the largest spend counts, slot by slot. A window that reaches back to forgotten slots is
    refused too: nobody knows what it holds.
    """
    if isinstance(requirement, Fixed) or rows.privacy.infeasible != "reject":
        return
    budget, window, slot = requirement.backward.units, requirement.backward.window, rows.slot
    known = max([rows.history.forgotten + 1, *(known_since(rows, row) for row in past.rows)])
    if slot - window + 1 < known:
        raise Infeasible(
            f"backward window={window} is not feasible in slot {slot}: it reaches back to slots before {known}, whose "
            f"spends are forgotten. Require a window of at most {slot - known + 1}. The declaration was refused.",
            slot=slot,
            longest=slot - known + 1,
        )
    least = _spent(rows, past, window)
    if least > budget:
        raise Infeasible(
            f"backward epsilon={show(budget)} over window={window} is not feasible in slot {slot}: "
            f"epsilon={show(least)} was already spent there. Require at least that, or a shorter window. "
            "The declaration was refused.",
            slot=slot,
            least=to_epsilon(least),
        )


def refuse_overspend(change_budget: Units, publish_budget: Units, room: Units, slot: int, first_row: int) -> None:
    """Raise `BudgetExceeded` if any row would spend a negative budget, or more than its room (axes: row)."""
    over = (change_budget < 0) | (publish_budget < 0) | (change_budget + publish_budget > room)
    if over.any():
        row = int(np.argmax(over))
        raise BudgetExceeded(
            f"row {first_row + row} requires epsilon={show(int(change_budget[row] + publish_budget[row]))} in slot "
            f"{slot}; its windows have {show(int(room[row]))} left. Nothing was spent.",
            row=first_row + row,
            slot=slot,
            room=to_epsilon(int(room[row])),
        )


def known_since(rows: Rows, row: int) -> int:
    """The first slot whose spend a row would remember if the span grew now; long ago if nothing is forgotten."""
    oldest = rows.slot - rows.span + 1
    if row >= INDIVIDUAL:
        individual = rows.individual_rows(row)
        born = int(individual.born[row - INDIVIDUAL])
        known = individual.past.known if born < individual.past.known else LONG_AGO
    else:
        born, known = rows.history.birth(row)
    return max(known, oldest) if born < oldest else known


def _spent(rows: Rows, past: Past, window: int) -> int:
    """The largest spends of a past in the last window - 1 slots, slot by slot, summed up."""
    slots = np.arange(rows.slot - rows.span + 1, rows.slot)
    most = np.zeros(slots.size, np.int64)
    for row in past.rows:
        parts = rows.individual_rows(row).spends(row - INDIVIDUAL) if row >= INDIVIDUAL else rows.history.spends(row)
        most = np.maximum(most, parts[0] + parts[1])
    return int(most[(slots > rows.slot - window) & (slots <= past.last)].sum())
