"""One segment of protocol `printed`, number by number, as the released code does: the oracle of the vectorised one.

Slots count from 1, as in the text. Draws come from one generator in the order in which the text needs them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

Random = np.random.Generator
Rows = Sequence[Sequence[int]]
"""Counts of one slot: for each type, for each cell."""


@dataclass
class NaiveRun:
    """What a segment gave, slot by slot."""

    released: list[list[float]]
    published: list[bool]
    spent: list[list[float]]
    kinds: Counter[str] = field(default_factory=Counter)


def error_of(theta: float, budgets: Sequence[float], sizes: Sequence[int]) -> float:
    """Expected squared error of a threshold."""
    variance = bias = 0.0
    for budget, many in zip(budgets, sizes, strict=True):
        if budget < theta:
            p = math.expm1(budget) / math.expm1(theta)
            variance += many * p * (1 - p)
            bias += many * (1 - p)
    return variance + bias**2 + 2 / theta**2


def threshold(budgets: Sequence[float], sizes: Sequence[int]) -> tuple[float, float]:
    """OBS: the threshold and its error."""
    best = (0.0, math.inf)
    for theta in sorted(b for b in budgets if b > 0):
        error = error_of(theta, budgets, sizes)
        if error < best[1]:
            best = (theta, error)
    return best


def keep(rows: Rows, budgets: Sequence[float], theta: float, random: Random) -> list[int]:
    """The sampled histogram."""
    kept = [0] * len(rows[0])
    for row, budget in zip(rows, budgets, strict=True):
        p = min(math.expm1(budget) / math.expm1(theta), 1.0)
        for cell, many in enumerate(row):
            kept[cell] += int(random.binomial(many, p))
    return kept


def run_segments(
    offers: Callable[[int, list[list[float]], list[bool]], tuple[list[float], list[float]]],
    slots: Sequence[Rows],
    sizes: Sequence[int],
    scale_test: bool,
    random: Random,
) -> NaiveRun:
    """Methods with a test; `offers` sees the slot, all earlier publish budgets, and which of them were published."""
    run = NaiveRun([], [], [])
    past: list[list[float]] = []
    shown = [0.0] * len(slots[0][0])
    for t, rows in enumerate(slots, start=1):
        change_budget, publish_budget = offers(t, past, run.published)
        theta, _ = threshold(change_budget, sizes)
        kept = keep(rows, change_budget, theta, random)
        change = sum(abs(a - b) for a, b in zip(kept, shown, strict=True)) / len(shown)
        change += random.laplace() / (len(shown) * theta)
        choice, error = threshold(publish_budget, sizes)
        bar = math.inf if choice == 0 else 1 / choice if scale_test else math.sqrt(error)
        spent = [min(e, theta) for e in change_budget]
        if change > bar:
            kept = keep(rows, publish_budget, choice, random)
            shown = [c + random.laplace() / choice for c in kept]
            spent = [s + min(e, choice) for s, e in zip(spent, publish_budget, strict=True)]
        past.append(publish_budget)
        run.published.append(change > bar)
        run.released.append(shown)
        run.spent.append(spent)
    return run


Own = Sequence[tuple[float, int]]
"""(E, w) of each type."""

Offers = Callable[[int, list[list[float]], list[bool]], tuple[list[float], list[float]]]


def distribution(own: Own) -> Offers:
    """BD, PBD."""

    def offers(t: int, past: list[list[float]], published: list[bool]) -> tuple[list[float], list[float]]:
        publish_budget = []
        for i, (E, w) in enumerate(own):
            spent = sum(past[k - 1][i] for k in range(max(1, t - w), t) if published[k - 1])
            publish_budget.append(max((E / 2 - spent) / 2, 0.0))
        return [E / (2 * w) for E, w in own], publish_budget

    return offers


def absorption(own: Own) -> Offers:
    """BA, PBA."""
    return lambda t, past, published: ([E / (2 * w) for E, w in own], [E / (2 * w) * min(t, w) for E, w in own])


def required(turns: tuple[Own, Own], tau: int) -> Own:
    """What is required in slot τ: that of the first two slots, by turns."""
    return turns[(tau - 1) % 2]


def dynamic_distribution(turns: tuple[Own, Own]) -> Offers:
    """DPBD."""

    def offers(t: int, past: list[list[float]], published: list[bool]) -> tuple[list[float], list[float]]:
        change_budget, publish_budget = [], []
        for i in range(len(turns[0])):
            active = [tau for tau in range(1, t + 1) if t <= tau + required(turns, tau)[i][1] - 1]
            change_budget.append(min(required(turns, tau)[i][0] / (2 * required(turns, tau)[i][1]) for tau in active))
            left = min(required(turns, tau)[i][0] / 2 - sum(past[k - 1][i] for k in range(tau, t)) for tau in active)
            publish_budget.append(max(left / 2, 0.0))
        return change_budget, publish_budget

    return offers


def dynamic_absorption(turns: tuple[Own, Own]) -> Offers:
    """DPBA."""

    def offers(t: int, past: list[list[float]], published: list[bool]) -> tuple[list[float], list[float]]:
        change_budget, publish_budget = [], []
        for i in range(len(turns[0])):
            declared = [(tau, *required(turns, tau)[i]) for tau in range(1, t + 1)]
            active = [(tau, EF, wF) for tau, EF, wF in declared if t < tau + wF]
            change_budget.append(min(EF / (2 * wF) for _, EF, wF in active))
            saved = max((t - tau + 2) * EF / (2 * wF) for tau, EF, wF in active)
            publish_budget.append(min(saved, *(EF / 2 for _, EF, _ in active)))
        return change_budget, publish_budget

    return offers


def spas(slots: Sequence[Sequence[int]], E: float, w: int, random: Random) -> NaiveRun:
    """SPAS as published, refund included; ends before a slot in which rounding crumbs would decide."""
    eps_s, eps_p = E / 4, 3 * E / 4
    rho = 2 / eps_s * random.laplace()
    d = len(slots[0])
    run = NaiveRun([], [], [])
    booked: dict[int, float] = {}
    svt: dict[int, float] = {}
    shown = [0.0] * d
    for t, x in enumerate(slots, start=1):
        budget = 0.0
        if t <= w:
            if t % 20 == 1:
                budget = booked[t] = E * 20 / w
        else:
            steps = []
            for k in range(max(2, t - 2 * w), t):
                delta = [a - b for a, b in zip(run.released[k - 1], run.released[k - 2], strict=True)]
                if any(delta):
                    steps.append(delta)
            c = 1
            if steps:
                squares = sum(sum(v * v for v in s) / d for s in steps) / len(steps)
                plain = sum(sum(abs(v) for v in s) / d for s in steps) / len(steps)
                c = max(1, math.floor(eps_p * math.sqrt(max(squares - plain**2, 0.0) / 12)))
            window = [k for k in range(t - w + 1, t) if booked.get(k, 0.0) > 0]
            left = eps_p - sum(booked[k] for k in window)
            f = min(window, default=t)
            L = w - (t - f)
            close = abs(left - eps_p / c) < 1e-12 or abs(left * c / eps_p - L) < 1e-9
            if close and len(window) > 2:  # the order of summation decides
                return run
            query = sum(abs(a - b) for a, b in zip(x, slots[t - 2], strict=True)) / d
            noisy = query + 4 * c / eps_s * random.laplace()
            if math.floor(left * c / eps_p) >= L:
                run.kinds["forced"] += 1
                booked[t] = left / L
                budget = left / L + (eps_s / 2 - sum(v for k, v in svt.items() if k >= f)) / c
            elif noisy > c / eps_p + rho and left >= eps_p / c:
                svt[t] = eps_s / (2 * c)
                run.kinds["wanted"] += 1
                booked[t] = eps_p / c
                refund = eps_s / 2 - sum(v for k, v in svt.items() if k >= t - w + 2)
                run.kinds["refunded" if refund > 0 else "without refund"] += 1
                budget = eps_p / c + max(0.0, refund)
        if budget > 0:
            shown = [v + random.laplace() / budget for v in x]
        run.released.append(shown)
        run.published.append(budget > 0)
        run.spent.append([max(budget, 0.0) + eps_s / w])
    return run
