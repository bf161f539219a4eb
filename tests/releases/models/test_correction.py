"""The correction of pooled counts: a bias is found, its claimed error is honest, and what was learned is kept."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from wevent.budgets.codec import pack, unpack
from wevent.decisions.evidence import Contrast, Evidence
from wevent.releases.models.correction import BiasCorrection

Floats = NDArray[np.float64]
PEOPLE = 10_000


def simulate(
    correction: BiasCorrection,
    bias: Floats,
    publications: int,
    random: np.random.Generator,
    tenths: float = 5.0,
    first: int = 1,
) -> tuple[Floats, Floats]:
    """Errors of corrected counts and their claimed variance, L being 2,000 in every cell (axes: publication, cell).

    Args:
        correction: it learns.
        bias: relative, of each cell.
        publications: every tenth slot.
        random: for the noise.
        tenths: how much noisier a contrast is than the counts.
        first: slot.
    """
    level, noise, offset, leverage = np.full(bias.size, 2_000.0), 900.0, 0.4, 0.3
    C = bias * leverage * level * (1 - 2_000 / PEOPLE)
    errors, claimed = [], []
    for slot in range(first, first + 10 * publications, 10):
        M = level + C
        measured = level - offset * M + random.normal(0, np.sqrt(noise * tenths), bias.size)
        pooled = M + random.normal(0, np.sqrt(noise), bias.size)
        contrast = Contrast(measured, noise * tenths, offset)
        corrected, rest = correction.correct(
            slot, Evidence(pooled, np.full(bias.size, noise), leverage, contrast), level, PEOPLE
        )
        errors.append(corrected.counts - level)
        claimed.append(corrected.variance + rest)
    return np.array(errors), np.array(claimed)


def test_a_bias_is_found() -> None:
    """With a relative bias of a half, the mean error tends to 0 and the variance to that of pooled counts."""
    random = np.random.default_rng(1)
    bias = random.choice([-0.5, 0.5], 200)
    errors, claimed = simulate(BiasCorrection(200), bias, 300, random, tenths=30.0)
    pooled = 0.3 * 0.5 * 2_000 * 0.8
    towards = np.abs((errors * np.sign(bias)).mean(axis=1))
    assert towards[-50:].mean() < 0.05 * pooled and towards[-50:].mean() < towards[0] / 2
    assert claimed[-1].mean() < 1.5 * 900 < claimed[0].mean()


@pytest.mark.parametrize("size", [0.0, 0.1, 1.0])
def test_the_claimed_variance_is_honest(size: float) -> None:
    """Over many cells the squared error of corrected counts is the claimed one, within a third, early and late."""
    random = np.random.default_rng(2)
    errors, claimed = simulate(BiasCorrection(300), random.normal(0, np.sqrt(size), 300), 80, random)
    for part in (slice(5, 15), slice(60, 80)):
        assert 2 / 3 < float(np.square(errors[part]).mean() / claimed[part].mean()) < 1.5


def test_without_a_bias_hardly_anything_is_lost() -> None:
    """After 200 publications of unbiased counts, corrected counts are as good as pooled ones."""
    random = np.random.default_rng(3)
    errors, _ = simulate(BiasCorrection(100), np.zeros(100), 250, random)
    assert float(np.square(errors[200:]).mean()) < 1.05 * 900


def test_evidence_without_leverage_passes_unchanged() -> None:
    """The correction learns nothing from it."""
    correction, evidence = BiasCorrection(3), Evidence(np.array([1, 2, 3]), np.ones(3))
    before = pack(correction.state())
    passed, rest = correction.correct(1, evidence, np.ones(3), 10)
    assert passed is evidence and not rest.any()
    assert pack(correction.state()) == before


def test_a_slot_without_a_contrast_is_corrected_by_the_learned_bias() -> None:
    """Once the bias is known it is subtracted, with or without a contrast."""
    random = np.random.default_rng(4)
    correction = BiasCorrection(50)
    simulate(correction, np.full(50, 0.6), 300, random)
    C = 0.6 * 0.3 * 2_000 * 0.8
    corrected, rest = correction.correct(
        3_001, Evidence(np.full(50, 2_000 + C), np.full(50, 900.0), 0.3), np.full(50, 2_000.0), PEOPLE
    )
    assert corrected.contrast is None
    assert np.abs(corrected.counts - 2_000).mean() < 0.05 * C
    assert (rest > 0).all()


def test_state() -> None:
    """A restored correction continues as the first would have, and a copy learns independently."""
    first, second = BiasCorrection(4), BiasCorrection(4)
    simulate(first, np.full(4, 0.3), 20, np.random.default_rng(5))
    second.restore(unpack(pack(first.state())))
    kept = pack(first.state())
    simulate(first.copy(), np.full(4, 0.3), 20, np.random.default_rng(6), first=201)
    assert pack(first.state()) == kept
    first_result, second_result = (
        simulate(each, np.full(4, 0.3), 9, np.random.default_rng(7), first=201) for each in (first, second)
    )
    assert np.array_equal(first_result, second_result)
    assert pack(first.state()) == pack(second.state())
