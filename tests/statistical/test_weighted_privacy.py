"""Runs of the weighing estimators on neighbouring slots never show more loss than was offered.

Bounds have a confidence of 1 - 10⁻⁴, as in `test_empirical_privacy`; each test states the loss that its runs must show.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.statistical.side_by_side import CONFIDENCE, HalfTheNoise
from tests.support import quick_and_slow

from wevent import Fixed, Register, Slot, auto
from wevent.cohorts.histogram import RowTally
from wevent.decisions import weighting
from wevent.decisions.contrasted import PooledWithContrast
from wevent.decisions.estimators import Estimator, Unbiased
from wevent.decisions.pooled import Pooled
from wevent.mechanisms import EstimatorName
from wevent.noise import SeededNoise
from wevent.releases.empirical import EmpiricalLoss, compare
from wevent.units import NANO

RUNS = 200_000
SIZES = np.array([1, 3, 20])
BUDGETS = np.array([1.0, 1.5, 2.0]) * NANO


def estimated_loss(estimator: Estimator, noise: SeededNoise, target: int = 0) -> EmpiricalLoss:
    """One cell per run: the target's row is empty, or has one person; the others are the same."""
    budgets = BUDGETS.astype(np.int64)
    selection = estimator.choose(budgets, SIZES, 1, None)
    outputs, middle = [], None
    for present in (0, 1):
        counts = np.repeat(np.array([[0], [1], [2]]), RUNS, axis=1)
        counts[target] += present
        evidence = estimator.draw(RowTally(counts), selection, SIZES, 1, noise, None)
        around = counts.sum(axis=0)[0] - present
        steps = [np.clip(np.rint((evidence.counts - around) * 4), -12, 12)]
        if evidence.contrast is not None:
            middle = (
                np.median(evidence.contrast.counts) if middle is None else middle
            )  # that of the first slot for both
            away = (evidence.contrast.counts - middle) / np.sqrt(evidence.contrast.variance)
            steps.append(np.clip(np.rint(away * 2), -4, 4))
        outputs.append([tuple(each) for each in np.column_stack(steps).astype(int).tolist()])
    return compare(outputs[0], outputs[1], CONFIDENCE)


@pytest.mark.parametrize("target", quick_and_slow([0], [2]), ids=["strict", "lenient"])
@pytest.mark.parametrize("kind", quick_and_slow([Pooled], [Unbiased, PooledWithContrast]))
def test_no_more_is_lost_than_offered(kind: Any, target: int) -> None:
    """The bound is at most the budget of the target, and at least 0.6 of the part that the estimator uses."""
    loss = estimated_loss(kind(), SeededNoise(51), target)
    offered = float(BUDGETS[target]) / NANO
    used = {Unbiased: 1.0, PooledWithContrast: 0.8 * offered}.get(kind, offered)
    assert not loss.refutes(offered)
    assert loss.epsilon > 0.6 * min(used, offered)


@pytest.mark.parametrize("kind", quick_and_slow([Pooled], [Unbiased, PooledWithContrast]))
def test_half_the_noise_is_detected(kind: Any) -> None:
    """With half the noise, the same runs refute the promise."""
    assert estimated_loss(kind(), HalfTheNoise(52)).refutes(1.2)


@pytest.mark.slow
def test_weights_that_are_too_large_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A strict person who counts as much as the lenient ones: the same runs refute the promise."""
    from wevent.decisions import pooled

    honest = weighting.weigh
    monkeypatch.setattr(pooled, "weigh", lambda budgets, theta, bits: honest(np.maximum(budgets, theta), theta, bits))
    assert estimated_loss(Pooled(), SeededNoise(53)).refutes(1.2)


def test_a_contrast_that_costs_too_much_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A contrast that is drawn with a fifth of its noise: the same runs refute the promise."""
    from wevent.decisions import contrasted

    honest = weighting.add_noise
    monkeypatch.setattr(contrasted, "add_noise", lambda sums, theta, *more: honest(sums, 5 * theta, *more))
    assert estimated_loss(PooledWithContrast(), SeededNoise(55)).refutes(1.2)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["unbiased", "uncorrected", "pooled"])
def test_auto_over_a_window(estimator: EstimatorName) -> None:
    """Three slots of a window of three, filtered counts included: 1,200 publishers show less than E = 2."""
    outputs: list[list[tuple[int, ...]]] = [[], []]
    noise = SeededNoise(54)
    people = {k: Fixed(2 if k == 0 else 3, 3) for k in range(5)}
    for _ in range(1_200):
        for present in (0, 1):
            publisher = auto(Register.from_rows(people), 1, estimator=estimator, noise=noise, fast=False)
            steps: list[int] = []
            for slot in (1, 2, 3):
                release = publisher.step(Slot(slot, np.array([0 if present else -1, 0, 0, -1, -1])))
                steps.append(int(np.clip(np.rint(2 * (release.counts[0] - 2)), -2, 2)))
            outputs[present].append(tuple(steps))
    assert not compare(outputs[0], outputs[1], CONFIDENCE).refutes(2)
