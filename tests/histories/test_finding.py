"""The generator finds what it is steered towards: each mend is undone in turn, and a history must break."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.histories import copies
from tests.histories.profiles import PROFILES
from tests.histories.search import search

from wevent.budgets.history import History
from wevent.budgets.invariant import SWITCH
from wevent.budgets.membership import Membership
from wevent.budgets.pasts import Past
from wevent.budgets.placement import Placement
from wevent.cohorts.register import Register

Undo = Callable[[pytest.MonkeyPatch], None]


def forget_births(patch: pytest.MonkeyPatch) -> None:
    """Merged people keep nothing of their older birth."""
    patch.setattr(History, "adopt", lambda self, row, other: None)


def forget_the_group(patch: pytest.MonkeyPatch) -> None:
    """A person who is listed begins with an empty past."""
    patch.setattr(Placement, "newcomer", lambda self: Past((), self.ledger.slot - 1))


def hold_nobody(patch: pytest.MonkeyPatch) -> None:
    """A restored copy does not know what was promised in the lost one."""
    patch.setattr(copies, "_forfeit", lambda publisher, hold: publisher.forfeit(1))


def check_nothing_beforehand(patch: pytest.MonkeyPatch) -> None:
    """A bulk declaration is checked person by person, while it is applied."""
    patch.setattr(Membership, "_refuse_declaration", lambda self, table, picked: None)


def begin_again(patch: pytest.MonkeyPatch) -> None:
    """A slot is begun again after a failed charge, when changes were applied in between."""
    begin: Any = Membership.begin_slot

    def begin_slot(members: Any) -> None:
        members._begun = -1
        begin(members)

    patch.setattr(Membership, "begin_slot", begin_slot)


def count_people_who_left(patch: pytest.MonkeyPatch) -> None:
    """People who left count as unlisted at once."""
    patch.setattr(Register, "unknown", lambda self, users: [user for user in users if user not in self])


UNDONE: dict[str, Undo] = {
    "merges": forget_births,
    "groups": forget_the_group,
    "restores": hold_nobody,
    "bulk": check_nothing_beforehand,
    "retries": begin_again,
    "unlisted again": count_people_who_left,
}


@pytest.mark.parametrize("profile", UNDONE)
def test_an_undone_mend_is_found(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the mend a steered history breaks a promise, cannot be replayed, or leaves books half changed."""
    monkeypatch.delenv(SWITCH)  # so that the judge must find it
    UNDONE[profile](monkeypatch)
    found = search(PROFILES[profile], f"undone {profile}", 500, shrinking=0.0)
    assert found is not None
    assert found.failure.kind in ("promise", "replay", "BudgetExceeded", "register", "CorruptState")
