"""SPAS: budgets and rules by hand, and a slow re-computation slot by slot."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.study.baselines.central_runs import NANO, BaselineRun, built, quick_and_naive, run, sensitivities, wander
from tests.study.baselines.noises import Losing, LostError, Recording, Scripted, Silent

from wevent import Decision
from wevent.study.baselines.spas import Spas, SpasAction


def naive(epsilon: int, window: int, stream: list[list[int]], noise: Losing) -> BaselineRun:
    """The rules as they are written: all releases and spends are kept, everything is computed anew in every slot."""
    d, w = len(stream[0]), window
    query_units, release_units = epsilon // 4, 3 * epsilon // 4
    r, paid, decisions, rho = [[0] * d], [0], [Decision.SKIPPED], None
    for t, x in enumerate(stream, start=1):
        noise.rekey()
        jumps = [np.subtract(r[k], r[k - 1]) for k in range(max(2, t - 2 * w + 1), t) if r[k] != r[k - 1]]
        c = 1
        if jumps:
            squares, absolutes = (np.mean([np.sum(np.abs(jump) ** p) / d for jump in jumps]) for p in (2, 1))
            c = max(1, math.floor(release_units / NANO * math.sqrt(max(squares - absolutes**2, 0) / 12)))
        recent = {k: paid[k] for k in range(max(1, t - w + 1), t)}
        left = release_units - sum(recent.values())
        first = next((k for k, spend in sorted(recent.items()) if spend > 0), t)
        L = w - (t - first)
        query, price = False, 0
        if t <= w:
            price = release_units // math.ceil(w / 20) if t in range(1, w + 1, 20) else 0
        elif Fraction(left * c, release_units) >= L:
            price = left // L
        elif left >= release_units // c:
            query, price = True, release_units // c
        try:
            yes = price > 0
            if query:
                half = Fraction(query_units, 2 * NANO)
                if rho is None:
                    rho = int(noise.laplace([0], sensitivity=2, epsilon=half)[0])
                question = [int(np.abs(np.subtract(x, stream[t - 2])).sum())]
                answer = int(noise.laplace(question, sensitivity=2, epsilon=half / (2 * c))[0])
                yes = Fraction(answer, d) > c * Fraction(NANO, release_units) + Fraction(rho, d)
            if yes:
                r.append(noise.laplace(x, sensitivity=1, epsilon=Fraction(price, NANO)).tolist())
            else:
                r.append(r[-1])
            decisions.append(Decision.PUBLISHED if yes else Decision.SKIPPED)
            paid.append(price if yes else 0)
        except LostError:
            r.append(r[-1])
            decisions.append(Decision.LOST)
            paid.append(price)
    return BaselineRun(
        [list(map(float, value)) for value in r[1:]], decisions[1:], [query_units // w + value for value in paid[1:]]
    )


@pytest.mark.parametrize(
    ("epsilon", "window", "cells", "step"),
    [
        ("1", 1, 2, 5),
        ("1.3", 7, 3, 30),
        ("0.6", 25, 2, 12),
        ("2.000000003", 40, 5, 40),
        ("0.6", 60, 1, 3),
        ("8", 30, 2, 60),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_equals_the_slow_one(epsilon: str, window: int, cells: int, step: int, seed: int) -> None:
    """Counts, decisions and spends are those of the rules as written, lost slots included."""
    quick, slow = quick_and_naive(Spas, naive, epsilon, window, wander(300, cells, seed, step=step), seed)
    assert quick == slow
    assert len(quick.published) > 4


def test_warm_up_by_hand() -> None:
    """W = 50: three releases, in slots 1, 21 and 41, a third of 3E/4 each; every slot pays floor(E/4/w) to query."""
    done = run(built(Spas, "0.6", 50, Silent()), [[10, 20]] * 50)
    assert done.published == [1, 21, 41]
    assert [done.spends[k] for k in (0, 1, 20, 40)] == [153_000_000, 3_000_000, 153_000_000, 153_000_000]


def test_predicted_releases_by_hand() -> None:
    """Jumps (30, 0) and (0, 10), d = 2: V = mean(450, 50) - mean(15, 5)² = 150; eps_p = 3 makes c = 10."""
    baseline = built(Spas, "4", 45, Silent())
    run(baseline, [[100, 100]] * 20 + [[130, 100]] * 20 + [[130, 110]])
    assert baseline.releases() == math.floor(3 * math.sqrt(150 / 12)) == 10


def test_the_jump_into_the_first_slot_does_not_count() -> None:
    """Only k ≥ 2: from r_0 = 0 to r_1 is no jump; without any, c = 1."""
    baseline = built(Spas, "4", 45, Silent())
    run(baseline, [[5000, 100]] * 45)
    assert baseline.releases() == 1


def test_jumps_are_forgotten_after_two_windows() -> None:
    """Both ends of a jump lie within the last 2w slots: one into slot 21 counts until slot 20 + 2w."""
    baseline = built(Spas, "4", 30, Silent())
    run(baseline, [[0, 0]] * 20 + [[900, 0]] * 59)
    assert baseline.ledger.slot == 80 and baseline.releases() > 1
    run(baseline, [[900, 0]])
    assert baseline.releases() == 1


def test_the_question_by_hand() -> None:
    """With c = 1, d = 2, eps_p = 0.75 the sum of moves must exceed 2.67 plus the noise of the threshold."""
    for step, rho, add, yes in ((3, 0, 0, True), (2, 0, 0, False), (3, 1, 0, False), (4, 1, 0, True), (0, 0, 3, True)):
        scripted = Scripted([0, 0, rho, add])
        baseline = built(Spas, "1", 3, scripted)
        run(baseline, [[50, 50]] * 3)  # warm-up: one release, for all of eps_p
        run(baseline, [[50 + step, 50]])
        assert baseline.plan().action is not SpasAction.RELEASE
        assert scripted.draws[1:3] == [(2, Fraction(1, 8), [0]), (2, Fraction(1, 16), [step])]
        assert (len(scripted.draws) == 4) == yes


@sensitivities
def test_scales_are_those_of_the_source(neighbours: str, s: int) -> None:
    """Both are d times 2Δ/eps_s and 4cΔ/eps_s with Δ = 2s/d; twice as large where neighbours may also move."""
    noise = Recording(1)
    run(built(Spas, "1", 3, noise, neighbours=neighbours), [[50, 50]] * 3 + [[51, 50]])
    release, threshold, question = noise.draws[:3]
    eps_s, delta, d, c = Fraction(1, 4), Fraction(2 * s, 2), 2, 1
    assert release[0] == s
    assert threshold[0] / threshold[1] == d * 2 * delta / eps_s
    assert question[0] / question[1] == d * 4 * c * delta / eps_s
