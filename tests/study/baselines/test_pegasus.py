"""PeGaSus: grouping and medians by hand, scales, and a slow re-computation slot by slot."""

from __future__ import annotations

import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.study.baselines.central_runs import NANO, BaselineRun, built, quick_and_naive, run, sensitivities, wander
from tests.study.baselines.noises import Losing, LostError, Recording, Scripted

from wevent import Decision
from wevent.study.baselines.pegasus import Pegasus, median, scaled_deviation


def naive(epsilon: int, window: int, stream: list[list[int]], noise: Losing) -> BaselineRun:
    """The rules as written, with exact means; questions about groups of one size are drawn together."""
    share = epsilon // window
    eps_g = max(1, share // 5)
    g, p = Fraction(eps_g, NANO), Fraction(share - eps_g, NANO)
    groups: dict[int, tuple[list[int], list[int], int]] = {}
    out, decisions = [[0.0] * len(stream[0])], []
    for x in stream:
        noise.rekey()
        try:
            z = noise.laplace(x, sensitivity=1, epsilon=p).tolist()
            sizes: dict[int, list[int]] = {}
            for j in sorted(groups):
                sizes.setdefault(len(groups[j][0]) + 1, []).append(j)
            stays = {}
            for n, members in sizes.items():
                deviations = []
                for j in members:
                    values = [Fraction(value) for value in [*groups[j][0], x[j]]]
                    mean = sum(values, Fraction(0)) / n
                    deviations.append(sum((abs(value - mean) for value in values), Fraction(0)))
                scaled = [int(n * value) for value in deviations]
                assert [Fraction(value, n) for value in scaled] == deviations
                noisy = noise.laplace(scaled, sensitivity=2 * n, epsilon=g / 4).tolist()
                for j, value in zip(members, noisy, strict=True):
                    stays[j] = Fraction(value, n) < 5 / g + groups[j][2]
            new = [j for j in range(len(x)) if j not in groups]
            fresh = noise.laplace([0] * len(new), sensitivity=2, epsilon=g / 2).tolist() if new else []
        except LostError:
            decisions.append(Decision.LOST)
            out.append(out[-1])
            continue
        shown = []
        for j, (count, seen) in enumerate(zip(x, z, strict=True)):
            if j in new:
                groups[j] = [count], [seen], fresh[new.index(j)]
            elif stays[j]:
                groups[j] = [*groups[j][0], count], [*groups[j][1], seen], groups[j][2]
            else:
                del groups[j]
            shown.append(float(statistics.median(groups[j][1] if j in groups else [seen])))
        decisions.append(Decision.PUBLISHED)
        out.append(shown)
    return BaselineRun(out[1:], decisions, [share] * len(stream))


@pytest.mark.parametrize(
    ("epsilon", "window", "cells", "step"),
    [("1", 1, 2, 5), ("5", 7, 3, 12), ("0.6", 120, 2, 12), ("20.000000007", 3, 6, 4)],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_equals_the_slow_one(epsilon: str, window: int, cells: int, step: int, seed: int) -> None:
    """Counts, decisions and spends are those of the rules as written, lost slots included."""
    quick, slow = quick_and_naive(Pegasus, naive, epsilon, window, wander(200, cells, seed, step=step), seed)
    assert quick == slow


def test_grouping_by_hand() -> None:
    """eps_g = 0.2, so the bar is 25: 10, 12 deviate by 2 and stay; 90 deviates by about 105, closes, and stands alone.

    The slot after a closed group opens another one.
    """
    noise = Scripted([1, 0, 3, 0, 5, 0, 7, 0, 9, 0])  # slot by slot: perturbation, then threshold or question
    done = run(built(Pegasus, "1", 1, noise, 1), [[10], [12], [90], [91], [91]])
    assert done.counts == [[11.0], [13.0], [95.0], [98.0], [99.0]]
    questions = [draw[2] for draw in noise.draws[1::2]]
    assert questions == [[0], [4], [316], [0], [0]]  # threshold, 2·2, 3·105⅓, threshold, 2·0


def test_noise_of_threshold_and_question_decide() -> None:
    """The bar is 25: a deviation of 24 stays, one of 26 goes, unless the noise of either side says otherwise."""
    for move, rho, noise, stays in ((24, 0, 0, True), (26, 0, 0, False), (26, 2, 0, True), (24, 0, 2, False)):
        done = run(built(Pegasus, "1", 1, Scripted([0, rho, 0, 2 * noise]), 1), [[100], [100 + move]])
        assert done.counts[1] == [100 + move / 2 if stays else 100 + move]


@sensitivities
def test_scales_are_those_of_the_source(neighbours: str, s: int) -> None:
    """Perturbation s/eps_p, thresholds 4s/eps_g, questions n times 8s/eps_g, eps_p and eps_g 4/5 and 1/5 of E/w."""
    noise = Recording(1)
    run(built(Pegasus, "1", 4, noise, 1, neighbours), [[5]] * 2)
    perturbed, threshold, _, question = [Fraction(draw[0]) / draw[1] for draw in noise.draws]
    assert perturbed == s / Fraction(1, 5)
    assert threshold == 4 * s / Fraction(1, 20)
    assert question == 2 * 8 * s / Fraction(1, 20)


def test_every_slot_is_in_the_questions_of_one_group() -> None:
    """Between two thresholds of a cell lies one group; a slot that closes it takes no part in the next one."""
    noise = Recording(2)
    baseline = built(Pegasus, "5", 5, noise, 1)
    stream = [[1000 + 3 * k] for k in range(120)]  # every count is another, so a question shows which slots are in it
    opened: list[int] = []
    for number, row in enumerate(stream, start=1):
        drawn = len(noise.draws)
        run(baseline, [row])
        sensitivity, _, values = noise.draws[drawn + 1]
        if values == [0] and sensitivity == 2:
            opened.append(number)
    closings = [slot - 1 for slot in opened[1:]]
    assert len(opened) > 5 and not set(closings) & set(opened)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=12), st.data())
def test_one_count_moves_the_scaled_deviation_by_2n_at_most(counts: list[int], data: st.DataObject) -> None:
    """The sensitivity that the noise gets."""
    place = data.draw(st.integers(0, len(counts) - 1))
    moved = [count + (k == place) for k, count in enumerate(counts)]
    assert abs(scaled_deviation(moved) - scaled_deviation(counts)) <= 2 * len(counts)
    mean = Fraction(sum(counts), len(counts))
    assert scaled_deviation(counts) == len(counts) * sum(abs(count - mean) for count in counts)


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1))
def test_median(values: list[int]) -> None:
    """The usual one."""
    assert median(sorted(values)) == float(statistics.median(values))


def test_counts_beyond_all_measure_fit() -> None:
    """A deviation that does not fit into 64 bits counts as very large instead of failing."""
    baseline = built(Pegasus, "5", 5, Recording(1), 1)
    baseline._groups[0] = None
    run(baseline, [[0]])
    group = baseline._groups[0]
    assert group is not None
    group.counts[:] = [2**62]
    assert run(baseline, [[0]]).decisions == [Decision.PUBLISHED]
