"""One account book: publishers share nothing, and what spends budgets cannot be copied."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from wevent import RECIPES, Fixed, Mechanism, Publisher, Register, Slot
from wevent.budgets.ledger import Ledger
from wevent.budgets.paced import AdaptivePacing
from wevent.decisions.change_detection import ChangeDetectionTrigger
from wevent.decisions.estimators import Unbiased
from wevent.errors import CopyRefused
from wevent.noise import SeededNoise
from wevent.releases.state_space import StateSpace

PEOPLE = {k: Fixed(1, 4) for k in range(20)}
COPIES: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, pickle.dumps, lambda book: pickle.dumps([book])]


def test_publishers_of_one_mechanism_share_nothing() -> None:
    """A publisher beside another of the same mechanism releases what it would alone."""
    mechanism = Mechanism("shared", AdaptivePacing, ChangeDetectionTrigger, Unbiased, StateSpace)

    def publisher() -> Publisher:
        return Publisher(Register.from_rows(PEOPLE), 3, mechanism, noise=SeededNoise(2))

    first, second, alone = publisher(), publisher(), publisher()
    for axis in ("schedule", "trigger", "estimator", "filter"):
        assert getattr(first, axis) is not getattr(second, axis)
    for slot in range(1, 31):
        first.step(Slot(slot, dict.fromkeys(range(slot % 20), 0)))
    for slot in range(1, 31):
        release, other = (each.step(Slot(slot)) for each in (second, alone))
        assert release.decision == other.decision and (release.counts == other.counts).all()


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("name", RECIPES)
def test_copies_are_refused(copied: Callable[[Any], Any], name: str) -> None:
    """A publisher, its ledger and its membership refuse to be copied or pickled, and say what to do instead."""
    publisher = RECIPES[name](Register.from_rows(PEOPLE), 3)
    for book in (publisher, publisher.ledger, publisher.members):
        with pytest.raises(CopyRefused, match=r"to_bytes.*restore.*store"):
            copied(book)
    assert publisher.step(Slot(1)).slot == 1


def test_the_safe_ways_work() -> None:
    """What the message names does what it says."""
    publisher, twin = (RECIPES["pbd"](Register.from_rows(PEOPLE), 3) for _ in range(2))
    publisher.step(Slot(1))
    twin.restore(publisher.to_bytes())
    assert twin.ledger.slot == 2
    assert Ledger.from_bytes(publisher.ledger.to_bytes()).slot == 2
