"""LBD and LBA: budgets and rests of BD and BA, decided by reports."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.study.baselines.local_runs import Ints, alike, run
from tests.support import ONE, fixed

from wevent.noise import SeededNoise, StudyNoise
from wevent.study.baselines.ldp_ids import LBA, LBD, BudgetDivision

kinds = pytest.mark.parametrize("kind", [LBD, LBA], ids=lambda kind: kind.name)


def standing(*shares: float, people: int = 1000) -> list[Ints]:
    """In each slot a share of all people is in cell 1, the others in cell 0."""
    return [(np.arange(people) < share * people).astype(np.int64) for share in shares]


def test_lbd_halves_what_is_left() -> None:
    """With reports that are nearly exact: published where the stream jumps, with E/4, E/8, E/16 and what comes back."""
    register = alike(100 * ONE, 4)
    found = run(LBD(register, 2, noise=SeededNoise(1), complete=True), register, standing(0, 0, 0.5, 1, 0))
    publish_budget = (found.spends[:, 0] - 100 * ONE // 8).tolist()
    assert found.letters == "psppp"
    assert publish_budget == [100 * ONE // 4, 0, 100 * ONE // 8, 100 * ONE // 16, (50 * ONE - 100 * ONE * 3 // 16) // 2]


def test_lba_saves_and_rests() -> None:
    """SPEC §5, golden: one share at 1, skip, two shares at 3, rest at 4, one share at 5."""
    register, share = alike(100 * ONE, 4), 100 * ONE // 8
    found = run(LBA(register, 2, noise=SeededNoise(1), complete=True), register, standing(0, 0, 0.5, 1, 0))
    assert found.letters == "pspnp"
    assert (found.spends[:, 0] - share).tolist() == [share, 0, 2 * share, 0, share]
    assert np.array_equal(found.counts[3], found.counts[2])
    assert np.abs(found.counts[[0, 2, 4]] - [[1000, 0], [500, 500], [1000, 0]]).max() < 1


@kinds
@given(
    tenths=st.integers(1, 400),
    window=st.integers(1, 12),
    jumps=st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=1, max_size=40),
    seed=st.integers(0, 10**6),
)
@settings(deadline=None)
def test_every_window_keeps_its_budget(
    kind: type[BudgetDivision], tenths: int, window: int, jumps: list[float], seed: int
) -> None:
    """However the stream jumps and whatever is decided, no window holds more than E."""
    required = fixed(tenths * ONE // 10, window)
    register = alike(tenths * ONE // 10, window, 50)
    found = run(kind(register, 2, noise=SeededNoise(seed)), register, standing(*jumps, people=50))
    assert found.worst([required]) <= 1
    assert (found.spends >= required.share).all()


@kinds
def test_a_still_stream_is_seldom_published(kind: type[BudgetDivision]) -> None:
    """Once it was published, a stream that stands still is skipped in most slots, and one that jumps is not."""
    register = alike(20 * ONE, 5)
    still = run(kind(register, 2, noise=StudyNoise(5), complete=True), register, standing(*[0.3] * 200))
    jumping = run(kind(register, 2, noise=StudyNoise(5), complete=True), register, standing(*[0.1, 0.9] * 100))
    assert still.letters.count("p") < 60 < jumping.letters.count("p")


def test_too_little_to_publish_with() -> None:
    """Where halving left less than one unit, LBD skips however far the stream jumped."""
    register = alike(8, 4)
    baseline = LBD(register, 2, noise=SeededNoise(1), complete=True)
    letters = ""
    spends: list[int] = []
    for places in standing(0, 1, 0):
        baseline.shown = np.full(2, 1e30)  # so far away that whatever can be published is
        found = run(baseline, register, [places])
        letters, spends = letters + found.letters, [*spends, int(found.spends[0, 0])]
    assert letters == "pps"
    assert spends == [1 + 2, 1 + 1, 1]
