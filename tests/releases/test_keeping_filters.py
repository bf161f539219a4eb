"""Filtered publishers as bytes: they go on as they would have; a durable journal refuses what it cannot keep."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from wevent import Mechanism, Publisher, Register, Slot, auto
from wevent.budgets.paced import Watched
from wevent.decisions.estimators import Unbiased
from wevent.decisions.watch import WatchTrigger
from wevent.errors import InvalidSetting
from wevent.noise import SeededNoise
from wevent.recipes import ESTIMATORS
from wevent.releases.filters import StateSpace
from wevent.releases.journal import MemoryJournal
from wevent.releases.keeping import restore, to_bytes

REGISTER = Register.from_arrays(np.repeat([0.5, 1.0, 2.0], 20), np.tile([3, 5, 9], 20))


def watched(register: Register, cells: int, **settings: Any) -> Publisher:
    pace = Watched()
    return Publisher(
        register, cells, Mechanism("watched", pace, WatchTrigger(pace), Unbiased(), StateSpace), **settings
    )


BUILDS: dict[str, Any] = {
    **{word: partial(auto, estimator=word) for word in ESTIMATORS},
    "watched": watched,
}


@pytest.mark.parametrize("name", BUILDS)
def test_bytes(name: str) -> None:
    """After a restore the same slots with the same noise give the same releases."""
    random = np.random.default_rng(1)
    places = [random.integers(-1, 4, 60) for _ in range(60)]
    first = BUILDS[name](REGISTER, 4, noise=SeededNoise(1), fast=False)
    for slot in range(1, 31):
        first.step(Slot(slot, places[slot - 1]))
    second = BUILDS[name](REGISTER, 4, noise=SeededNoise(9), fast=False)
    restore(second, to_bytes(first))
    first._noise, second._noise = SeededNoise(2), SeededNoise(2)
    second.journal._newest = 30
    for slot in range(31, 61):
        one, other = (each.step(Slot(slot, places[slot - 1])) for each in (first, second))
        assert one.decision == other.decision and one.threshold == other.threshold
        assert np.array_equal(one.counts, other.counts) and np.array_equal(one.standard_error, other.standard_error)
    assert to_bytes(first) == to_bytes(second)


class Durable(MemoryJournal):
    """Says that it outlives the process."""

    durable = True


@pytest.mark.parametrize("word", ESTIMATORS)
def test_a_durable_journal_refuses_fractions(word: str) -> None:
    """What a store would round or lose is refused before anything is spent."""
    with pytest.raises(InvalidSetting, match="fractional"):
        auto(REGISTER, 4, estimator=word, journal=Durable())
