"""Asserts the invariant of rows (`budgets.pasts`) in tests and debug runs.

By induction: a person's past is the row in which they are, until they leave it. So it is enough that every row covers
the past from which a person was placed into it, that no row is freed while a past needs it, and that rows and people
fit together. With the environment variable `WEVENT_CHECK_ROWS` set, and without `python -O`, a membership checks all of
this after every change; otherwise the check costs nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from wevent.budgets.refusals import INDIVIDUAL

if TYPE_CHECKING:
    from wevent.budgets.membership import Membership
    from wevent.budgets.pasts import Past, Pasts

SWITCH = "WEVENT_CHECK_ROWS"
"""The environment variable that turns the checks on."""


def check_placed(rows: Pasts, row: int, past: Past) -> None:
    """In a debug run, assert that a row covers the past of a person who was placed into it."""
    if __debug__ and SWITCH in os.environ:
        assert_covered(rows, row, past)


def check_changed(members: Membership) -> None:
    """In a debug run, assert the invariant of rows after a change."""
    if __debug__ and SWITCH in os.environ:
        check_invariant(members)


def assert_covered(rows: Pasts, row: int, past: Past) -> None:
    """Raise `AssertionError` unless a row covers a past."""
    if past.own:
        return
    _assert(rows.covers(row, past), row, "recorded less, or is bound by less, than a past that it must cover")
    born, known = rows.history.birth(row)
    for source_born, source_known in map(rows.history.birth, past.rows):
        _assert(born <= source_born, row, "was born after a past that it must cover")
        oldest = rows.slot - rows.span + 1
        _assert(max(known, oldest) >= source_known, row, "remembers what a past that it must cover has forgotten")


def check_invariant(members: Membership) -> None:
    """Raise `AssertionError` unless rows, people and pasts fit together."""
    ledger, placement = members.ledger, members.placement
    free = list(ledger._free)
    if ledger.individual is not None:
        free += [INDIVIDUAL + row for row in ledger.individual._free]
    grouped, sizes = set(placement.groups), ledger.all_sizes
    rows = members.rows()
    heads = np.bincount(rows[rows >= 0], minlength=ledger.rows)
    for row in np.flatnonzero(heads != sizes).tolist():
        _assert(row in grouped and heads[row] == 0, row, "has another size than members")
    _assert(len(set(free)) == len(free), -1, "was freed twice")
    for row in free:
        _assert(ledger.size(row) == 0 and row not in placement.shared, row, "is free and in use")
    for row in np.flatnonzero(ledger.sizes == 0).tolist():
        _assert((row in free) != (row in placement._empty), row, "is empty, and not known to be, or freed too early")
    for row, terms in placement.shared.items():
        same = ledger.versions.in_force(row) == terms
        _assert(same and row not in grouped, row, "requires something else than its people")
    for row in np.flatnonzero(ledger.sizes > 1).tolist():
        _assert(row in placement.shared or row in grouped, row, "is one person's and has several members")
    for user, past in members._departed.items():
        _assert(user not in members.register, -1, "has a person who left")
        _assert(not set(past.rows) & set(free), -1, "was freed while a past needs it")
    for user, past in members._entered.items():
        row = int(members.register.rows[members.register.position(user)])
        _assert(row in placement.shared and not set(past.rows) & set(free), row, "was freed while a past needs it")
        assert_covered(ledger, row, past)


def _assert(holds: bool, row: int, what: str) -> None:
    if not holds:
        raise AssertionError(f"row {row if row >= 0 else ''} {what}")
