"""The parts of protocol `printed`: what the released code offered, chose, drew and reported, number by number."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.study.protocols import naive_printed as naive
from tests.study.protocols.printed_scenes import jumpy, requirements_of
from tests.support import quick_and_slow

from wevent.cohorts.requirement import Dynamic
from wevent.study.protocols.printed_methods.choice import by_error, by_scale, choose, sample
from wevent.study.protocols.printed_methods.local import report
from wevent.study.protocols.printed_methods.loop import run_segments
from wevent.study.protocols.printed_methods.methods import alternate
from wevent.study.protocols.printed_methods.schedules import (
    ForwardRequirements,
    PrintedAbsorption,
    PrintedDistribution,
    PrintedDynamicAbsorption,
    PrintedDynamicDistribution,
    PrintedOffer,
    PrintedSchedule,
)
from wevent.study.protocols.printed_methods.segments import LENGTH, Flags, cut, join
from wevent.study.protocols.printed_methods.spas import run_spas
from wevent.study.protocols.printed_methods.windows import fullest
from wevent.study.requirements import StudyRequirements, draw_types


def forward_of(*turns: list[tuple[float, int]]) -> ForwardRequirements:
    """One segment whose types have two requirements by turns."""
    both = np.array([turns[slot % len(turns)] for slot in range(LENGTH)])
    return ForwardRequirements(both[:, None, :, 0], both[:, None, :, 1].astype(np.int64))


# What is offered


def test_absorption_grows_and_is_never_used_up() -> None:
    """The offer is E/(2w)·min(t, w), whatever was published before."""
    schedule = PrintedAbsorption(np.array([0.6, 1.0]), np.array([120, 40]), 1)
    for slot in range(LENGTH):
        offer = schedule.offer(slot)
        expected = [0.6 / 240 * min(slot + 1, 120), 1.0 / 80 * min(slot + 1, 40)]
        assert offer.publish_budget[0] == pytest.approx(expected, rel=1e-12)
        assert offer.change_budget[0] == pytest.approx([0.6 / 240, 1.0 / 80], rel=1e-12)
        schedule.record(slot, offer, np.array([True]))


def test_distribution_sums_w_past_slots() -> None:
    """A publication still counts w slots later, where a window of w slots has forgotten it."""
    w = 3
    schedule = PrintedDistribution(np.array([0.8]), np.array([w]), 1)
    published = [True] + [False] * (w + 1)
    offers = []
    for slot, fresh in enumerate(published):
        offer = schedule.offer(slot)
        offers.append(float(offer.publish_budget[0, 0]))
        schedule.record(slot, offer, np.array([fresh]))
    assert offers == pytest.approx([0.2, 0.1, 0.1, 0.1, 0.2])


def test_dpbd_charges_skipped_slots() -> None:
    """DPBD halves its offer in every slot, published or not; PBD with the same requirement does not."""
    own = [(0.8, 40)]
    moving = PrintedDynamicDistribution(forward_of(own))
    still = PrintedDistribution(np.array([0.8]), np.array([40]), 1)
    for slot in range(10):
        redrawn, fixed = moving.offer(slot), still.offer(slot)
        assert redrawn.publish_budget[0, 0] == pytest.approx(0.4 / 2 ** (slot + 1))
        assert fixed.publish_budget[0, 0] == pytest.approx(0.2)
        moving.record(slot, redrawn, np.array([False]))
        still.record(slot, fixed, np.array([False]))


def test_dpba_saves_a_share_too_many() -> None:
    """DPBA offers (t-τ+2) shares of the best active declaration, at most the least half budget of any of them."""
    schedule = PrintedDynamicAbsorption(forward_of([(1.0, 40)], [(0.6, 120)]))
    first, second, late = (float(schedule.offer(slot).publish_budget[0, 0]) for slot in (0, 1, 60))
    assert first == pytest.approx(2 * 1.0 / 80)
    assert second == pytest.approx(3 * 1.0 / 80)
    assert late == pytest.approx(0.3)


def test_change_budget_is_the_least_active_share() -> None:
    """A declaration of a small share binds as long as it is active, and no longer."""
    schedule = PrintedDynamicAbsorption(forward_of([(1.0, 2)], [(0.6, 3)]))
    assert [float(schedule.offer(slot).change_budget[0, 0]) for slot in (0, 1)] == pytest.approx([0.25, 0.1])
    alone = ForwardRequirements(np.full((LENGTH, 1, 1), 1.0), np.full((LENGTH, 1, 1), 2))
    alone.epsilon[0] = 0.1
    shares = [float(PrintedDynamicAbsorption(alone).offer(slot).change_budget[0, 0]) for slot in range(4)]
    assert shares == pytest.approx([0.025, 0.025, 0.25, 0.25])


def test_requirements_of_a_segment_are_those_of_its_first_two_slots() -> None:
    """They take turns until the segment ends; the next one has its own."""
    requirements = draw_types(5, 100, 0.2, 200)
    forward = alternate(requirements, 2)
    assert requirements.changes is not None
    for segment in range(2):
        for place in (0, 1, 2, 3, LENGTH - 1):
            for kind, requirement in requirements.changes.at(segment * LENGTH + place % 2 + 1):
                assert forward.epsilon[place, segment, kind] == float(requirement.forward.epsilon)
                assert forward.window[place, segment, kind] == requirement.forward.window
    assert (forward.epsilon[0] != forward.epsilon[1]).any()
    assert (forward.epsilon[:, 0] != forward.epsilon[:, 1]).any()


def test_who_does_not_move_keeps_the_fixed_requirement() -> None:
    """Without changes everybody requires their own in every slot; a change lasts until the next one."""

    @dataclass(frozen=True)
    class Once:
        def at(self, slot: int) -> list[tuple[int, Dynamic]]:
            return [(1, Dynamic((1.0, 10)))] if slot == 7 else []

    still = requirements_of((0.5, 20), (0.6, 30))
    assert (alternate(still, 2).epsilon == [0.5, 0.6]).all()
    moved = alternate(StudyRequirements(still.common, still.fixed, still.type_of, Once()), 2)
    assert (moved.window[:, 0] == [20, 30]).all()
    assert (moved.window[:, 1] == [20, 10]).all()


# One threshold, one sample


def test_choice_golden() -> None:
    """SPEC §3's example; budgets 0 count as lost; nothing on offer leaves no threshold and an infinite bar."""
    choice = choose(np.array([[0.1, 0.4, 0.8], [0.0, 0.4, 0.8], [0.0, 0.0, 0.0]]), np.array([2, 5, 3]))
    assert choice.threshold.tolist() == [0.4, 0.4, 0.0]
    assert choice.error[0] == pytest.approx(15.308424, abs=1e-6)
    assert choice.error[1] == pytest.approx(2**2 + 2 / 0.4**2)
    assert by_error(choice)[2] == by_scale(choice)[2] == np.inf
    assert by_scale(choice)[0] == 2.5


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.01, 0.1, 0.11, 0.5, 1.0]), st.integers(1, 1000)), min_size=1))
def test_choice_is_the_best(types: list[tuple[float, int]]) -> None:
    """The vectorised choice is the scalar one."""
    budgets, sizes = [e for e, _ in types], [n for _, n in types]
    choice = choose(np.array([budgets]), np.array(sizes))
    theta, error = naive.threshold(budgets, sizes)
    assert float(choice.error[0]) == pytest.approx(error)
    if theta > 0:
        assert naive.error_of(float(choice.threshold[0]), budgets, sizes) == pytest.approx(error)
    else:
        assert choice.threshold[0] == 0


def test_sampling_keeps_everybody_who_offers_enough() -> None:
    """At or above the threshold all are kept, without budget nobody, between them the stated share (z < 5)."""
    counts = np.array([[[40, 60], [1_000_000, 0], [7, 9]]])
    kept = sample(np.random.default_rng(1), counts, np.array([[0.9, 0.1, 0.0]]), np.array([0.4]))
    assert kept[0, 1] == 60
    p = np.expm1(0.1) / np.expm1(0.4)
    assert abs(kept[0, 0] - 40 - 1e6 * p) < 5 * np.sqrt(1e6 * p * (1 - p))


# Segments


@given(st.integers(1, 3 * LENGTH + 1))
def test_cut_and_join_are_inverse(slots: int) -> None:
    """Cutting keeps the order, fills up with 0, and joining takes the filling away."""
    stream = np.arange(1, slots * 2 + 1).reshape(slots, 2)
    segments = cut(stream)
    assert segments.shape == (-(-slots // LENGTH), LENGTH, 2)
    assert (join(segments, slots) == stream).all()
    assert segments.sum() == stream.sum()


def test_everything_restarts() -> None:
    """A segment shows 0 until its own first publication, whatever the one before it showed last."""

    class FromThirdSlot:
        """Offers nothing in the first three slots of a segment, then very much."""

        def offer(self, slot: int) -> PrintedOffer:
            return PrintedOffer(np.full((2, 1), 1.0), np.full((2, 1), 0.0 if slot < 3 else 50.0))

        def record(self, slot: int, offer: PrintedOffer, published: Flags) -> None:
            pass

    counts = cut(np.full((2 * LENGTH, 1, 2), 1000))
    found = run_segments(FromThirdSlot(), counts, np.array([2000]), by_error, np.random.default_rng(3))
    assert (found.released[:, :3] == 0).all()
    assert np.abs(found.released[:, 3:] - 1000).max() < 1
    assert found.published[:, 3].all()
    assert not found.published[:, :3].any()


# The oracle


OWN = [(0.6, 20), (1.0, 8), (0.8, 30)]
TURNS = ([(0.6, 20), (1.0, 8), (0.8, 30)], [(1.0, 10), (1.0, 4), (0.8, 15)])
SIZES = [900, 500, 700]


def schedules() -> dict[str, tuple[PrintedSchedule, naive.Offers, bool]]:
    """Ours, the oracle's, and whether there is one type that tests by scale."""
    epsilon, window = np.array([e for e, _ in OWN]), np.array([w for _, w in OWN])
    requirement = [(0.6, 30)]
    return {
        "bd": (PrintedDistribution(np.array([0.6]), np.array([30]), 1), naive.distribution(requirement), True),
        "ba": (PrintedAbsorption(np.array([0.6]), np.array([30]), 1), naive.absorption(requirement), True),
        "pbd": (PrintedDistribution(epsilon, window, 1), naive.distribution(OWN), False),
        "pba": (PrintedAbsorption(epsilon, window, 1), naive.absorption(OWN), False),
        "dpbd": (PrintedDynamicDistribution(forward_of(*TURNS)), naive.dynamic_distribution(TURNS), False),
        "dpba": (PrintedDynamicAbsorption(forward_of(*TURNS)), naive.dynamic_absorption(TURNS), False),
    }


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", ["bd", "ba", "pbd", "pba", "dpbd", "dpba"])
def test_a_segment_is_that_of_the_oracle(name: str, seed: int) -> None:
    """With the same random numbers, the scalar oracle publishes in the same slots and shows the same."""
    schedule, offers, by_the_scale = schedules()[name]
    counts = jumpy(LENGTH, SIZES, seed)
    if by_the_scale:
        counts = counts.sum(axis=1, keepdims=True)
    sizes = counts[0].sum(axis=1)
    limit = by_scale if by_the_scale else by_error
    found = run_segments(schedule, cut(counts), sizes, limit, np.random.default_rng(seed))
    expected = naive.run_segments(offers, counts.tolist(), sizes.tolist(), by_the_scale, np.random.default_rng(seed))
    assert found.published[0].tolist() == expected.published
    assert found.released[0] == pytest.approx(np.array(expected.released), rel=1e-6, abs=1e-6)
    assert found.spent[0] == pytest.approx(np.array(expected.spent), rel=1e-6, abs=1e-9)
    assert 5 < sum(expected.published) <= LENGTH


@pytest.mark.parametrize("steps", quick_and_slow(["middle"], ["large", "small"]))
def test_spas_is_that_of_the_oracle(steps: str) -> None:
    """The same for SPAS; with steps of middle size, releases by force, by threshold, with refund and without occur."""
    counts = 5000 + jumpy(LENGTH, [10_000], 4).sum(axis=1) // {"large": 1, "middle": 20, "small": 500}[steps]
    kinds, slots = Counter[str](), 0
    for seed, (epsilon, window) in enumerate([(2.0, 40), (0.6, 40), (2.0, 20), (0.6, 20), (1.0, 10), (1.0, 5)] * 3):
        found = run_spas(cut(counts), epsilon, window, np.random.default_rng(seed))
        expected = naive.spas(counts.tolist(), epsilon, window, np.random.default_rng(seed))
        run = slice(len(expected.published))
        assert found.published[0, run].tolist() == expected.published
        assert found.released[0, run] == pytest.approx(np.array(expected.released), rel=1e-6, abs=1e-6)
        assert found.spent[0, run] == pytest.approx(np.array(expected.spent), rel=1e-6)
        kinds, slots = kinds + expected.kinds, slots + len(expected.published)
    assert slots > 1000
    if steps == "middle":
        assert set(kinds) == {"forced", "wanted", "refunded", "without refund"}


def test_spas_warms_up_with_the_whole_budget() -> None:
    """In its first window SPAS releases at slots 1, 21, 41, … with 20 E/w each."""
    found = run_spas(cut(jumpy(LENGTH, [100], 1).sum(axis=1)), 0.6, 120, np.random.default_rng(1))
    assert np.flatnonzero(found.published[0, :120]).tolist() == [0, 20, 40, 60, 80, 100]
    assert found.spent[0, 0, 0] == pytest.approx(0.6 * 20 / 120 + 0.15 / 120)


# Local reports


def test_reports_keep_their_bias() -> None:
    """Every registered person reports once; means are those of randomized response, absent people even (z < 5)."""
    people, epsilon = 10_000, 1.2
    counts = np.tile([6_000, 1_000, 2_000], (4_000, 1))
    reports = report(counts, people, epsilon, np.random.default_rng(2))
    assert (reports.sum(axis=1) == people).all()
    q = 1 / (np.exp(epsilon) + 2)
    p = np.exp(epsilon) * q
    expected = counts[0] * p + (9_000 - counts[0]) * q + 1_000 / 3
    assert np.abs(reports.mean(axis=0) - expected).max() < 5 * np.sqrt(people / 4 / len(counts))


# What windows hold


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(1, 12), st.floats(0.1, 2))
def test_fullest_window(spends: list[float], window: int, epsilon: float) -> None:
    """The largest sum of w consecutive slots over E, for a fixed requirement and for one declared in each slot."""
    spent = np.array(spends)[:, None]
    worst = max(sum(spends[k : k + window]) for k in range(len(spends))) / epsilon
    assert fullest(spent, np.array([epsilon]), np.array([window])) == pytest.approx(worst, abs=1e-9)
    moving = np.full((len(spends), 1), epsilon), np.full((len(spends), 1), window)
    assert fullest(spent, *moving) == pytest.approx(worst, abs=1e-9)
