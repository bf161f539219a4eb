"""RescueDP: budgets, intervals and the filter by hand, and a slow re-computation slot by slot."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.study.baselines.central_runs import NANO, BaselineRun, built, quick_and_naive, run, sensitivities, wander
from tests.study.baselines.noises import Losing, LostError, Recording, Silent

from wevent import Decision
from wevent.study.baselines.grouping import GroupCandidate, group_cells
from wevent.study.baselines.rescuedp import RescueDP


class NaiveCell:
    """One cell with everything it ever saw and paid."""

    def __init__(self) -> None:
        self.interval, self.due, self.last, self.variance = 1.0, 1, 0, 100.0
        self.seen: list[float] = []
        self.noise: list[float] = []
        self.releases: list[float] = []
        self.paid: dict[int, int] = {}

    def left(self, t: int, epsilon: int, window: int) -> int:
        return epsilon - sum(self.paid.get(k, 0) for k in range(t - window + 1, t))

    def learn(self, t: int, seen: float, scale: float, epsilon: int, window: int) -> None:
        self.seen.append(seen)
        self.noise.append(2 * scale**2)
        if not self.releases:
            self.releases.append(seen)
            self.last, self.due = t, t + 1
            return
        q = max(0.0, float(np.var(self.seen)) - float(np.mean(self.noise)))
        for _ in range(self.last, t):
            self.variance += q
        gain = self.variance / (self.variance + (window * NANO / epsilon) ** 2)
        self.variance *= 1 - gain
        self.releases.append(self.releases[-1] + gain * (seen - self.releases[-1]))
        errors = np.abs(np.diff(self.releases))
        delta = 0.9 * errors[-1] + 0.1 * errors[-3:].mean()
        left = self.left(t + 1, epsilon, window) / NANO
        self.interval = max(1.0, self.interval + 10 * (1 - (delta * left) ** 2))
        self.last, self.due = t, t + int(self.interval)


def naive(epsilon: int, window: int, stream: list[list[int]], noise: Losing) -> BaselineRun:
    """The rules as written, cell by cell."""
    cells = [NaiveCell() for _ in stream[0]]
    charged: dict[int, int] = {}
    out, decisions = [], []
    for t, x in enumerate(stream, start=1):
        noise.rekey()
        room = epsilon - sum(charged[k] for k in range(max(1, t - window + 1), t))
        wanted = {}
        for j, cell in enumerate(cells):
            part = min(0.2 * float(np.log(cell.interval + 1)), 0.6)
            budget = min(int(part * cell.left(t, epsilon, window)), epsilon // 5)
            if cell.due <= t and 0 < budget <= room:
                wanted[j] = budget
        due = []
        for j in wanted:
            last = np.array(([0.0] * 3 + cells[j].releases)[-3:])
            due.append(GroupCandidate(j, last, len(cells[j].releases) >= 3))
        groups = group_cells(due)
        budgets = [min(wanted[j] for j in group) for group in groups]
        charged[t] = max(budgets, default=0)
        for group, budget in zip(groups, budgets, strict=True):
            for j in group:
                cells[j].paid[t] = budget
        decision = Decision.SKIPPED
        if groups:
            try:
                found = {}
                for budget in sorted(set(budgets)):
                    alike = [group for group, own_budget in zip(groups, budgets, strict=True) if own_budget == budget]
                    sums = [sum(x[j] for j in group) for group in alike]
                    noisy = noise.laplace(sums, sensitivity=1, epsilon=Fraction(budget, NANO)).tolist()
                    for group, value in zip(alike, noisy, strict=True):
                        for j in group:
                            found[j] = value / len(group), NANO / budget / len(group)
                for j, (seen, scale) in found.items():
                    cells[j].learn(t, seen, scale, epsilon, window)
                decision = Decision.PUBLISHED
            except LostError:
                decision = Decision.LOST
        decisions.append(decision)
        out.append([cell.releases[-1] if cell.releases else 0.0 for cell in cells])
    return BaselineRun(out, decisions, list(charged.values()))


@pytest.mark.parametrize(
    ("epsilon", "window", "cells", "size", "step"),
    [
        ("1", 1, 2, 300, 12),
        ("5", 8, 3, 300, 12),
        ("2", 30, 2, 500, 4),
        ("4", 20, 12, 8, 2),
        ("0.600000001", 40, 1, 50, 5),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_equals_the_slow_one(epsilon: str, window: int, cells: int, size: int, step: int, seed: int) -> None:
    """Decisions and spends are those of the rules as written, counts up to rounding, lost slots included."""
    stream = wander(200, cells, seed, size=size, step=step)
    quick, slow = quick_and_naive(RescueDP, naive, epsilon, window, stream, seed)
    assert (quick.decisions, quick.spends) == (slow.decisions, slow.spends)
    assert np.allclose(quick.counts, slow.counts, rtol=1e-6, atol=1e-6)
    assert len(quick.published) > 5


def test_small_cells_are_grouped() -> None:
    """In the stream of twelve small cells above some draws are of fewer sums than cells are due."""
    noise = Recording(1)
    baseline = built(RescueDP, "4", 20, noise, 12)
    fewer = 0
    for number, row in enumerate(wander(200, 12, 1, size=8, step=2), start=1):
        drawn = len(noise.draws)
        assert baseline.ledger.slot == number
        due = int(np.count_nonzero(baseline.budgets()))
        run(baseline, [row])
        fewer += sum(len(draw[2]) for draw in noise.draws[drawn:]) < due
    assert fewer > 0


def test_first_budgets_by_hand() -> None:
    """I = 1: 0.2·ln 2 of what is left, in slot 1 of E and in slot 2 of what slot 1 left."""
    done = run(built(RescueDP, "1", 10, Silent()), [[100, 200]] * 2)
    first = int(0.2 * math.log(2) * NANO)
    assert done.spends == [first, int(0.2 * math.log(2) * (NANO - first))]


def test_intervals_by_hand() -> None:
    """Nothing changes: δ = 0, so the interval grows by 10 from the second sample on: slots 1, 2, 13, 34."""
    baseline = built(RescueDP, "1", 10, Silent())
    done = run(baseline, [[100, 200]] * 40)
    assert done.published == [1, 2, 13, 34]
    assert baseline.known.interval.tolist() == [31.0, 31.0]
    assert done.spends[33] == NANO // 5  # 0.2·ln 22 is above 0.6, and 0.6·E above E/5


@sensitivities
def test_a_slot_costs_the_largest_budget_drawn(neighbours: str, s: int) -> None:
    """What is charged is the largest epsilon of the slot's draws; the scale is s over a group's own."""
    noise = Recording(3)
    baseline = built(RescueDP, "4", 20, noise, 6, neighbours)
    several = 0
    for row in wander(150, 6, 3, size=40):
        drawn = len(noise.draws)
        spent = run(baseline, [row]).spends[0]
        draws = noise.draws[drawn:]
        assert Fraction(spent, NANO) == max((draw[1] for draw in draws), default=0)
        assert {draw[0] for draw in draws} <= {s}
        several += len(draws) > 1
    assert several > 0


def test_cells_wait_for_room() -> None:
    """Cells on different clocks want more together than the window leaves: those stay due, and are sampled later."""
    baseline = built(RescueDP, "1", 60, Recording(5), 8)
    waited = 0
    for row in wander(300, 8, 5, size=400, step=30):
        due = baseline.known.due <= baseline.ledger.slot
        waited += bool((due & (baseline.budgets() == 0)).any())
        run(baseline, [row])
    assert waited > 0
