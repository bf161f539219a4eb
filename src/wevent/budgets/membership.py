"""Applies joins, leaves, returns and requirement changes: it knows who is in which row of a ledger.

The rule of SPEC §2: users share a row only while its recorded spend is at least each member's, slot
by slot, and it carries all their live versions. Joining an older cohort is fine; whoever changes takes
a copy of the row's past along; nobody gets fresh budget inside a live window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.budgets.admission import Admission
from wevent.budgets.ledger import Ledger
from wevent.budgets.placement import Departed, Placement
from wevent.budgets.refusals import INDIVIDUAL, longest_window, refuse_infeasible, refuse_oversize
from wevent.budgets.single import Single
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Dynamic, Fixed, Requirement
from wevent.errors import AlreadyRegistered, UnknownUser, WrongKind, WrongShape


class Membership(Single):
    """Who is in which row of a ledger, and what they require.

    The invariant of rows: a row's past covers every slot in which any member could have spent. It holds after a merge
    (the cohort takes over the older birth), for somebody who was counted in a group until now (their row is a branch of
    the group's past), for returns (the old row's past) and for rows that are used again (nobody remembers them).

    Guarantees:
        After any sequence of joins, leaves, returns and changes, every row's past is at least that of each member.
        People and rows that left are forgotten once the longest window has passed over them.
        A refused call changes nothing.
        Rows are merged and freed once per slot, before anything else of it: how often a slot is tried, and what
        happens between two tries, changes nothing.
    """

    def __init__(self, register: Register, ledger: Ledger, *, dynamic: bool) -> None:
        self.register = register.copy()
        self.groups: dict[Hashable, int] = {}
        self.admission = Admission(ledger.privacy, dynamic=dynamic)
        self.placement = Placement(ledger)
        self._begun = ledger.slot  # rows were merged and freed before this slot
        self._new: dict[
            Hashable, Departed | None
        ] = {}  # who joined since the last slot, with the past they returned to
        self._departed: dict[Hashable, Departed] = {}  # who left, until the longest window has passed
        self._departures: deque[tuple[int, Hashable]] = deque()  # the same with the last slot, in the order of leaving
        self._straight: tuple[object, bool] = (None, False)  # whether position k is row k of the crowd, as of a change
        self._resolved: tuple[object, int, npt.NDArray[np.int64]] | None = None
        self.admission.check(register.table)
        self._open_all()
        self.admission.accept(register.table)

    @property
    def ledger(self) -> Ledger:
        """Whose rows these are."""
        return self.placement.ledger

    def rows(self) -> npt.NDArray[np.int64]:
        """The ledger row of each position, -1 where the owner has left (axes: position)."""
        outside = self.ledger.history.rows
        if self._resolved is None or self._resolved[0] is not self.register.changes or self._resolved[1] != outside:
            rows = self.register.rows
            if self.ledger.individual is not None:
                rows = np.where(rows >= INDIVIDUAL, rows - INDIVIDUAL + outside, rows)
            self._resolved = (self.register.changes, outside, rows)
        return self._resolved[2]

    # --- changes between slots -----------------------------------------------------------------

    def join(self, user: Hashable, requirement: Requirement) -> None:
        """Register somebody from the next slot on; who left lately finds the old spends."""
        self.admission.check([requirement])
        if user in self.register or user in self.groups:
            raise AlreadyRegistered("this user is registered already; change the requirement instead")
        self.begin_slot()
        away = self._departed.get(user)
        row = self.placement.place(away, requirement)
        self._departed.pop(user, None)
        self.register.add(user, row)
        self._new[user] = away
        self.placement.take(row, user)
        self.admission.accept([requirement])

    def leave(self, user: Hashable) -> None:
        """End a registration from the next slot on; its windows stay alive.

        Until they have closed the person must not be counted in a declared group: the group's row knows nothing of
        what they spent. `Register.unknown` leaves them out.
        """
        position = self.register.position(user)
        self.begin_slot()
        row = int(self.register.rows[position])
        shared = row in self.placement.shared
        self.register.remove(user)
        came = self._new.pop(user, False)
        if came is None and shared:
            self.register.forget(user)  # never in force, so no past
        else:
            past = came if isinstance(came, Departed) and shared else Departed(row, self.ledger.slot - 1)
            self._departed[user] = past
            self._departures.append((past.last, user))
        self.placement.shrink(row)

    def change(self, user: Hashable, requirement: Requirement) -> None:
        """Let a registered user, or a declared group, require something else from the next slot on."""
        self.admission.check([requirement])
        if user in self.groups:
            self.begin_slot()
            self.ledger.change_row(self.groups[user], requirement)
        else:
            position = self.register.position(user)
            self.begin_slot()
            self._change(user, int(self.register.rows[position]), requirement)
        self.admission.accept([requirement])

    def _change(self, user: Hashable, row: int, requirement: Requirement) -> None:
        placement = self.placement
        if row not in placement.shared:
            target = placement.ask_anew(row, requirement)
        elif isinstance(requirement, Fixed) and placement.asks(row) == (requirement.units, requirement.window):
            return
        else:
            if user in self._new:  # never in force there: as if it had not been required
                target = placement.place(self._new[user], requirement)
            else:
                target = placement.branch(row, self.ledger.slot - 1, requirement)
            placement.shrink(row)
        if target != row:
            self.register.move(user, target)
            placement.take(target, user)

    def declare(self, table: Sequence[Dynamic], choice: npt.ArrayLike) -> None:
        """Let everybody require something anew: for each position the index of a dynamic requirement, -1 for no change.

        Guarantees:
            All of it is checked before any of it takes effect.
        """
        self.admission.check(table)
        if not all(isinstance(requirement, Dynamic) for requirement in table):
            raise WrongKind("declare takes dynamic requirements; use change for a fixed one")
        picked = np.asarray(choice)
        if picked.shape != (len(self.register),) or picked.dtype.kind not in "iu":
            raise WrongShape(f"choice must hold one whole index for each of {len(self.register)} positions")
        if picked.size and (picked.min() < -1 or picked.max() >= len(table)):
            raise WrongShape(f"choice must be -1 or point into the table of {len(table)} requirements")
        if self.register.vacant and bool(((picked >= 0) & (self.register.rows < 0)).any()):
            raise UnknownUser("choice asks for somebody who has left; use -1 there")
        self.begin_slot()
        self._refuse_declaration(table, picked)
        levels = self.ledger.levels(table)
        self.admission.accept(table)
        for place in np.flatnonzero(self._declare_at_once(levels, picked) >= 0).tolist():
            self._change(self.register.users[place], int(self.register.rows[place]), table[picked[place]])

    def _refuse_declaration(self, table: Sequence[Dynamic], picked: npt.NDArray[Any]) -> None:
        """Raise, before anything is changed, if any part of a declaration cannot be met."""
        rows, ledger = self.register.rows, self.ledger
        leaving = 0  # each of whom needs a row of their own
        if self.placement.shared and not self._all_individual():
            leaving = int(np.isin(rows[picked >= 0], list(self.placement.shared)).sum())
        refuse_oversize(ledger, max(map(longest_window, table), default=1), leaving)
        if ledger.privacy.infeasible == "reject":
            for place in np.flatnonzero(picked >= 0).tolist():
                user, row = self.register.users[place], int(rows[place])
                sources, until = [row], ledger.slot - 1
                if row in self.placement.shared and user in self._new:
                    sources, until = self.placement.past(self._new[user])
                refuse_infeasible(ledger, sources, table[picked[place]], until)

    def _declare_at_once(self, levels: npt.NDArray[np.int64], picked: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Serve everybody who is dynamic already, without a loop; what is left of `picked` changes one by one."""
        rows, individual = self.register.rows, self.ledger.individual
        if individual is not None and self._all_individual():
            self.ledger.declare_individual(levels, picked)
            return np.empty(0, np.int64)
        served = (rows >= INDIVIDUAL) & (picked >= 0)
        outside = np.flatnonzero((picked >= 0) & ~served)
        served[outside[self.ledger.declaring(rows[outside])]] = True
        self.ledger.declare_rows(rows[served], levels[picked[served]])
        return np.where(served, -1, picked)

    def begin_slot(self) -> None:
        """Forget people and rows whose windows have closed; merge rows that a cohort dominates.

        Guarantees:
            It has an effect once per slot, and every change between two slots comes after it.
        """
        slot, span = self.ledger.slot, self.ledger.span
        if self._begun == slot:
            return
        self._begun = slot
        self._new.clear()
        while self._departures and self._departures[0][0] + span < slot:
            last, user = self._departures.popleft()
            away = self._departed.get(user)
            if away is not None and away.last == last:
                del self._departed[user]
                self.register.forget(user)
                self.ledger.forget(last)
        self.placement.free()
        if slot % span == 0:
            self.consolidate()

    def consolidate(self) -> int:
        """Move people into a cohort that dominates the row they are in; return how many moved."""
        return self.placement.consolidate(self.register)

    # --- inside --------------------------------------------------------------------------------

    def _open_all(self) -> None:
        """The rows of the register as it was declared, in the ledger."""
        register, ledger, placement = self.register, self.ledger, self.placement
        grouped = np.isin(np.arange(register.asks.size), list(register.groups.values()))
        moving = np.array([isinstance(r, Dynamic) for r in register.table], bool)[register.asks]
        single = moving & ~grouped
        outside, individual = int((~single).sum()), int(single.sum())
        many = (outside, individual) if ledger.fast else (outside + individual, 0)
        refuse_oversize(ledger, max(map(longest_window, register.table), default=1), *many)
        for requirement in register.table:
            ledger.remember(requirement)
        place = np.full(register.asks.size, -1, np.int64)
        sides = [r for k in register.asks[~moving].tolist() if isinstance(r := register.table[k], Fixed)]
        place[~moving] = ledger.open_fixed(
            np.array([side.units for side in sides], np.int64),
            np.array([side.window for side in sides], np.int64),
            register.sizes[~moving],
        )
        for row, side, group in zip(place[~moving].tolist(), sides, grouped[~moving].tolist(), strict=True):
            if not group:
                placement.share((side.units, side.window), row)
        for row in np.flatnonzero(moving & grouped).tolist():
            place[row] = ledger.open_row(register.table[int(register.asks[row])], int(register.sizes[row]))
        if single.any():
            levels = ledger.levels(register.table)
            place[single] = ledger.open_dynamic(levels[register.asks[single]])
        self.groups = {name: int(place[row]) for name, row in register.groups.items()}
        placement.groups = sorted(self.groups.values())
        register.place_all(place)
        if single.any() and ledger.individual is None:
            for user, row in zip(register.users, register.rows.tolist(), strict=True):
                placement.take(row, user)

    def _all_individual(self) -> bool:
        """Whether position k is row k of the crowd, for all."""
        if self._straight[0] is not self.register.changes:
            individual = self.ledger.individual
            same = individual is not None and individual.rows == len(self.register)
            same = same and bool((self.register.rows == INDIVIDUAL + np.arange(len(self.register))).all())
            self._straight = (self.register.changes, same)
        return self._straight[1]
