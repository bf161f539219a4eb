"""Shows how the rows of a ledger stand before a slot, as arrays for schedules.

Everything is in whole nano-ε with one element per row, is computed when it is first needed, and says
`UNBOUNDED` where a row has no such limit.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wevent.budgets.declarations import Backward, Declarations, Forward
from wevent.budgets.forecast import DeclarationForecast, paced_parts, sample_levels, sample_size
from wevent.budgets.history import History
from wevent.budgets.levels import LevelTable
from wevent.budgets.versions import Versions
from wevent.units import UNBOUNDED, Units

if TYPE_CHECKING:  # numba
    from wevent.budgets.individual.rows import IndividualRows


class LedgerView:
    """What the rows of a ledger may spend in the slot that opens next.

    Attributes:
        slot: that slot.
        last_slot: the last slot in which a publish budget was spent, 0 if none.
        last_spend: the publish budget that each row spent there.
        sizes: how many people each row stands for.
    """

    def __init__(
        self,
        history: History,
        versions: Versions,
        declarations: Declarations,
        sizes: npt.NDArray[np.int64],
        last_slot: int,
        last_spend: Units,
        individual: IndividualRows | None = None,
    ) -> None:
        self.slot = history.slot
        self.rows = history.rows
        self.last_slot, self.last_spend = last_slot, last_spend
        self._history, self._versions, self._declarations = history, versions, declarations
        self.sizes, self._members, self._individual = sizes, sizes > 0, individual
        self._active = declarations.active_rows(history.slot, self._members)

    @cached_property
    def room(self) -> Units:
        """The most each row may spend in this slot, in all: never below 0, and nothing without members (SPEC §2)."""
        if self.slot < self._history.held:
            return np.zeros(self.rows, np.int64)
        room = self._versions.room(self._history, self._spent)
        if self._forward is not None:
            room = self._spread(room, self._forward.rows, self._forward.room)
        if self._backward is not None:
            room = self._spread(room, self._backward.rows, self._backward.room)
        return np.where(self._members, np.maximum(room, 0), 0)

    @cached_property
    def declaring(self) -> npt.NDArray[np.int64]:
        """Rows with a dynamic requirement in force."""
        return self._active[self._declarations.in_force[self._active] > 0]

    @cached_property
    def fixed_share(self) -> Units:
        """Least share E/(2w) over live fixed versions."""
        return self._versions.least(self._versions.share, self.rows)

    @cached_property
    def fixed_rate(self) -> Units:
        """Least E/w over live fixed versions."""
        return self._versions.least(self._versions.epsilon // self._versions.window, self.rows)

    @cached_property
    def fixed_epsilon(self) -> Units:
        """Least E over live fixed versions."""
        return self._versions.least(self._versions.epsilon, self.rows)

    def fixed_paced(self, interval: int) -> Units:
        """Least E / ceil(w/k) over live fixed versions: what every k-th slot may cost, k = `interval`."""
        times = -(-self._versions.window // interval)
        return self._versions.least(self._versions.epsilon // times, self.rows)

    def paced(self, interval: int) -> Units:
        """Least E / ceil(w/k) over everything that binds, k = `interval`: live versions, declarations, backward."""
        return self._with_declared(self.fixed_paced(interval), interval)

    @cached_property
    def rate(self) -> Units:
        """Least E/w over everything that binds."""
        return self._with_declared(self.fixed_rate, 1)

    def forecast_paced(self, interval: int, wait: int) -> Units:
        """What `paced` will be `wait` slots later if no requirement changes until then.

        Of fixed versions, all that live now are taken to live then.
        """
        part = self.fixed_paced(interval)
        if self._forecast is None:
            return part
        forward = paced_parts(self._levels.forward, self._levels.forward_window, interval)
        part = self._spread(part, self._active, self._forecast.least(forward, wait))
        return self._with_backward(part, interval)

    def forecast_room(self, wait: int) -> Units:
        """The room `wait` slots later, if nothing is spent and no requirement changes; never below 0."""
        if self.slot + wait < self._history.held:
            return np.zeros(self.rows, np.int64)
        spent = self._versions.spent(self._history, wait)
        room = self._versions.room(self._history, spent, wait)
        if self._forecast is not None:
            room = self._spread(room, self._active, self._forecast.room(wait))
            back = self._declarations.backward(self._history, self.declaring, wait)
            room = self._spread(room, back.rows, back.room)
        return np.maximum(room, 0)

    @cached_property
    def forecast_view(self) -> LedgerView:
        """The view that plans use: individual rows included, very many dynamic rows sampled.

        Guarantees:
            Without individual rows and with few dynamic rows it is this view itself.
            Sizes add up to the number of registered people; every level that anybody declares is in it.
        """
        history, declarations, individual = self._history, self._declarations, self._individual
        own = self.declaring[self.sizes[self.declaring] == 1]
        most = sample_size(history.span)
        if individual is None and own.size <= most:
            return self
        inside = np.flatnonzero(individual.sizes) if individual is not None else np.empty(0, np.int64)
        levels = declarations.in_force[own].astype(np.int64)
        if individual is not None:
            levels = np.concatenate([levels, individual.declared(inside)])
        picked, stands_for = sample_levels(levels, most)
        shared = self.sizes > 0
        shared[own] = False
        kept = np.concatenate([np.flatnonzero(shared), own[picked[picked < own.size]]])
        sizes = np.concatenate([self.sizes[shared], stands_for])
        sampled, declared = history.take(kept), declarations.take(kept)
        if individual is not None:
            rows = inside[picked[picked >= own.size] - own.size]
            past = individual.past
            sampled.append(past.change_budgets(rows), past.publish_budgets(rows), individual.born[rows], past.known)
            declared.append(past.declared_levels(rows), individual.declared(rows), history.slot)
        last_spend = np.zeros(sizes.size, np.int64)
        return LedgerView(sampled, self._versions.take(kept), declared, sizes, self.last_slot, last_spend)

    @cached_property
    def fixed_window(self) -> npt.NDArray[np.int64]:
        """Least window over live fixed versions."""
        return self._versions.least(self._versions.window, self.rows)

    @cached_property
    def dynamic(self) -> bool:
        """Whether anybody has a dynamic requirement in force, in an individual row or not."""
        return bool(self.declaring.size) or (self._individual is not None and bool(self._individual.sizes.any()))

    @cached_property
    def longest_window(self) -> int:
        """Longest window of any live fixed version or of what anybody declares now, on either side.

        Rows without members do not count: what binds nobody must not slow anybody down.
        """
        level, table = self._declarations.in_force[self.declaring], self._levels
        declared = (table.forward_window[level].max(initial=1), table.backward_window[level].max(initial=1))
        bound = self._versions.window[self._members[self._versions.row]]
        return int(max(bound.max(initial=1), *declared))

    @cached_property
    def fixed_left(self) -> Units:
        """Least E/2 less the publications in the window, over live fixed versions."""
        return self._versions.left(self._history, self._spent)

    @cached_property
    def share(self) -> Units:
        """Least share over live fixed versions and active declarations."""
        if self._forward is None:
            return self.fixed_share
        return self._spread(self.fixed_share, self._forward.rows, self._forward.share)

    @cached_property
    def forward_left(self) -> Units | None:
        """Least EF/2 - U(τ) over active declarations; None if no row is dynamic."""
        return None if self._forward is None else self._alone(self._forward.rows, self._forward.left)

    @cached_property
    def least_saved(self) -> Units | None:
        """Least (t - b(τ))·a_τ over active declarations; None if no row is dynamic."""
        return None if self._forward is None else self._alone(self._forward.rows, self._forward.least_saved)

    @cached_property
    def most_saved(self) -> Units | None:
        """Greatest (t - b(τ))·a_τ over active declarations; None if no row is dynamic."""
        return None if self._forward is None else self._alone(self._forward.rows, self._forward.most_saved)

    @cached_property
    def backward_left(self) -> tuple[Units, Units] | None:
        """EB/2 less the change, and less the publish budgets of the backward window; None if no row is dynamic."""
        if self._backward is None:
            return None
        rows = self._backward.rows
        return self._alone(rows, self._backward.change_left), self._alone(rows, self._backward.publish_left)

    @cached_property
    def borders(self) -> npt.NDArray[np.float64]:
        """Largest border b(τ) over active declarations, -inf where a row has none."""
        result = np.full(self.rows, -np.inf)
        result[self._active] = self._declarations.borders(self._history, self._active)
        return result

    @cached_property
    def _spent(self) -> tuple[Units, Units]:
        return self._versions.spent(self._history)

    @cached_property
    def _forward(self) -> Forward | None:
        return self._declarations.forward(self._history, self._active) if self._active.size else None

    @cached_property
    def _backward(self) -> Backward | None:
        return self._declarations.backward(self._history, self.declaring) if self.declaring.size else None

    @cached_property
    def _forecast(self) -> DeclarationForecast | None:
        return self._declarations.forecast(self._history, self._active) if self._active.size else None

    @property
    def _levels(self) -> LevelTable:
        return self._declarations.table

    def _with_declared(self, part: Units, interval: int) -> Units:
        """Each row's part cut to EF / ceil(wF/k) of its active declarations and EB / ceil(wB/k) of the one now."""
        if not self._active.size:
            return part
        forward = paced_parts(self._levels.forward, self._levels.forward_window, interval)
        part = self._spread(part, self._active, self._declarations.least(self.slot, self._active, forward))
        return self._with_backward(part, interval)

    def _with_backward(self, part: Units, interval: int) -> Units:
        back = paced_parts(self._levels.backward, self._levels.backward_window, interval)
        return self._spread(part, self.declaring, back[self._declarations.in_force[self.declaring]])

    def _alone(self, rows: npt.NDArray[np.int64], values: Units) -> Units:
        result = np.full(self.rows, UNBOUNDED, np.int64)
        result[rows] = values
        return result

    def _spread(self, base: Units, rows: npt.NDArray[np.int64], values: Units) -> Units:
        result = base.copy()
        result[rows] = np.minimum(result[rows], values)
        return result
