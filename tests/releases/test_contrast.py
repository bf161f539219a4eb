"""Correcting a lean: the best unbiased sum, doubt that is honest, and what is learned is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wevent.budgets.codec import pack, unpack
from wevent.decisions.evidence import Contrast, Evidence, MeasurementOptions
from wevent.releases.bias import BiasModel, Correction, Mix, unlike

Floats = NDArray[np.float64]
variance = st.floats(0.01, 1e6)
PEOPLE = 10_000


def one(value: float) -> Floats:
    return np.full(1, value)


@given(variance, variance, st.floats(-0.5, 3), st.one_of(st.just(0.0), variance))
@settings(deadline=None)
def test_the_best_mix_is_generalised_least_squares(noise: float, contrast: float, offset: float, lean: float) -> None:
    """Of all sums that give L in the mean without a lean, the one of least variance, as linear algebra finds it."""
    mix = Mix.best(one(noise), one(contrast), one(offset), one(lean))
    # M = L + C + noise, and L - γM in the mean
    moved = np.array([1.0, -offset])
    total = np.diag([noise, contrast]) + lean * np.outer(moved, moved)
    design = np.array([1.0, 1.0 - offset])
    weights = np.linalg.solve(total, design)
    weights /= design @ weights
    found = np.array([mix.of_pooled[0], mix.of_contrast[0]])
    assert found == pytest.approx(weights, rel=1e-6, abs=1e-6)
    assert found @ design == pytest.approx(1, rel=1e-9)
    assert mix.lean[0] == pytest.approx(found @ moved, rel=1e-6, abs=1e-6)
    assert mix.noise(one(noise), one(contrast))[0] == pytest.approx(found**2 @ [noise, contrast], rel=1e-6)


def test_no_lean_changes_a_sum_that_may_lean_by_anything() -> None:
    """If nothing is known of C, it has no part in the sum; if there is none, the contrast only helps."""
    far = Mix.best(one(4.0), one(9.0), one(0.3), one(1e15))
    assert far.lean[0] == pytest.approx(0, abs=1e-9)
    none = Mix.best(one(4.0), one(9.0), one(0.3), one(0.0))
    assert none.noise(one(4.0), one(9.0))[0] < 4.0


def simulate(
    correction: Correction,
    lean: Floats,
    publications: int,
    random: np.random.Generator,
    tenths: float = 5.0,
    first: int = 1,
) -> tuple[Floats, Floats]:
    """Errors of corrected counts and their claimed variance, L being 2,000 in every cell (axes: publication, cell).

    Args:
        correction: which learns.
        lean: relative, of each cell.
        publications: every tenth slot.
        random: for the noise.
        tenths: how much noisier a contrast is than the counts.
        first: slot.
    """
    level, noise, offset, leverage = np.full(lean.size, 2_000.0), 900.0, 0.4, 0.3
    C = lean * leverage * level * (1 - 2_000 / PEOPLE)
    errors, claimed = [], []
    for slot in range(first, first + 10 * publications, 10):
        M = level + C
        seen = level - offset * M + random.normal(0, np.sqrt(noise * tenths), lean.size)
        pooled = M + random.normal(0, np.sqrt(noise), lean.size)
        contrast = Contrast(seen, noise * tenths, offset)
        corrected, rest = correction.correct(
            slot, Evidence(pooled, np.full(lean.size, noise), leverage, contrast), level, PEOPLE
        )
        errors.append(corrected.counts - level)
        claimed.append(corrected.variance + rest)
    return np.array(errors), np.array(claimed)


def test_a_lean_is_found() -> None:
    """Where counts lean by half, the mean error goes to 0 with time, and the variance to that of pooled counts."""
    random = np.random.default_rng(1)
    lean = random.choice([-0.5, 0.5], 200)
    errors, claimed = simulate(Correction(200), lean, 300, random, tenths=30.0)
    pooled = 0.3 * 0.5 * 2_000 * 0.8
    towards = np.abs((errors * np.sign(lean)).mean(axis=1))
    assert towards[-50:].mean() < 0.05 * pooled and towards[-50:].mean() < towards[0] / 2
    assert claimed[-1].mean() < 1.5 * 900 < claimed[0].mean()


@pytest.mark.parametrize("size", [0.0, 0.1, 1.0])
def test_doubt_is_honest(size: float) -> None:
    """Over many cells the squared error of corrected counts is what is claimed, within a third, early and late."""
    random = np.random.default_rng(2)
    errors, claimed = simulate(Correction(300), random.normal(0, np.sqrt(size), 300), 80, random)
    for part in (slice(5, 15), slice(60, 80)):
        assert 2 / 3 < float(np.square(errors[part]).mean() / claimed[part].mean()) < 1.5


def test_without_a_lean_hardly_anything_is_lost() -> None:
    """After 200 publications of counts that do not lean, corrected counts are as good as pooled ones."""
    random = np.random.default_rng(3)
    errors, _ = simulate(Correction(100), np.zeros(100), 250, random)
    assert float(np.square(errors[200:]).mean()) < 1.05 * 900


def test_without_leverage_nothing_happens() -> None:
    """Evidence without leverage passes unchanged, and nothing is learned from it."""
    correction, evidence = Correction(3), Evidence(np.array([1, 2, 3]), np.ones(3))
    before = pack(correction.state())
    passed, rest = correction.correct(1, evidence, np.ones(3), 10)
    assert passed is evidence and not rest.any()
    assert pack(correction.state()) == before


def test_a_slot_without_a_contrast_is_corrected_by_what_is_known() -> None:
    """Once the lean is known it is subtracted, contrast or not."""
    random = np.random.default_rng(4)
    correction, lean = Correction(50), np.full(50, 0.6)
    simulate(correction, lean, 300, random)
    C = 0.6 * 0.3 * 2_000 * 0.8
    corrected, rest = correction.correct(
        3_001, Evidence(np.full(50, 2_000 + C), np.full(50, 900.0), 0.3), np.full(50, 2_000.0), PEOPLE
    )
    assert corrected.contrast is None
    assert np.abs(corrected.counts - 2_000).mean() < 0.05 * C
    assert (rest > 0).all()


def test_state() -> None:
    """A restored correction goes on as the first would have, and a copy learns apart."""
    first, second = Correction(4), Correction(4)
    simulate(first, np.full(4, 0.3), 20, np.random.default_rng(5))
    second.restore(unpack(pack(first.state())))
    kept = pack(first.state())
    simulate(first.copy(), np.full(4, 0.3), 20, np.random.default_rng(6), first=201)
    assert pack(first.state()) == kept
    one, other = (simulate(each, np.full(4, 0.3), 9, np.random.default_rng(7), first=201) for each in (first, second))
    assert np.array_equal(one, other)
    assert pack(first.state()) == pack(second.state())


def lean_of(size: float, moves: float = 0.0, chance: float = 0.0, **more: float) -> BiasModel:
    settings = {"scale": 100.0, "leverage": 0.5, "gap": 1.0, "ahead": 1_000.0} | more
    models = (one(size), one(size), one(moves), one(chance), one(1.0))
    return BiasModel(settings["scale"], settings["leverage"], *models, settings["gap"], settings["ahead"])


def ways(noise: float, contrast: float, offset: float = 0.4, leverage: float = 0.5) -> MeasurementOptions:
    return MeasurementOptions(one(noise), one(contrast), one(offset), one(leverage))


@given(variance, variance, st.floats(0, 0.9))
def test_without_doubt_the_error_is_that_of_the_best_sum(noise: float, contrast: float, offset: float) -> None:
    """If there surely is no lean, what is foretold is the variance of the best mix, and nothing stays."""
    error, stays = lean_of(0.0).error(ways(noise, contrast, offset))
    mix = Mix.best(one(noise), one(contrast), one(offset), one(0.0))
    assert error == pytest.approx(mix.noise(one(noise), one(contrast)))
    assert stays == pytest.approx(0.0)


@given(variance, variance, st.floats(0.001, 4), st.one_of(st.just(0.0), st.floats(1e-6, 1e-2)))
def test_the_foretold_error(noise: float, contrast: float, size: float, moves: float) -> None:
    """Never above that of a sum that no lean can change, and the less known the larger."""
    known = lean_of(size, moves)
    error = sum(float(part[0]) for part in known.error(ways(noise, contrast)))
    unchanged = Mix.best(one(noise), one(contrast), one(0.4), one(1e30)).noise(one(noise), one(contrast))
    assert error <= unchanged[0] * (1 + 1e-6)
    doubtful = replace(known, size=2 * known.size, variance=2 * known.variance)
    assert error <= sum(float(part[0]) for part in doubtful.error(ways(noise, contrast))) * (1 + 1e-9)


@given(st.floats(0.001, 4), st.floats(1, 1e5), st.floats(100, 1e4))
@settings(deadline=None)
def test_what_will_be_known_is_the_mean_until_then(size: float, contrast: float, ahead: float) -> None:
    """A lean that stays, of which every slot shows more: the mean of its variance over the slots ahead."""
    noise, people = 1e-9, 0.5 * 100.0
    each = (0.36 * noise + contrast) / people**2
    slots = np.append(0.0, np.geomspace(1e-6, ahead, 2_000))
    left = float(np.trapezoid(1 / (1 / size + slots / each), slots)) / ahead
    wanted = Mix.best(one(noise), one(contrast), one(0.4), one(left * people**2))
    found = lean_of(size, ahead=ahead).error(ways(noise, contrast))
    assert found[0] == pytest.approx(wanted.noise(one(noise), one(contrast)), rel=1e-3)


@given(st.floats(1e-6, 1e-2), st.floats(1, 1e5), st.floats(1, 50))
@settings(deadline=None, max_examples=40)
def test_what_moves_is_known_as_far_as_a_filter_can(moves: float, contrast: float, gap: float) -> None:
    """A lean that moves and is known as well as it will ever be: the steady state of a filter, step by step."""
    people, noise = 50.0, 100.0
    each = (0.36 * noise + contrast) / people**2
    settled = float(np.sqrt(moves * gap * each))  # about
    for _ in range(1_000):
        settled = 1 / (1 / (settled + moves * gap) + 1 / each)
    lean = replace(lean_of(1.0, moves, gap=gap), variance=one(settled))
    mix = Mix.best(one(noise), one(contrast), one(0.4), one(settled * people**2))
    stays = lean.error(ways(noise, contrast))[1]
    assert stays == pytest.approx(np.square(mix.lean) * settled * people**2, rel=0.05)


def test_other_weights_are_another_lean() -> None:
    """Nothing is new at the same leverage or before there was any; the more it differs, the more is new."""
    assert unlike(one(0.3), 0.0)[0] == unlike(one(0.3), 0.3)[0] == 0
    assert 0 < unlike(one(0.4), 0.3)[0] < unlike(one(0.9), 0.3)[0]
