"""Bounds of DPBD and DPBA against schedules computed from SPEC §6 alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.decisions.naive_bounds import INF, SLACK, Floats, Ints, least_error, random_publications

from wevent.decisions.bounds import dynamic_absorption_bound, dynamic_distribution_bound


class Left(NamedTuple):
    """What the rules leave to one person in one slot; the caller decides about resting and publishing."""

    change_budget: float
    border: float
    absorbed: float
    forward: float
    back_1: float
    back_2: float


class RequiredPerSlot(NamedTuple):
    """Requirements of one person in slots 1, 2, … (index 0 unused)."""

    back_window: Ints
    back: Floats
    window: Ints
    budget: Floats

    @property
    def share(self) -> Floats:
        return self.budget / (2 * self.window)


def leaves(required: RequiredPerSlot, spent_1: Floats, spent_2: Floats, t: int) -> Left:
    """SPEC §6 for slot t, every sum computed from the start."""
    active = [tau for tau in range(1, t + 1) if t <= tau + required.window[tau] - 1]
    share = required.share
    used = {tau: float(spent_2[tau:t].sum()) for tau in active}
    border = {tau: used[tau] / share[tau] + tau - 1 for tau in active}
    first = max(t - int(required.back_window[t]) + 1, 1)
    s1, s2, back = float(spent_1[first:t].sum()), float(spent_2[first:t].sum()), float(required.back[t])
    back_1 = min(back / 2 - s1, back - s1 - s2)
    change_budget = max(0.0, min(min(share[tau] for tau in active), back_1))
    return Left(
        change_budget,
        max(border.values()),
        max((t - border[tau]) * share[tau] for tau in active),
        min(required.budget[tau] / 2 - used[tau] for tau in active),
        back_1,
        min(back / 2 - s2, back - s1 - s2 - change_budget),
    )


def random_requirements(rng: np.random.Generator, slots: int, longest: int) -> RequiredPerSlot:
    """Requirements that change from slot to slot; backward ones bind now and then."""
    change = rng.random(slots + 1) < 0.4
    pick = np.maximum.accumulate(np.where(change, np.arange(slots + 1), 0))
    loose = rng.uniform(1, 12)
    window = rng.integers(1, longest + 1, slots + 1)[pick]
    budget = rng.uniform(0.5, 4, slots + 1)[pick]
    return RequiredPerSlot(rng.integers(1, 4, slots + 1), loose * rng.uniform(1, 2, slots + 1), window, budget)


def test_dynamic_distribution_stays_below_in_every_slot() -> None:
    """DPBD: whatever the requirements do, every slot's offer errs by at most the bound; the change part too."""
    rng = np.random.default_rng(9)
    slots, kept, tight = 24, 0, 0.0
    for _ in range(120):
        users = [random_requirements(rng, slots, 6) for _ in range(int(rng.integers(1, 4)))]
        n = 10 ** rng.integers(0, 5, len(users))
        longest = max(int(u.window[1:].max()) for u in users)
        most = int(rng.integers(1, longest + 1))
        published = set(random_publications(rng, slots, longest, most))
        spent_1, spent_2 = np.zeros((len(users), slots + 1)), np.zeros((len(users), slots + 1))
        slots_left: list[list[Left]] = []
        for t in range(1, slots + 1):
            rows = [leaves(u, spent_1[i], spent_2[i], t) for i, u in enumerate(users)]
            offer = np.array([max(0.0, min(x.forward / 2, x.back_2)) for x in rows])
            spent_1[:, t] = [x.change_budget for x in rows]
            spent_2[:, t] = offer if t in published else 0
            slots_left.append(rows)
        least = np.array([min(min(rows[i].back_1, rows[i].back_2) for rows in slots_left) for i in range(len(users))])
        if (least <= 0).any():
            continue
        kept += 1
        bound = dynamic_distribution_bound(
            [u.budget[1:].min() for u in users],
            [u.share[1:].min() for u in users],
            least,
            [max(rows[i].back_2 for rows in slots_left) for i in range(len(users))],
            n,
            cells=1,
            publications=most,
        )
        for rows in slots_left:
            error = least_error(np.array([min(x.forward / 2, x.back_2) for x in rows]), n)
            tight = max(tight, error / bound.publication)
            assert error <= bound.publication * SLACK
            assert least_error(np.array([x.change_budget for x in rows]), n) <= bound.change * SLACK
    assert kept > 40
    assert tight > 0.5


def test_the_papers_average_over_one_decline_is_exceeded() -> None:
    """DPBD, one tight slot per cohort and period, each at another time: the proof's average is exceeded.

    Eight cohorts, forward window 8 = ŝ, budget 1 in the tight slot and 50 elsewhere, all published, no
    binding backward requirement (γ = 0, ε_BL = 1/2): in every slot the least offer is 2⁻⁹.
    """
    m, slots = 8, 48
    n = np.full(m, 10**6)
    users = []
    for i in range(m):
        budget = np.where(np.arange(slots + 1) % m == i, 1.0, 50.0)
        window = np.full(slots + 1, m)
        users.append(RequiredPerSlot(window, np.full(slots + 1, 1e6), window, budget))
    spent_1, spent_2 = np.zeros((m, slots + 1)), np.zeros((m, slots + 1))
    errors = []
    for t in range(1, slots + 1):
        rows = [leaves(u, spent_1[i], spent_2[i], t) for i, u in enumerate(users)]
        spent_2[:, t] = [x.forward / 2 for x in rows]
        errors.append(least_error(spent_2[:, t], n))
    mean = float(np.mean(errors[m:]))
    paper = 2 * (4 ** (m + 2) - 16) / (3 * m * 0.5**2)
    free = [INF] * m
    bound = dynamic_distribution_bound([1] * m, [1 / 16] * m, free, free, n, cells=1, publications=m)
    assert paper < mean <= bound.publication


def test_dynamic_absorption_stays_below_on_average() -> None:
    """DPBA: whatever the requirements do, complete cycles err by at most the bound on average; the change part too."""
    rng = np.random.default_rng(10)
    slots, kept, tight, below_share = 40, 0, 0.0, 0
    for _ in range(150):
        users = [random_requirements(rng, slots, 5) for _ in range(int(rng.integers(1, 4)))]
        n = 10 ** rng.integers(0, 5, len(users))
        skip = int(rng.integers(0, 5))
        spent_1, spent_2 = np.zeros((len(users), slots + 1)), np.zeros((len(users), slots + 1))
        slots_left: list[list[Left]] = []
        active: list[list[Left]] = []
        stretch: list[float] = []
        errors: list[float] = []
        resting: list[float] = []
        level, cycles, cut = 0.0, 0, (0, 0, 0)
        for t in range(1, slots + 1):
            rows = [leaves(u, spent_1[i], spent_2[i], t) for i, u in enumerate(users)]
            slots_left.append(rows)
            spent_1[:, t] = [x.change_budget for x in rows]
            if t <= max(x.border for x in rows):
                resting.append(level)
                continue
            if not stretch:
                cut = (len(errors), len(resting), cycles)  # a cycle ended here
            active.append(rows)
            offer = np.array([max(0.0, min(x.absorbed, x.forward, x.back_2)) for x in rows])
            stretch.append(least_error(offer, n))
            if len(stretch) == skip + 1:
                errors += stretch
                level, cycles, stretch = stretch[-1], cycles + 1, []
                spent_2[:, t] = offer
        errors, resting, cycles = errors[: cut[0]], resting[: cut[1]], cut[2]
        each = range(len(users))
        least = np.array([min(min(rows[i].back_1, rows[i].back_2) for rows in slots_left) for i in each])
        forward = np.array([min(rows[i].forward for rows in active) for i in each])
        if cycles == 0 or (least <= 0).any() or (forward < 1e-9).any():
            continue
        kept += 1
        share = np.array([u.share[1:].min() for u in users])
        below_share += bool((np.minimum(forward, least) < share * (1 - 1e-9)).any())
        bound = dynamic_absorption_bound(
            share,
            [u.window[1:].min() for u in users],
            least,
            forward,
            n,
            cells=1,
            skipped=skip,
            nullified=len(resting) / cycles,
            nullified_error=float(np.mean(resting)) if resting else 0,
        )
        measured = float(np.mean(errors + resting))
        tight = max(tight, measured / bound.publication)
        assert measured <= bound.publication * SLACK
        for rows in slots_left:
            assert least_error(np.array([x.change_budget for x in rows]), n) <= bound.change * SLACK
    assert kept > 40
    assert tight > 0.3
    assert below_share > 5


def test_an_offer_of_dynamic_absorption_may_be_below_the_least_share() -> None:
    """The first golden person of SPEC §6: at slot 4 the forward windows leave 0.1, half of the least share 0.2."""
    required = RequiredPerSlot(
        np.array([1, 1, 2, 2, 2, 5]),
        np.array([0, 1.0, 2.4, 2.8, 2.4, 3.0]),
        np.array([1, 4, 4, 3, 3, 2]),
        np.array([0, 2.4, 3.2, 4.2, 2.4, 0.8]),
    )
    spent_1, spent_2 = np.zeros(6), np.zeros(6)
    offers = []
    for t in range(1, 6):
        x = leaves(required, spent_1, spent_2, t)
        offers.append(min(x.absorbed, x.forward, x.back_2))
        spent_1[t], spent_2[t] = x.change_budget, offers[-1] if t in (1, 3) else 0
    assert offers == pytest.approx([0.3, 0.4, 0.8, 0.1, 0.4])
    assert offers[3] < required.share[1:].min()


@given(st.lists(st.tuples(st.integers(1, 6), st.floats(0.5, 5)), min_size=12, max_size=12), st.integers(0, 3))
def test_forward_windows_leave_k_minus_one_shares(rows: list[tuple[int, float]], skip: int) -> None:
    """In the k-th slot of a DPBA cycle min(k, w) shares are absorbed and min(k-1, w) shares are left."""
    w = np.array([1, *(x for x, _ in rows)])
    required = RequiredPerSlot(w, np.full(13, 1e6), w, np.array([1.0, *(x for _, x in rows)]))
    spent, k, floor = np.zeros(13), 0, required.share[1:].min()
    assume(floor > 0)
    for t in range(1, 13):
        x = leaves(required, np.zeros(13), spent, t)
        if t <= x.border:
            continue
        k += 1
        least = w[1:].min()
        assert x.absorbed >= min(k, least) * floor * (1 - 1e-9)
        assert x.forward >= min(k - 1, least) * floor - 1e-9
        if k == skip + 1:
            spent[t], k = min(x.absorbed, x.forward), 0
