"""Reads one person's account from the ledger: what their window holds, and what is left for the next slot."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from wevent.budgets.ledger import Ledger
from wevent.budgets.membership import Membership


@dataclass(frozen=True, slots=True)
class Account:
    """What a person's row may spend, in units.

    Attributes:
        spent: what the slots hold that share a window of the requirement in force with the next slot. Of a dynamic
            requirement the forward window counts.
        room: the most that all live windows leave for the next slot (SPEC §2).
    """

    spent: int
    room: int


def read_account(members: Membership, user: Hashable) -> Account:
    """The account of a registered person; a shared row may count more than the person spent, never less."""
    ledger = members.ledger
    row = int(members.rows()[members.register.position(user)])
    past, window = _past(ledger, row)
    return Account(int(past[past.size - min(window - 1, past.size) :].sum()), int(ledger.room()[row]))


def _past(ledger: Ledger, row: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], int]:
    """Spends of a row by remembered slot, oldest first, and the window of its requirement in force."""
    outside, forward = ledger.history.rows, ledger.declarations.table.forward_window
    if row >= outside and ledger.individual is not None:
        change_budgets, publish_budgets = ledger.individual.spends(row - outside)
        level = int(ledger.individual.declared(np.array([row - outside]))[0])
        return change_budgets + publish_budgets, int(forward[level])
    change_budgets, publish_budgets = ledger.history.spends(row)
    terms = ledger.versions.in_force(row)
    window = int(forward[ledger.declarations.in_force[row]]) if terms is None else terms[1]
    return change_budgets + publish_budgets, window
