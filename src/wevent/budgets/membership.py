"""People and their rows: joins, leaves, returns and changes come in, rows with the right past go out.

The rule of SPEC §2: users share a row only while its recorded spend is at least each member's, slot
by slot, and it carries all their live versions. Joining an older cohort is fine; whoever changes takes
a copy of the row's past along; nobody gets fresh budget inside a live window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.budgets.ledger import Ledger
from wevent.budgets.rows import CROWD
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Dynamic, Fixed, Requirement, check_limits
from wevent.errors import AlreadyRegistered, InvalidRequirement, UnknownUser, WrongKind, WrongShape
from wevent.units import UNBOUNDED

_REMEMBERED = 4096
"""So many accepted requirements need no second check."""


@dataclass(frozen=True, slots=True)
class _Away:
    """Somebody who left: the row they were in, and the last slot they were registered in."""

    row: int
    last: int


class Membership:
    """Who is in which row of a ledger, and what they ask for.

    Guarantees:
        After any sequence of joins, leaves, returns and changes, every row's past is at least that of each member.
        People and rows that left are forgotten once the longest window has passed over them.
        A refused call changes nothing.
    """

    def __init__(self, register: Register, ledger: Ledger, *, dynamic: bool) -> None:
        self.register, self.ledger = register.copy(), ledger
        self.groups: dict[Hashable, int] = {}
        self._dynamic = dynamic
        self._shares = (UNBOUNDED, 0)
        self._known: set[Requirement] = set()
        self._cohorts: dict[tuple[int, int], int] = {}
        self._shared: set[int] = set()
        self._own: dict[int, Hashable] = {}
        self._new: dict[Hashable, _Away | None] = {}
        self._new_slot = ledger.slot
        self._away: dict[Hashable, _Away] = {}
        self._leavers: deque[tuple[int, Hashable]] = deque()
        self._emptied: deque[tuple[int, int]] = deque()
        self._empty_since: dict[int, int] = {}
        self._straight = (-1, False)
        self._resolved: tuple[int, int, npt.NDArray[np.int64]] | None = None
        for requirement in register.table:
            self._check(requirement)
            self._accept(requirement)
        self._open_all()

    def rows(self) -> npt.NDArray[np.int64]:
        """The ledger row of each position, -1 where the owner has left (axes: position)."""
        mine = self.ledger.history.rows
        if self._resolved is None or self._resolved[:2] != (self.register.changes, mine):
            rows = self.register.rows
            if self.ledger.crowd is not None:
                rows = np.where(rows >= CROWD, rows - CROWD + mine, rows)
            self._resolved = (self.register.changes, mine, rows)
        return self._resolved[2]

    # --- changes between slots -----------------------------------------------------------------

    def join(self, user: Hashable, requirement: Requirement) -> None:
        """Register somebody from the next slot on; who left lately finds the old spends."""
        self._check(requirement)
        if user in self.register or user in self.groups:
            raise AlreadyRegistered("this user is registered already; change the requirement instead")
        away = self._away.get(user)
        row = self._place(away, requirement)
        self._away.pop(user, None)
        self.register.add(user, row)
        self._newcomers()[user] = away
        self._owned(row, user)
        self._accept(requirement)

    def leave(self, user: Hashable) -> None:
        """End a registration from the next slot on; its windows stay alive."""
        row = int(self.register.rows[self.register.position(user)])
        self.register.remove(user)
        came = self._newcomers().pop(user, False)
        if came is None and row in self._shared:
            self.register.forget(user)  # never in force, so no past
        else:
            past = came if isinstance(came, _Away) and row in self._shared else _Away(row, self.ledger.slot - 1)
            self._away[user] = past
            self._leavers.append((past.last, user))
        self._shrink(row)

    def change(self, user: Hashable, requirement: Requirement) -> None:
        """Let a registered user, or a declared group, ask for something else from the next slot on."""
        self._check(requirement)
        if user in self.groups:
            self.ledger.change_row(self.groups[user], requirement)
            self._accept(requirement)
            return
        row = int(self.register.rows[self.register.position(user)])
        if row in self._shared:
            if self._cohort(requirement) == row:
                return
            if user in self._newcomers():  # never in force there: as if it had not been asked for
                target = self._place(self._new[user], requirement)
            else:
                target = self._branch(row, self.ledger.slot - 1, requirement)
            self._shrink(row)
        else:
            target = self._ask_anew(row, requirement)
        if target != row:
            self.register.move(user, target)
            self._owned(target, user)
        self._accept(requirement)

    def declare(self, table: Sequence[Dynamic], choice: npt.ArrayLike) -> None:
        """Let everybody ask anew: for each position the index of a dynamic requirement, -1 for no change."""
        for requirement in table:
            self._check(requirement)
            if not isinstance(requirement, Dynamic):
                raise WrongKind("declare takes dynamic requirements; use change for a fixed one")
        picked = np.asarray(choice)
        if picked.shape != (len(self.register),) or picked.dtype.kind not in "iu":
            raise WrongShape(f"choice must hold one whole index for each of {len(self.register)} positions")
        if picked.size and (picked.min() < -1 or picked.max() >= len(table)):
            raise WrongShape(f"choice must be -1 or point into the table of {len(table)} requirements")
        rows = self.register.rows
        if self.register.vacant and bool(((picked >= 0) & (rows < 0)).any()):
            raise UnknownUser("choice asks for somebody who has left; use -1 there")
        if self.ledger.privacy.infeasible == "project":
            picked = self._declare_at_once(table, picked)
        asking = [(self.register.users[place], table[picked[place]]) for place in np.flatnonzero(picked >= 0).tolist()]
        for user, requirement in asking:
            self._refuse_infeasible(user, requirement)
        for user, requirement in asking:
            self.change(user, requirement)
        for requirement in table:
            self._accept(requirement)

    def _declare_at_once(self, table: Sequence[Dynamic], picked: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Serve everybody who is dynamic already, without a loop; what is left of `picked` asks one by one."""
        levels, rows, crowd = self.ledger.levels(table), self.register.rows, self.ledger.crowd
        if crowd is not None and self._all_crowd():
            crowd.declare_all(levels, picked)
            return np.empty(0, np.int64)
        inside = (rows >= CROWD) & (picked >= 0)
        if crowd is not None:
            crowd.declare(rows[inside] - CROWD, levels[picked[inside]])
        own = np.flatnonzero((picked >= 0) & ~inside)
        own = own[self.ledger.declaring(rows[own])]
        self.ledger.declare_rows(rows[own], levels[picked[own]])
        inside[own] = True
        return np.where(inside, -1, picked)

    def begin_slot(self) -> None:
        """Forget people and rows whose windows have closed; merge rows that a cohort dominates."""
        slot, span = self.ledger.slot, self.ledger.span
        while self._leavers and self._leavers[0][0] + span < slot:
            last, user = self._leavers.popleft()
            away = self._away.get(user)
            if away is not None and away.last == last:
                del self._away[user]
                self.register.forget(user)
                self.ledger.forget(last)
        while self._emptied and self._emptied[0][0] + span < slot:
            self._free(*self._emptied.popleft())
        if self._own and slot % span == 0:
            self.consolidate()

    def consolidate(self) -> int:
        """Move users out of rows of their own into a cohort that dominates them; return how many moved."""
        moved, ledger = 0, self.ledger
        for row, user in list(self._own.items()):
            cohort = ledger.dominating(row, self._cohorts)
            if cohort is not None:
                self.register.move(user, cohort)
                ledger.resize(cohort, int(ledger.sizes[cohort]) + 1)
                del self._own[row]
                self._empty_since.pop(row, None)  # so that nothing frees the row a second time
                self._newcomers().pop(user, None)  # the past is the cohort's from now on
                ledger.free_row(row)
                moved += 1
        return moved

    # --- inside --------------------------------------------------------------------------------

    def _check(self, requirement: Requirement) -> None:
        """Refuse what the settings do not allow; what was accepted once always is."""
        if not isinstance(requirement, Fixed | Dynamic):
            raise InvalidRequirement("a requirement is Fixed(epsilon, window) or Dynamic(forward, backward)")
        if requirement in self._known:
            return
        if isinstance(requirement, Dynamic) and not self._dynamic:
            raise WrongKind(
                "this mechanism serves fixed requirements only, and a dynamic one was asked for; "
                "use auto, dpbd or dpba, or ask for Fixed(epsilon, window)"
            )
        check_limits(requirement, self.ledger.privacy.limits)
        least, greatest = self._with_share(requirement)
        if greatest > self.ledger.privacy.limits.share_ratio * least:
            raise InvalidRequirement(
                f"the shares epsilon/window asked for in this stream may differ by a factor of at most "
                f"{self.ledger.privacy.limits.share_ratio}; ask for more, or less, over the same window",
                limit=self.ledger.privacy.limits.share_ratio,
            )

    def _with_share(self, requirement: Requirement) -> tuple[int, int]:
        """Least and greatest share asked for so far, this one included."""
        share = (requirement if isinstance(requirement, Fixed) else requirement.forward).share
        return min(self._shares[0], share), max(self._shares[1], share)

    def _accept(self, requirement: Requirement) -> None:
        if requirement not in self._known:
            self._shares = self._with_share(requirement)
            if len(self._known) < _REMEMBERED:
                self._known.add(requirement)

    def _open_all(self) -> None:
        """The rows of the register as it was declared, in the ledger."""
        register, ledger = self.register, self.ledger
        for requirement in register.table:
            ledger.remember(requirement)
        grouped = np.isin(np.arange(register.asks.size), list(register.groups.values()))
        moving = np.array([isinstance(r, Dynamic) for r in register.table], bool)[register.asks]
        place = np.full(register.asks.size, -1, np.int64)
        sides = [r for k in register.asks[~moving].tolist() if isinstance(r := register.table[k], Fixed)]
        place[~moving] = ledger.open_fixed(
            np.array([side.units for side in sides], np.int64),
            np.array([side.window for side in sides], np.int64),
            register.sizes[~moving],
        )
        for row, side, group in zip(place[~moving].tolist(), sides, grouped[~moving].tolist(), strict=True):
            if not group:
                self._cohorts[side.units, side.window] = row
        self._shared = set(self._cohorts.values())
        for row in np.flatnonzero(moving & grouped).tolist():
            place[row] = ledger.open_row(register.table[int(register.asks[row])], int(register.sizes[row]))
        single = moving & ~grouped
        if single.any():
            levels = ledger.levels(register.table)
            place[single] = ledger.open_dynamic(levels[register.asks[single]])
        self.groups = {name: int(place[row]) for name, row in register.groups.items()}
        register.place_all(place)
        if single.any() and ledger.crowd is None:
            for user, row in zip(register.users, register.rows.tolist(), strict=True):
                self._owned(row, user)

    def _all_crowd(self) -> bool:
        """Whether position k is row k of the crowd, for all."""
        if self._straight[0] != self.register.changes:
            crowd = self.ledger.crowd
            same = crowd is not None and crowd.rows == len(self.register)
            same = same and bool((self.register.rows == CROWD + np.arange(len(self.register))).all())
            self._straight = (self.register.changes, same)
        return self._straight[1]

    def _place(self, away: _Away | None, requirement: Requirement) -> int:
        """A row for somebody who joins, with the past they left behind if there is one."""
        ledger = self.ledger
        if away is not None and away.row not in self._shared:
            row = self._ask_anew(away.row, requirement)
            ledger.resize(row, 1)
            return row
        cohort = self._cohort(requirement)
        if away is not None and cohort != away.row:
            return self._branch(away.row, away.last, requirement)
        if cohort is not None:
            ledger.resize(cohort, int(ledger.sizes[cohort]) + 1)
            return cohort
        if isinstance(requirement, Dynamic):
            return int(ledger.open_dynamic(ledger.levels([requirement]))[0])
        row = ledger.open_row(requirement, 1)
        self._cohorts[requirement.units, requirement.window] = row
        self._shared.add(row)
        return row

    def _cohort(self, requirement: Requirement) -> int | None:
        if isinstance(requirement, Dynamic):
            return None
        return self._cohorts.get((requirement.units, requirement.window))

    def _branch(self, row: int, until: int, requirement: Requirement) -> int:
        """A row of one's own with the past of a shared one up to slot `until`."""
        self.ledger.refuse_infeasible(row, requirement, until)
        own = self.ledger.copy_row(row, 1, until)
        self.ledger.change_row(own, requirement)
        return own

    def _ask_anew(self, row: int, requirement: Requirement) -> int:
        """The row of one's own after asking for something else; leaving the crowd takes the past along."""
        if row >= CROWD and not isinstance(requirement, Dynamic):
            self._empty_since.pop(row, None)  # leaving frees the row, and nothing may free it a second time
            row = self.ledger.leave_crowd(row)
        self.ledger.change_row(row, requirement)
        return row

    def _refuse_infeasible(self, user: Hashable, requirement: Requirement) -> None:
        """Raise `Infeasible`, where the settings say so, before anything is changed."""
        row = int(self.register.rows[self.register.position(user)])
        if row in self._shared and user in self._newcomers():
            away = self._new[user]
            if away is not None:
                self.ledger.refuse_infeasible(away.row, requirement, away.last)
        else:
            self.ledger.refuse_infeasible(row, requirement, self.ledger.slot - 1)

    def _owned(self, row: int, user: Hashable) -> None:
        if row < CROWD and row not in self._shared:
            self._own[row] = user

    def _shrink(self, row: int) -> None:
        """One member fewer."""
        left = self.ledger.size(row) - 1
        self.ledger.resize(row, left)
        if left == 0:
            if row not in self._shared:
                self.ledger.end_row(row)
                self._own.pop(row, None)
            self._emptied.append((self.ledger.slot - 1, row))
            self._empty_since[row] = self.ledger.slot - 1

    def _free(self, emptied: int, row: int) -> None:
        if self.ledger.size(row) == 0 and self._empty_since.get(row) == emptied:
            del self._empty_since[row]
            self._shared.discard(row)
            self._cohorts = {asked: cohort for asked, cohort in self._cohorts.items() if cohort != row}
            self.ledger.free_row(row)

    def _newcomers(self) -> dict[Hashable, _Away | None]:
        """Who joined since the last slot, with the past they came back to."""
        if self._new_slot != self.ledger.slot:
            self._new, self._new_slot = {}, self.ledger.slot
        return self._new
