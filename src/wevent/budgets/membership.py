"""Applies requirement changes: knows who is in which row of a ledger, and what everybody's past is.

Joins, returns, changes and leaves are one value, a `RequirementChange`, and take one way, `Membership.apply`. All of
them keep the invariant of rows, which `budgets.pasts` states.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import astuple
from itertools import takewhile
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.budgets.admission import Admission
from wevent.budgets.invariant import check_changed
from wevent.budgets.ledger import Ledger
from wevent.budgets.pasts import Past
from wevent.budgets.placement import Placement, fixed_terms
from wevent.budgets.refusals import INDIVIDUAL, longest_window, refuse_infeasible, refuse_oversize
from wevent.budgets.single import Single
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Dynamic, Requirement
from wevent.cohorts.requirement_change import RequirementChange
from wevent.errors import AlreadyRegistered, SlotOutOfOrder, UnknownUser, WeventError, WrongRequirementKind, WrongShape


class Membership(Single):
    """Who is in which row of a ledger, and what they require.

    Guarantees:
        After any sequence of changes every row keeps the invariant of rows for each of its members.
        People and rows that left are forgotten once the longest window has passed over them.
        A refused call changes nothing.
        Rows are merged and freed once per slot, before anything else of it: how often a slot is tried, and what
        happens between two tries, changes nothing.
    """

    def __init__(self, register: Register, ledger: Ledger, *, dynamic: bool) -> None:
        self.admission = Admission(ledger.privacy, dynamic=dynamic)
        self.admission.check(register.table)
        self.register = register.copy()
        self.groups: dict[Hashable, int] = {}  # the row of each declared group; never changes
        self.placement = Placement(ledger)
        self._begun = ledger.slot  # the last slot that has begun: people were forgotten, rows merged and freed
        # Who entered a shared row since the last slot began, with the past that they had before: nothing that the
        # shared row required or spent was ever theirs. Cleared when a slot begins.
        self._entered: dict[Hashable, Past] = {}
        # Who left, with their past, in the order of leaving; until the longest window has passed, or they return.
        self._departed: dict[Hashable, Past] = {}
        # Derived from register and ledger; valid while the register's `changes` and the number of rows are the same.
        self._aligned: tuple[object, bool] = (None, False)  # whether position k is individual row k, for all
        self._resolved: tuple[object, int, npt.NDArray[np.int64]] | None = None  # what `rows` returns
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

    def apply(self, change: RequirementChange) -> None:
        """Let a person join, return, change or leave, or a declared group change, from the next slot on.

        Who leaves must not be counted in a group before their windows have closed: its row knows nothing of what they
        spent. `Register.unknown` leaves them out.
        """
        user, requirement = change.user, change.requirement
        if change.slot is not None and change.slot > self.ledger.slot:
            raise SlotOutOfOrder(
                f"a requirement change for slot {change.slot} came before slot {self.ledger.slot}; apply it when that "
                "slot is next. Nothing was changed.",
                slot=change.slot,
                expected=self.ledger.slot,
            )
        if requirement is None:
            self.register.position(user)
        else:
            self.admission.check([requirement])
        self.begin_slot()
        self._intact = False
        if requirement is None:
            self._leave(user)
        else:
            try:
                self._require(user, requirement)
            except WeventError:  # refused, before anything was changed
                self._intact = True
                raise
            self.admission.accept([requirement])
        self._intact = True
        check_changed(self)

    def join(self, user: Hashable, requirement: Requirement) -> None:
        """Register a person from the next slot on; one who left lately finds the old spends."""
        self.admission.check([requirement])  # None must not pass for a leave
        if user in self.register or user in self.groups:
            raise AlreadyRegistered("this user is registered already; change the requirement instead")
        self.apply(RequirementChange(user, requirement))

    def change(self, user: Hashable, requirement: Requirement) -> None:
        """Let a registered person, or a declared group, require something else from the next slot on."""
        self.admission.check([requirement])
        if user not in self.groups:
            self.register.position(user)
        self.apply(RequirementChange(user, requirement))

    def leave(self, user: Hashable) -> None:
        """End a registration from the next slot on; its windows stay alive."""
        self.apply(RequirementChange(user, None))

    def declare(self, table: Sequence[Dynamic], choice: npt.ArrayLike) -> None:
        """Change many requirements at once: for each position the index of a dynamic one, -1 for no change.

        Guarantees:
            All of it is checked before any of it takes effect.
        """
        self.admission.check(table)
        if not all(isinstance(requirement, Dynamic) for requirement in table):
            raise WrongRequirementKind("declare takes dynamic requirements; use change for a fixed one")
        picked = np.asarray(choice)
        if picked.shape != (len(self.register),) or picked.dtype.kind not in "iu":
            raise WrongShape(f"choice must hold one whole index for each of {len(self.register)} positions")
        if picked.size and (picked.min() < -1 or picked.max() >= len(table)):
            raise WrongShape(f"choice must be -1 or point into the table of {len(table)} requirements")
        if self.register.vacant and bool(((picked >= 0) & (self.register.rows < 0)).any()):
            raise UnknownUser("choice names a position whose owner has left; use -1 there")
        self.begin_slot()
        self._refuse_declaration(table, picked)
        self._intact = False
        levels = self.ledger.levels(table)
        self.admission.accept(table)
        for place in np.flatnonzero(self._declare_at_once(levels, picked) >= 0).tolist():
            self._require(self.register.users[place], table[picked[place]])
        self._intact = True
        check_changed(self)

    def begin_slot(self) -> None:
        """Forget people and rows whose windows have closed; merge rows that a shared row covers.

        Guarantees:
            It has an effect once per slot, and every change between two slots comes after it.
        """
        self.check_intact()
        slot, span = self.ledger.slot, self.ledger.span
        if self._begun == slot:
            return
        self._intact = False
        self._begun = slot
        self._entered.clear()
        for user in list(takewhile(lambda user: self._departed[user].last + span < slot, self._departed)):
            self.register.forget(user)
            self.ledger.forget(self._departed.pop(user).last)
        self.placement.begin_slot()
        if slot % span == 0:
            self.merge()
        self._intact = True
        check_changed(self)

    def merge(self) -> int:
        """Move people into a shared row that covers the row they are in; return how many moved."""
        return self.placement.merge(self.register)

    # --- one person ----------------------------------------------------------------------------

    def _past(self, user: Hashable) -> Past:
        """Everything that a person, or a group, could have spent until now."""
        slot = self.ledger.slot
        if user in self.groups:
            return Past((self.groups[user],), slot - 1, own=True)
        if user not in self.register:
            return self._departed.get(user) or self.placement.newcomer()
        row = self.register.row(user)
        return self._entered.get(user) or Past((row,), slot - 1, own=row not in self.placement.shared)

    def _require(self, user: Hashable, requirement: Requirement) -> None:
        registered, shared = user in self.register, self.placement.shared
        row = self.register.row(user) if registered else None
        if row in shared and shared[row] == fixed_terms(requirement):
            return
        past = self._past(user)
        target = self.placement.place(past, requirement)
        self._entered.pop(user, None)
        if target in shared:
            self._entered[user] = past
        if not registered and user not in self.groups:
            self._departed.pop(user, None)
            self.register.add(user, target)
        elif row is not None and row != target:
            self.register.move(user, target)
            if row in shared:
                self.placement.withdraw(row)

    def _leave(self, user: Hashable) -> None:
        past, row = self._past(user), self.register.row(user)
        self.register.remove(user)
        self._entered.pop(user, None)
        if past == self.placement.newcomer():
            self.register.forget(user)  # never in force, so they are as unlisted as before
        else:
            self._departed[user] = past
        self.placement.withdraw(row)

    # --- many people ---------------------------------------------------------------------------

    def _refuse_declaration(self, table: Sequence[Dynamic], picked: npt.NDArray[Any]) -> None:
        """Raise, before anything is changed, if any part of a declaration cannot be met."""
        rows, ledger = self.register.rows, self.ledger
        leaving = 0  # each of whom needs a row of their own
        if self.placement.shared and not self._all_individual():
            leaving = int(np.isin(rows[picked >= 0], list(self.placement.shared)).sum())
        refuse_oversize(ledger, max(map(longest_window, table), default=1), leaving)
        if ledger.privacy.infeasible == "reject":
            for place in np.flatnonzero(picked >= 0).tolist():
                refuse_infeasible(ledger, self._past(self.register.users[place]), table[picked[place]])

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

    def _open_all(self) -> None:
        """Open the rows of the register as it was declared: nobody has a past."""
        register, ledger, table = self.register, self.ledger, self.register.table
        grouped = np.isin(np.arange(register.required.size), list(register.groups.values()))
        moving = np.array([isinstance(requirement, Dynamic) for requirement in table], bool)[register.required]
        fixed, single = ~moving & ~grouped, moving & ~grouped
        many = int(single.sum())
        outside, individual = (grouped.size - many, many) if ledger.fast else (grouped.size, 0)
        refuse_oversize(ledger, max(map(longest_window, table), default=1), outside, individual)
        levels = ledger.levels(table)
        terms = np.array([fixed_terms(requirement) or (0, 0) for requirement in table], np.int64).reshape(-1, 2)
        terms = terms[register.required[fixed]]
        rows = np.empty(grouped.size, np.int64)
        rows[fixed] = ledger.open_fixed(terms[:, 0], terms[:, 1], register.sizes[fixed])
        for row in np.flatnonzero(grouped).tolist():
            rows[row] = ledger.open_row(table[register.required[row]], int(register.sizes[row]))
        if many:
            rows[single] = ledger.open_dynamic(levels[register.required[single]])
        self.groups = {name: int(rows[row]) for name, row in register.groups.items()}
        self.placement = Placement(ledger, tuple(sorted(self.groups.values())))
        for (units, window), row in zip(terms.tolist(), rows[fixed].tolist(), strict=True):
            self.placement.share((units, window), row)
        register.place_all(rows)

    def _all_individual(self) -> bool:
        """Whether position k is individual row k, for all."""
        if self._aligned[0] is not self.register.changes:
            individual = self.ledger.individual
            same = individual is not None and individual.rows == len(self.register)
            same = same and bool((self.register.rows == INDIVIDUAL + np.arange(len(self.register))).all())
            self._aligned = (self.register.changes, same)
        return self._aligned[1]

    # --- state -----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything but the ledger, as plain values; users and groups must be named by strings or whole numbers."""
        self.check_intact()
        return {
            "register": self.register.state(),
            "placement": self.placement.state(),
            "groups": [list(pair) for pair in self.groups.items()],
            "shares": list(self.admission.shares),
            "begun": self._begun,
            "entered": [[user, *astuple(past)] for user, past in self._entered.items()],
            "departed": [[user, *astuple(past)] for user, past in self._departed.items()],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], ledger: Ledger, *, dynamic: bool) -> Membership:
        """The same membership again, over a ledger that came back from its own bytes.

        Guarantees:
            Changes and slots that follow have the same effect as on the membership that was kept.
        """
        members = cls(Register(), ledger, dynamic=dynamic)
        members.register = Register.from_state(state["register"])
        members.placement = Placement.from_state(state["placement"], ledger)
        members.groups = dict(state["groups"])
        members.admission.shares = (state["shares"][0], state["shares"][1])
        members._begun = state["begun"]
        for kept, name in ((members._entered, "entered"), (members._departed, "departed")):
            kept.update((user, Past(tuple(rows), last, own)) for user, rows, last, own in state[name])
        return members
