"""Filtered publishers as bytes, whole or part by part: they go on as they would have."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from wevent import Mechanism, Publisher, Register, Slot, auto
from wevent.budgets.codec import pack, unpack
from wevent.budgets.paced import PacedWithChangeDetection
from wevent.decisions.change_detection import ChangeDetectionTrigger
from wevent.decisions.estimators import Unbiased
from wevent.errors import CorruptState, StoreVersion
from wevent.mechanisms import ESTIMATORS
from wevent.noise import SeededNoise
from wevent.releases.journal import MemoryJournal, Outcome
from wevent.releases.release import Release
from wevent.releases.state_space import StateSpace

REGISTER = Register.from_arrays(np.repeat([0.5, 1.0, 2.0], 20), np.tile([3, 5, 9], 20))


def watched(register: Register, cells: int, **settings: Any) -> Publisher:
    mechanism = Mechanism("watched", PacedWithChangeDetection, ChangeDetectionTrigger, Unbiased, StateSpace)
    return Publisher(register, cells, mechanism, **settings)


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
    second.restore(first.to_bytes())
    first._noise, second._noise = SeededNoise(2), SeededNoise(2)
    second.journal._newest = 30
    for slot in range(31, 61):
        left, right = (each.step(Slot(slot, places[slot - 1])) for each in (first, second))
        assert left.decision == right.decision and left.threshold == right.threshold
        assert np.array_equal(left.counts, right.counts) and np.array_equal(left.standard_error, right.standard_error)
    assert first.to_bytes() == second.to_bytes()


class Durable(MemoryJournal):
    """Says that it outlives the process, and fails once."""

    durable = True
    failed = False

    def settle(self, outcome: Outcome) -> Release:
        if not self.failed and outcome.slot == 25:
            self.failed = True
            raise OSError
        return super().settle(outcome)


@pytest.mark.parametrize("name", BUILDS)
def test_nothing_is_learned_from_what_was_not_kept(name: str) -> None:
    """A durable journal takes filters; after a slot that could not be kept view and trigger know what they knew."""
    publisher = BUILDS[name](REGISTER, 4, journal=Durable(), fast=False)
    for slot in range(1, 25):
        publisher.step(Slot(slot, np.zeros(60, np.int64)))
    before = publisher.state()
    with pytest.raises(OSError):
        publisher.step(Slot(25, np.ones(60, np.int64)))
    after = publisher.state()
    for part in ("filter", "trigger"):
        assert pack({"is": after[part]}) == pack({"is": before[part]})


@pytest.mark.parametrize("name", BUILDS)
def test_learned_parts(name: str) -> None:
    """What was planned and learned, part by part, makes a new publisher know what the first one knows."""
    first, second = (BUILDS[name](REGISTER, 4, noise=SeededNoise(1), fast=False) for _ in range(2))
    parts: dict[str, bytes] = {}
    for slot in range(1, 41):
        release = first.step(Slot(slot, np.zeros(60, np.int64)))
        parts |= first.planned() | first.learned(release.decision)
    second.restore_learned(parts)
    assert pack(second.state()) == pack(first.state())
    for damaged, error in ((b"x", CorruptState), (pack({}), StoreVersion)):
        with pytest.raises(error):
            second.restore_learned({"filter": damaged})


def test_another_version() -> None:
    """A whole publisher whose filter learned in another way is refused by name."""
    publisher = auto(REGISTER, 4)
    tree = unpack(publisher.to_bytes())
    tree["axes"]["filter"] = {"levels": np.zeros(4)}
    with pytest.raises(StoreVersion, match="another version"):
        publisher.restore(pack(tree))
