"""Mechanisms that spend more than they say are detected, with as many runs as honest ones.

Scenes, promises, numbers of runs and confidence are those of `test_empirical_privacy`, in which the honest
mechanisms stay below their promise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.statistical.scenes import empty, lenient, presence, returned_as_another, strict
from tests.statistical.side_by_side import HalfTheNoise, Ints, Scene, estimated_loss
from tests.support import quick_and_slow

from wevent import Publisher
from wevent.budgets.ledger import Ledger
from wevent.decisions import sampling
from wevent.noise import SeededNoise
from wevent.units import Units

MOSTLY_SLOW = quick_and_slow(["pba"], ["pbd", "dpbd", "dpba"])


@pytest.mark.parametrize(
    ("scene_of", "promise"), [pytest.param(strict, 2, marks=pytest.mark.slow), (lenient, 4), (empty, 3)]
)
@pytest.mark.parametrize("recipe", MOSTLY_SLOW)
def test_half_the_noise(recipe: str, scene_of: Callable[[str], Scene], promise: float) -> None:
    """Noise of half the scale shows at least 1.2 times the promise."""
    assert estimated_loss(scene_of(recipe), HalfTheNoise(41)).refutes(1.2 * promise)


@pytest.mark.parametrize("recipe", MOSTLY_SLOW)
def test_people_who_are_kept_too_often(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A strict person who is kept as if the offer were twice as high: 1.1 times the promise of 2."""
    honest = sampling.keep_probabilities

    def doubled(budgets: Units, threshold: int) -> Ints:
        return honest(2 * budgets, threshold)

    monkeypatch.setattr(sampling, "keep_probabilities", doubled)
    monkeypatch.setattr(sampling, "REMEMBERED", -1)  # plans of honest runs are not used again, nor these by others
    assert estimated_loss(strict(recipe), SeededNoise(41)).refutes(1.1 * 2)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["pba", "dpba"])
def test_publications_that_are_not_recorded(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Absorption that refunds what it published never rests (SPEC §10): 1.2 times the promise of 2."""
    scene = presence(recipe, 2, 2, [0, 0, 6, 12, 18], window=3, absent=[1, 2], largest_step=1)
    assert not estimated_loss(scene, SeededNoise(44)).refutes(2)
    honest = Ledger.settle
    monkeypatch.setattr(Ledger, "settle", lambda ledger, published: honest(ledger, published=False))
    assert estimated_loss(scene, SeededNoise(44)).refutes(1.2 * 2)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["pbd", "dpbd"])
def test_a_history_that_is_cleared(recipe: str) -> None:
    """Distribution that forgets after every slot what it spent: 1.2 times the promise of 2."""

    def clear(publisher: Publisher) -> None:
        publisher.ledger.history.clear(np.arange(publisher.ledger.history.rows))
        publisher.ledger._view = None

    counts = [12, 0, 12, 0, 12, 0]
    honest = presence(recipe, 2, 2, counts, window=6, largest_step=1)
    assert not estimated_loss(honest, SeededNoise(45)).refutes(2)
    forgetful = presence(recipe, 2, 2, counts, window=6, largest_step=1, between=dict.fromkeys(range(2, 7), clear))
    assert estimated_loss(forgetful, SeededNoise(45)).refutes(1.2 * 2)


@pytest.mark.parametrize("recipe", quick_and_slow(["pbd"], ["dpbd"]))
def test_a_new_row_for_a_person_who_returns(recipe: str) -> None:
    """A person who returns and has no earlier spends: 1.1 times the promise of 3."""
    assert estimated_loss(returned_as_another(recipe), SeededNoise(46)).refutes(1.1 * 3)
