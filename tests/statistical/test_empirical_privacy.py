"""Runs on neighbouring streams never show more loss than was promised.

Every test runs a mechanism on two streams that differ in one person's rows and compares the outputs
(`releases.empirical`). Bounds have a confidence of 1 - 10⁻⁴. Since a bound below the promise proves nothing
by itself, each test also states which share of the promise its runs must show; `test_broken_promises` breaks
the same mechanisms and detects it with the same runs.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.statistical.scenes import ADD_REMOVE, SUBSTITUTION, changed, empty, lenient, moved_by, returned, strict
from tests.statistical.side_by_side import CONFIDENCE, Scene, estimated_loss, run_at_once, run_by_step

from wevent import Fixed, Privacy
from wevent.cohorts.histogram import PersonTally
from wevent.decisions.sampling import sample
from wevent.decisions.selection import Selection
from wevent.noise import SeededNoise
from wevent.releases.empirical import compare
from wevent.units import NANO


@pytest.mark.slow
@pytest.mark.usefixtures("without_numba")
@pytest.mark.parametrize(
    "scene",
    [strict("pbd"), lenient("pba"), changed("dpbd"), returned("dpba"), moved_by(SUBSTITUTION)("pba")],
    ids=lambda scene: scene.recipe,
)
def test_runs_at_once_are_runs_of_publishers(scene: Scene) -> None:
    """2,500 publishers, step by step, give what 250,000 runs at once give (chi-square at 10⁻⁶)."""
    steps = run_by_step(scene, 1, 2_500, SeededNoise(31)).coded(scene)
    wide = run_at_once(scene, 1, 250_000, SeededNoise(32)).coded(scene)
    outputs, which = np.unique(steps + wide, return_inverse=True)
    table = np.stack([np.bincount(part, minlength=outputs.size) for part in np.split(which, [len(steps)])])
    often = table[1] >= 1_000  # expects at least ten of the publishers
    joined = np.column_stack([table[:, often], table[:, ~often].sum(axis=1)])
    assert often.sum() > 5
    assert stats.chi2_contingency(joined[:, joined.sum(axis=0) > 0]).pvalue > 1e-6


@pytest.mark.parametrize(
    ("scene", "promise", "least"),
    [
        pytest.param(
            scene_of(recipe), promise, least, id=f"{name}-{recipe}", marks=() if recipe == quick else pytest.mark.slow
        )
        for name, scene_of, promise, quick, shares in [
            ("strict", strict, 2, "pbd", {"pbd": 0.65, "pba": 0.85, "dpbd": 0.65, "dpba": 0.85}),
            ("lenient", lenient, 4, None, {"pbd": 0.75, "pba": 0.90, "dpbd": 0.75, "dpba": 0.90}),
            ("moved", moved_by(ADD_REMOVE), 8, None, {"pbd": 0.40, "pba": 0.60, "dpbd": 0.40, "dpba": 0.60}),
            ("exchanged", moved_by(SUBSTITUTION), 4, "pba", {"pbd": 0.2, "pba": 0.4, "dpbd": 0.2, "dpba": 0.4}),
            ("returned", returned, 3, "dpbd", {"pbd": 0.50, "pba": 0.65, "dpbd": 0.50, "dpba": 0.65}),
            ("empty", empty, 3, None, {"pbd": 0.65, "pba": 0.90, "dpbd": 0.65, "dpba": 0.90}),
            ("changed", changed, 4, "dpba", {"dpbd": 0.75, "dpba": 0.90}),
        ]
        for recipe, least in shares.items()
    ],
)
def test_no_more_is_lost_than_promised(scene: Scene, promise: float, least: float) -> None:
    """The lower bound is at most E of the target's window; 2E for whereabouts under add_remove."""
    loss = estimated_loss(scene, SeededNoise(41))
    assert not loss.refutes(promise)
    assert loss.epsilon > least * promise


@pytest.mark.parametrize(("privacy", "promise"), [(ADD_REMOVE, 2), (SUBSTITUTION, 1)])
def test_whereabouts_cost_twice_as_much_as_presence(privacy: Privacy, promise: int) -> None:
    """E = 1, all published: whether cell A or B shows 2E under add_remove, and E under substitution."""
    scene = Scene("uniform", [Fixed(1, 1)] * 2, ([[0, -1]], [[1, -1]]), cells=2, privacy=privacy)
    loss = estimated_loss(scene, SeededNoise(42))
    assert 0.9 * promise < loss.epsilon <= promise


@pytest.mark.slow
@pytest.mark.parametrize("registered", [2, 60], ids=["coin per person", "draw per budget and cell"])
def test_two_cells_of_a_sampled_person(registered: int) -> None:
    """A person of budget 1 in two cells (k = 2) at threshold 2: a coin for each cell loses at most 1."""
    runs, noise = 200_000, SeededNoise(43)
    selection = Selection(2 * NANO, 0.0, 0.0, 0.0, np.array([1, 2]) * NANO)
    sizes = np.array([registered, 2]) * runs  # only the target is present
    outputs = []
    for present in (False, True):
        cells = np.where(present, np.arange(2 * runs).reshape(runs, 2), -1)
        tally = PersonTally(np.zeros(runs, np.int64), cells, {}, np.full(2 * runs, int(present)))
        counts = sample(tally, selection, sizes, 2, noise).reshape(runs, 2)
        outputs.append([tuple(pair) for pair in np.clip(counts, 0, 1).tolist()])
    loss = compare(outputs[0], outputs[1], CONFIDENCE)
    assert 0.65 < loss.epsilon <= 1
