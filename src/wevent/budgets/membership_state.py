"""Who sits in which row, as plain values: a membership comes in, a tree for `codec` goes out; and back, exactly."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from wevent.budgets.ledger import Ledger
from wevent.budgets.membership import Membership
from wevent.budgets.placement import Departed
from wevent.cohorts.register import Register
from wevent.errors import CorruptState, InvalidInput

_NAMES = (str, int, type(None))


def membership_state(members: Membership) -> dict[str, Any]:
    """Everything of a membership but its ledger; users and groups must be named by strings or whole numbers."""
    register, placement = members.register, members.placement
    users = register.users
    whole = isinstance(users, range)
    if not whole and not all(isinstance(user, _NAMES) and not isinstance(user, bool) for user in users):
        raise InvalidInput("only users named by a string or a whole number can be kept; name them so")
    return {
        "users": len(users) if whole else list(users),
        "rows": register.rows.copy(),
        "free": list(register._free),
        "gone": [list(pair) for pair in register._departed.items()],
        "groups": [list(pair) for pair in members.groups.items()],
        "shares": list(members.admission.shares),
        "cohorts": [[*asked, row] for asked, row in placement.cohorts.items()],
        "shared": [[*asked, row] for row, asked in placement.shared.items()],
        "branched": [[*asked, row] for asked, row in placement.branched.items()],
        "own": [list(pair) for pair in placement.own.items()],
        "new": [[user, *_departed(past)] for user, past in members._new.items()],
        "begun": members._begun,
        "away": [[user, *_departed(past)] for user, past in members._departed.items()],
        "leavers": [list(pair) for pair in members._departures],
        "emptied": [list(pair) for pair in placement.emptied],
        "empty_since": [list(pair) for pair in placement.empty_since.items()],
    }


def membership_from_state(state: dict[str, Any], ledger: Ledger, *, dynamic: bool) -> Membership:
    """The same membership again, over a ledger that came back from its own bytes.

    Guarantees:
        Joins, leaves, changes and slots that follow have the same effect as on the membership that was kept.
    """
    register, users = Register(), state["users"]
    register._users = range(users) if isinstance(users, int) else users
    rows: np.ndarray[Any, np.dtype[np.int64]] = state["rows"]
    if rows.size != len(register._users):
        raise CorruptState("the kept register has more or fewer rows than people; restore it from a whole copy")
    register._rows, register._free = rows, state["free"]
    register._departed = _dict(state["gone"])
    if not isinstance(users, int):
        register._position = {user: place for place, user in enumerate(users) if user is not None}
    members = Membership(Register(), ledger, dynamic=dynamic)
    members.register, placement = register, members.placement
    members.groups = _dict(state["groups"])
    placement.groups = sorted(members.groups.values())
    members.admission.shares = (state["shares"][0], state["shares"][1])
    placement.cohorts = {(epsilon, window): row for epsilon, window, row in state["cohorts"]}
    placement.shared = {row: (epsilon, window) for epsilon, window, row in state["shared"]}
    placement.branched = {(epsilon, window): row for epsilon, window, row in state["branched"]}
    placement.own = _dict(state["own"])
    members._new = {user: _back(row, last) for user, row, last in state["new"]}
    members._begun = state["begun"]
    members._departed = {user: Departed(row, last) for user, row, last in state["away"]}
    members._departures = deque((last, user) for last, user in state["leavers"])
    placement.emptied = deque((slot, row) for slot, row in state["emptied"])
    placement.empty_since = _dict(state["empty_since"])
    return members


def _departed(past: Departed | None) -> tuple[int | None, int | None]:
    return (None, None) if past is None else (past.row, past.last)


def _back(row: int | None, last: int | None) -> Departed | None:
    return None if row is None or last is None else Departed(row, last)


def _dict(pairs: list[list[Any]]) -> dict[Any, Any]:
    return dict(pairs)
