"""Looking ahead: a ledger as it stands comes in, the same with every kind of row in one place goes out.

For plans only, which depend on how many people have how much budget, not on who. So of very many people with
requirements of their own some are enough, evenly spread over what is asked for and each standing for several:
a plan costs the same for a thousand people as for a million. Who is taken depends on requirements and the
order of rows, both public.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wevent.budgets.declarations import Declarations
from wevent.budgets.history import History
from wevent.budgets.versions import Versions
from wevent.budgets.view import LedgerView

if TYPE_CHECKING:  # numba
    from wevent.budgets.individual.rows import IndividualRows

MOST = 256
"""So many people with dynamic requirements are looked at, and at least one of each level."""

_AT_ONCE = 2**20
"""Fewer, if more slots than this would be looked back on in all."""

Rows = npt.NDArray[np.int64]


def forecast_view(
    now: LedgerView, history: History, versions: Versions, declarations: Declarations, individual: IndividualRows | None
) -> LedgerView:
    """The stand of all rows, or of some that stand for all.

    Guarantees:
        Without a crowd and with few dynamic rows it is `now` itself.
        Sizes add up to the number of registered people; every level that anybody declares is there.
    """
    own = now.declaring[now.sizes[now.declaring] == 1]
    most = max(16, min(MOST, _AT_ONCE // history.span))
    if individual is None and own.size <= most:
        return now
    inside = np.flatnonzero(individual.sizes) if individual is not None else np.empty(0, np.int64)
    levels = declarations.now[own].astype(np.int64)
    if individual is not None:
        levels = np.concatenate([levels, individual.declared(inside)])
    picked, stands_for = pick(levels, most)
    shared = now.sizes > 0
    shared[own] = False
    kept = np.concatenate([np.flatnonzero(shared), own[picked[picked < own.size]]])
    sizes = np.concatenate([now.sizes[shared], stands_for])
    ring, told = history.take(kept), declarations.take(kept)
    if individual is not None:
        rows = inside[picked[picked >= own.size] - own.size]
        past, change_budget, publish_budget = individual.past(rows)
        ring.append(change_budget, publish_budget, individual.born[rows], individual.known)
        told.append(past, individual.declared(rows), history.slot)
    return LedgerView(ring, versions.take(kept), told, sizes, now.last_slot, np.zeros(sizes.size, np.int64))


def pick(levels: Rows, most: int) -> tuple[Rows, Rows]:
    """Places spread evenly over the levels, at least one of each, ascending; and how many each stands for."""
    if levels.size <= most:
        return np.arange(levels.size), np.ones(levels.size, np.int64)
    counted = np.bincount(levels)
    people = counted[counted > 0]
    first = np.cumsum(people) - people
    small = levels.astype(np.uint16) if counted.size <= 2**16 else levels  # sorts in one pass
    order = np.argsort(small, kind="stable")
    places = np.unique(np.concatenate([first, np.arange(most) * levels.size // most]))
    group = np.searchsorted(first, places, side="right") - 1
    chosen = np.bincount(group, minlength=people.size)
    rank = np.arange(places.size) - (np.cumsum(chosen) - chosen)[group]
    stands_for = people[group] // chosen[group] + (rank < people[group] % chosen[group])
    picked = order[places]
    ascending = np.argsort(picked)
    return picked[ascending], stands_for[ascending]
