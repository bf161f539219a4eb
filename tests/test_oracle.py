"""The oracle against the golden numbers, the stated facts and the promise of the specification."""

import math
import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from tests.histories.generate import Generator
from tests.histories.profiles import PROFILES
from tests.histories.run import Run
from tests.oracle import DynamicReq, FixedReq, OracleUser, exact_probability, oracle_error, oracle_obs
from tests.support import quick_and_slow

ONE = 10**9  # epsilon 1 in units


def units(text: str) -> int:
    value = Fraction(text) * ONE
    assert value.denominator == 1
    return int(value)


def dynamic(back: tuple[int, str], forward: tuple[int, str]) -> DynamicReq:
    """From (window, budget) pairs, as the specification prints them."""
    return DynamicReq(units(back[1]), back[0], units(forward[1]), forward[0])


def fixed_users(total: int) -> list[OracleUser]:
    """The three users of SPEC §5: windows 4, 2 and 3."""
    users = [OracleUser() for _ in range(3)]
    for user, window in zip(users, (4, 2, 3), strict=True):
        user.require(1, FixedReq(total, window))
    return users


BACK = (
    ((1, "1.0"), (2, "2.4"), (2, "2.8"), (2, "2.4"), (5, "3.0")),
    ((1, "0.6"), (2, "1.6"), (2, "3.2"), (3, "4.2"), (3, "3.6")),
    ((1, "2.0"), (2, "1.2"), (3, "1.8"), (2, "3.2"), (4, "2.4")),
)
FORWARD = (
    ((4, "2.4"), (4, "3.2"), (3, "4.2"), (3, "2.4"), (2, "0.8")),
    ((2, "1.6"), (2, "2.4"), (2, "2.8"), (2, "2.8"), (2, "2.0")),
    ((3, "1.2"), (3, "3.0"), (2, "1.2"), (3, "0.6"), (3, "1.8")),
)


def dynamic_users() -> list[OracleUser]:
    """The three users of SPEC §6, who declare something else in each of slots 1 … 5."""
    users = [OracleUser() for _ in range(3)]
    for user, backs, forwards in zip(users, BACK, FORWARD, strict=True):
        for slot, (back, forward) in enumerate(zip(backs, forwards, strict=True), start=1):
            user.require(slot, dynamic(back, forward))
    return users


# SPEC §3: optimal budget selection


def test_obs_golden() -> None:
    """SPEC §3: errors 200, 15.308424 and 27.733024; the threshold is 0.4."""
    budgets = [(units("0.1"), 2), (units("0.4"), 5), (units("0.8"), 3)]
    errors = [float(oracle_error(theta, budgets, 1).error) for theta, _ in budgets]
    assert [round(error, 6) for error in errors] == [200, 15.308424, 27.733024]
    choice = oracle_obs(budgets, 1)
    assert choice is not None
    assert choice == oracle_error(units("0.4"), budgets, 1)
    assert choice.noise == Fraction(25, 2)


def test_obs_counts_zero_budgets_as_lost() -> None:
    """Three users without budget are three lost users: squared bias 9, no variance."""
    assert oracle_obs([(0, 3), (ONE, 4)], 2) == (ONE, Fraction(0), Fraction(9), Fraction(8))


def test_obs_without_budget() -> None:
    """No positive budget, no threshold; a budget that nobody has is none."""
    assert oracle_obs([(0, 7)], 1) is None
    assert oracle_obs([], 1) is None
    assert oracle_obs([(ONE, 0)], 1) is None


def test_obs_merges_equal_budgets() -> None:
    """The order of the pairs and how equal budgets are split among them do not matter."""
    split = oracle_obs([(units("0.4"), 2), (units("0.8"), 3), (units("0.1"), 2), (units("0.4"), 3)], 1)
    whole = oracle_obs([(units("0.1"), 2), (units("0.4"), 5), (units("0.8"), 3)], 1)
    assert split is not None and whole is not None
    assert split.threshold_units == whole.threshold_units
    assert abs(split.error - whole.error) < Fraction(1, 10**50)


def test_obs_agrees_with_every_threshold_in_doubles() -> None:
    """No threshold has a smaller error than the chosen one, as far as doubles can tell."""
    rng = random.Random(3)
    for _ in range(200):
        budgets = [(rng.randrange(3 * ONE), rng.randrange(1, 30)) for _ in range(rng.randrange(1, 8))]
        s = rng.choice([1, 2])
        choice = oracle_obs(budgets, s)
        assert choice is not None
        for theta, _ in budgets:
            below = [(n, math.expm1(e / 1e9) / math.expm1(theta / 1e9)) for e, n in budgets if e < theta]
            error = sum(n * p * (1 - p) for n, p in below) + sum(n * (1 - p) for n, p in below) ** 2
            error += 2 * s**2 / (theta / 1e9) ** 2
            assert float(choice.error) <= error * (1 + 1e-9)
            if theta == choice.threshold_units:
                assert float(choice.error) == pytest.approx(error, rel=1e-9)


# SPEC §4 and §7: sampling probability


PAIRS = [(1, 2), (1, 100 * ONE), (ONE, ONE + 1), (10**8, 4 * 10**8), (99 * ONE, 100 * ONE)]


@pytest.mark.parametrize("pair", PAIRS)
def test_probability_is_enclosed_tightly(pair: tuple[int, int]) -> None:
    """The enclosure is 49 digits tight, and doubles agree with it."""
    low, high = exact_probability(*pair)
    assert 0 < low < high < 1
    assert (high - low) / low < Fraction(1, 10**49)
    e, t = pair[0] / 1e9, pair[1] / 1e9
    assert float(low) == pytest.approx(math.exp(e - t) * math.expm1(-e) / math.expm1(-t), rel=1e-13)


def test_probability_against_the_series() -> None:
    """A Taylor sum with its own remainder bound meets every enclosure."""
    for e_units, t_units in [(1, 3), (10**8, 4 * 10**8), (ONE, 2 * ONE), (7 * ONE, 9 * ONE + 1)]:
        bounds = []
        for x in (Fraction(e_units, ONE), Fraction(t_units, ONE)):
            term, total = Fraction(1), Fraction(0)
            for k in range(1, 120):
                term = term * x / k
                total += term
            bounds.append((total, total + term))  # the rest is below the last term, as x/k is below 1/2
        (e_low, e_high), (t_low, t_high) = bounds
        low, high = exact_probability(e_units, t_units)
        assert low <= e_high / t_low
        assert e_low / t_high <= high


def test_probability_at_the_ends() -> None:
    """Budget 0 is never kept; a budget that reaches the threshold always is."""
    assert set(exact_probability(0, ONE)) == {0}
    assert set(exact_probability(ONE, ONE) + exact_probability(2 * ONE, ONE)) == {1}


# SPEC §5: fixed requirements


def test_pbd_golden() -> None:
    """SPEC §5: E/4 each at slot 1; E1/8, E2/4, E3/8 at slot 3."""
    E = 24 * 10**6
    users = fixed_users(E)
    offers: dict[int, list[int]] = {}
    for slot in (1, 2, 3):
        offers[slot] = [user.offer_distribution(slot) for user in users]
        for user, offer in zip(users, offers[slot], strict=True):
            user.record(slot, user.change_budget(slot), offer if slot != 2 else 0)
    assert offers[1] == [E // 4] * 3
    assert offers[3] == [E // 8, E // 4, E // 8]
    assert [user.violations() for user in users] == [[], [], []]


def test_pba_golden() -> None:
    """SPEC §5: shares at 1, twice the shares at 3, slot 4 nullified, shares at 5; the change budget is the share."""
    E = 24 * 10**6
    users = fixed_users(E)
    shares = [E // 8, E // 4, E // 6]
    offers: dict[int, list[int]] = {}
    rested = []
    last = 0
    for slot in range(1, 6):
        rest = any(user.rests(slot, last) for user in users)
        rested.append(rest)
        offers[slot] = [user.offer_absorption(slot, last) for user in users]
        publish = slot in (1, 3, 5)
        assert [user.change_budget(slot) for user in users] == shares
        for user, offer in zip(users, offers[slot], strict=True):
            user.record(slot, user.change_budget(slot), offer if publish else 0)
        last = slot if publish else last
    assert offers[1] == offers[5] == shares
    assert offers[3] == [E // 4, E // 2, E // 3]
    assert rested == [False, False, False, True, False]
    assert [user.violations() for user in users] == [[], [], []]
    assert [user.worst() for user in users] == [Fraction(7, 8), 1, 1]


# SPEC §6: dynamic requirements


def test_dpbd_golden() -> None:
    """SPEC §6: the printed table of DPBD, to the last unit."""
    table = [
        "0.3/0.5   0.3/0.3 0.2/0.3",
        "0.3/0.35  0.4/0.25 0.2/0.15",
        "0.3/0.35  0.6/0.6 0.2/0.15",
        "0.3/0.175 0.7/0.4 0.1/0.15",
        "0.2/0.2   0.5/0.5 0.1/0.15",
    ]
    users = dynamic_users()
    for slot, line in enumerate(table, start=1):
        want = [tuple(units(part) for part in cell.split("/")) for cell in line.split()]
        got = [(user.change_budget(slot), user.offer_distribution(slot)) for user in users]
        assert got == want, f"slot {slot}"
        for user, (change_budget, offer) in zip(users, got, strict=True):
            user.record(slot, change_budget, offer if slot in (1, 3) else 0)
    assert [user.violations() for user in users] == [[], [], []]


def test_dpba_golden() -> None:
    """SPEC §6: the printed offers and largest borders of DPBA; nobody rests."""
    table = [
        (("0.3", "0.3", "0.2"), ("0", "0", "0")),
        (("0.4", "0.5", "0.4"), ("1", "1", "1")),
        (("0.8", "1.2", "0.4"), ("2", "2", "2")),
        (("0.1", "0.2", "0.2"), ("3.6667", "3.7143", "3.3333")),
        (("0.4", "0.6", "0.3"), ("4", "4", "4")),
    ]
    users = dynamic_users()
    last = 0
    for slot, (offers, borders) in enumerate(table, start=1):
        got = [user.offer_absorption(slot, last) for user in users]
        assert got == [units(offer) for offer in offers], f"slot {slot}"
        found = [border for user in users if (border := user.border(slot)) is not None]
        assert [round(border, 4) for border in found] == [Fraction(border) for border in borders]
        assert not any(user.rests(slot, last) for user in users)
        publish = slot in (1, 3, 5)
        for user, offer in zip(users, got, strict=True):
            user.record(slot, user.change_budget(slot), offer if publish else 0)
        last = slot if publish else last
    assert [user.violations() for user in users] == [[], [], []]


def test_halves_alone_would_overspend_the_whole() -> None:
    """SPEC §6, counter-example: per half, 0.5 is on offer after 0.9 of 1.0 is gone; with room it is 0.1."""
    user = OracleUser()
    user.require(1, dynamic((1, "10"), (1, "1.8")))
    user.require(2, dynamic((2, "1.0"), (1, "10")))
    assert user.change_budget(1) == units("0.9")
    user.record(1, units("0.9"), 0)
    assert user.least_feasible(2) == units("0.9")
    assert user.room(2) == units("0.1")
    assert user.change_budget(2) == 0
    assert user.offer_distribution(2) == user.offer_absorption(2, 0) == units("0.1")
    user.record(2, 0, units("0.5"))
    assert len(user.violations()) == 1
    assert user.worst() == Fraction(14, 10)
    user.record(2, 0, units("0.1"))
    assert user.violations() == []
    assert user.worst() == 1


def test_infeasible_backward_requirement_spends_nothing() -> None:
    """SPEC §2, project: more than EB is already spent, so the slot adds 0 and the promise is kept."""
    user = OracleUser()
    user.require(1, dynamic((1, "1"), (1, "1")))
    user.require(2, dynamic((2, "0.3"), (1, "1")))
    user.record(1, units("0.5"), units("0.25"))
    assert user.least_feasible(2) == units("0.75")
    assert user.room(2) == user.change_budget(2) == user.offer_distribution(2) == user.offer_absorption(2, 1) == 0
    user.record(2, 0, 0)
    assert user.violations() == []


def test_one_user_can_make_everybody_rest() -> None:
    """SPEC §6: (1000, 1), then (1, 10): the long share takes up to 999 slots to pay for one large spend."""
    user = OracleUser()
    user.require(1, dynamic((1, "100"), (1000, "1")))
    user.require(2, dynamic((1, "100"), (1, "10")))
    user.record(1, user.change_budget(1), 0)
    offer = user.offer_absorption(2, 0)
    assert offer == units("0.5")  # UF of slot 1's declaration
    user.record(2, user.change_budget(2), offer)
    assert user.border(3) == 1000
    assert user.rests(3, 2) and user.rests(1000, 2) and not user.rests(1001, 2)


def test_dynamic_formulas_without_room() -> None:
    """With dynamic requirements alone the forward side of room never cuts: SPEC §6 holds literally."""
    rng = random.Random(61)
    for absorb in (False, True):
        for _ in range(60):
            user = OracleUser()
            reqs: list[DynamicReq] = []
            spends: list[tuple[int, int]] = []
            last = 0
            for t in range(1, 19):
                reqs.append(random_dynamic(rng) if not reqs or rng.random() < 0.5 else reqs[-1])
                user.require(t, reqs[-1])
                eps1, offer = literal_dynamic(reqs, spends, absorb)
                assert user.change_budget(t) == eps1
                assert (user.offer_absorption(t, last) if absorb else user.offer_distribution(t)) == offer
                publish = rng.random() < 0.5 and not (absorb and user.rests(t, last))
                spends.append((eps1, offer if publish else 0))
                last = t if publish else last
                user.record(t, *spends[-1])
            assert user.violations() == []


def literal_dynamic(reqs: list[DynamicReq], spends: list[tuple[int, int]], absorb: bool) -> tuple[int, int]:
    """SPEC §6 with all its terms, floored; `reqs` are those of slots 1 … t, `spends` those of 1 … t-1."""
    t = len(reqs)
    now = reqs[-1]
    active = [(tau, req) for tau, req in enumerate(reqs, start=1) if tau <= t <= tau + req.forward_window - 1]
    used = {tau: sum(publish_budget for _, publish_budget in spends[tau - 1 :]) for tau, _ in active}
    trailing = spends[max(0, t - now.back_window) :]
    S1, S2 = sum(change_budget for change_budget, _ in trailing), sum(publish_budget for _, publish_budget in trailing)
    EB = now.back_epsilon
    shares = {tau: req.forward_epsilon // (2 * req.forward_window) for tau, req in active}
    eps1 = max(0, min(min(shares.values()), EB // 2 - S1, EB - S1 - S2))
    UB = min(EB // 2 - S2, EB - S1 - S2 - eps1)
    UF = min(req.forward_epsilon // 2 - used[tau] for tau, req in active)
    if not absorb:
        return eps1, max(0, min(UF // 2, UB))
    AF = max((t - (Fraction(used[tau], shares[tau]) + tau - 1)) * shares[tau] for tau, _ in active)
    assert AF.denominator == 1
    return eps1, max(0, min(int(AF), UF, UB))


def twins(epsilon: int, window: int) -> tuple[OracleUser, OracleUser]:
    """One fixed requirement, and the same as a constant forward one whose backward side never binds."""
    fixed, moving = OracleUser(), OracleUser()
    fixed.require(1, FixedReq(epsilon, window))
    moving.require(1, DynamicReq(100 * epsilon, window, epsilon, window))
    return fixed, moving


def test_dpbd_equals_pbd() -> None:
    """SPEC §6: constant forward, never binding backward: DPBD is PBD to the last unit, room included."""
    rng = random.Random(5)
    for _ in range(80):
        window = rng.randrange(1, 9)
        fixed, moving = twins(rng.randrange(2 * window, 5000), window)
        for slot in range(1, 31):
            assert fixed.room(slot) == moving.room(slot)
            assert fixed.change_budget(slot) == moving.change_budget(slot)
            offer = fixed.offer_distribution(slot)
            assert offer == moving.offer_distribution(slot)
            spend = fixed.change_budget(slot), offer if rng.random() < 0.5 else 0
            fixed.record(slot, *spend)
            moving.record(slot, *spend)


@pytest.mark.parametrize("leader", quick_and_slow(["DPBA"], ["PBA"]))
def test_dpba_rests_like_pba_and_offers_no_less(leader: str) -> None:
    """SPEC §6: on the same history DPBA rests in the same slots and offers at least as much, sometimes more.

    Under DPBA's own spends this needs a budget of whole shares: PBA rounds a broken rest up.
    """
    rng = random.Random(6)
    more = 0
    for _ in range(80):
        window = rng.randrange(1, 9)
        epsilon = rng.randrange(2 * window, 5000) if leader == "PBA" else 2 * window * rng.randrange(1, 300)
        fixed, moving = twins(epsilon, window)
        last = 0
        for slot in range(1, 41):
            rest = fixed.rests(slot, last)
            assert rest == moving.rests(slot, last)
            offers = fixed.offer_absorption(slot, last), moving.offer_absorption(slot, last)
            if not rest:
                assert offers[1] >= offers[0]
                more += offers[1] > offers[0]
            publish = not rest and rng.random() < 0.4
            spend = fixed.change_budget(slot), offers[leader == "DPBA"] if publish else 0
            fixed.record(slot, *spend)
            moving.record(slot, *spend)
            last = slot if publish else last
        assert fixed.violations() == moving.violations() == []
    assert more > 0


# SPEC §2: changes


def test_change_inside_a_live_window() -> None:
    """The old version binds until its last window closes, the new one counts the past; the strictest wins."""
    user = OracleUser()
    user.require(1, FixedReq(400, 4))  # share 50; lives until slot 2 + 4 - 1 = 5
    user.record(1, 50, 100)
    user.record(2, 50, 50)
    user.require(3, FixedReq(800, 2))  # share 200
    assert user.room(3) == 400 - 250
    assert user.change_budget(3) == 50  # the least live share
    assert user.offer_distribution(3) == 25  # min((200 - 150)//2, (400 - 50)//2)
    assert not user.rests(3, 2)  # 50 is one share of 50
    assert user.offer_absorption(3, 2) == 50
    user.record(3, 50, 25)
    assert user.room(4) == 400 - 325
    assert user.room(5) == 400 - 175  # slots 2 … 4, nothing spent in 4 so far
    user.record(4, 0, 75)
    assert user.rests(5, 4)  # ceil(75/50) - 1 = 1
    user.record(5, 50, 0)
    assert user.room(6) == 800 - 50  # the old version is dead, the new one sees slot 5 alone
    assert user.change_budget(6) == 200
    assert user.violations() == []


def test_absorption_pairs_the_least_share_with_the_shortest_window() -> None:
    """While two versions live, three saved slots count as two shares of 10, if the other window is 2."""
    user = OracleUser()
    user.require(1, FixedReq(80, 4))  # share 10
    user.record(1, 10, 0)
    user.record(2, 10, 0)
    user.require(3, FixedReq(800, 2))  # share 200
    assert user.offer_absorption(3, 0) == 10 * 2


def test_stricter_change_counts_the_past() -> None:
    """A smaller new budget finds its window overfull: no room, and no violation as nothing is added."""
    user = OracleUser()
    user.require(1, FixedReq(1000, 2))
    user.record(1, 250, 250)
    user.require(2, FixedReq(100, 3))
    assert user.room(2) == user.room(3) == user.change_budget(2) == user.offer_distribution(2) == 0
    user.record(2, 0, 0)
    user.record(3, 0, 0)
    assert user.room(4) == 100
    assert user.violations() == []
    assert user.worst() == Fraction(1, 2)  # slot 1 under the first version; the overfull windows are excused
    user.record(3, 1, 0)
    assert len(user.violations()) == 1  # window 1 … 3 now adds to what it held


def test_leave_and_return() -> None:
    """Leaving ends force, not life: who returns finds the old spends and the old version."""
    user = OracleUser()
    assert user.room(1) is None
    user.require(1, FixedReq(400, 4))
    user.record(1, 50, 100)
    user.leave(2)  # in force 1 … 1, alive until 4
    assert [user.registered(slot) for slot in (1, 2, 3)] == [True, False, False]
    assert user.room(2) == 250
    assert (user.change_budget(2), user.offer_distribution(2), user.offer_absorption(2, 1)) == (0, 0, 0)
    assert not user.rests(2, 1)
    assert user.room(5) is None
    user.record(2, 0, 0)
    user.require(3, FixedReq(4000, 4))
    assert user.registered(3)
    assert user.room(3) == 250
    assert user.change_budget(3) == 50
    assert user.offer_distribution(3) == (200 - 100) // 2
    assert user.offer_absorption(3, 1) == 50  # two slots since, one to rest for the 100
    assert user.room(5) == 4000
    user.record(3, 50, 0)
    assert user.room(5) == 3950
    assert user.violations() == []


def test_fixed_to_dynamic_and_back() -> None:
    """Versions of both kinds bind side by side until their windows close."""
    user = OracleUser()
    user.require(1, FixedReq(600, 3))  # share 100; alive until 3
    user.record(1, 100, 150)
    user.require(2, DynamicReq(400, 2, 800, 4))  # share 100, forward 2 … 5 and 3 … 6
    assert user.room(2) == 150  # backward: 400 - 250
    assert user.change_budget(2) == 100  # min(100, 100, 200 - 100)
    assert user.offer_distribution(2) == 50  # min((300 - 150)//2, 400//2, 200 - 150, 150 - 100)
    assert user.border(2) == 1
    assert user.rests(2, 1)  # the fixed side: ceil(150/100) - 1 = 1
    user.record(2, 100, 0)
    assert user.room(3) == 250  # fixed: 600 - 350; backward: 400 - 100
    assert user.offer_absorption(3, 1) == 100  # min(100 * (3 - 1 - 1), min(200, 400), 200 - 0)
    user.record(3, 100, 100)
    user.require(4, FixedReq(120, 1))  # share 60
    assert user.border(4) == 3  # U(2) = U(3) = 100: one share each, so 1 + 1 and 1 + 2
    assert user.room(4) == 120  # forward of 2: 800 - 300; the backward one was for slots 2 and 3 alone
    assert user.change_budget(4) == 60
    assert user.offer_distribution(4) == 30
    assert user.rests(4, 3)  # ceil(100/60) - 1 = 1, after the share of 60 came into force
    assert user.offer_absorption(4, 3) == 0
    user.record(4, 60, 30)
    assert not user.rests(5, 4)
    assert user.border(6) == 3 - 1 + Fraction(130, 100)
    assert user.border(7) is None  # the declaration of slot 3 ended with slot 6
    assert user.violations() == []


def test_a_second_ask_replaces_the_first() -> None:
    """What is replaced before its slot begins was never in force; a slot that has begun takes no change."""
    user = OracleUser()
    user.require(1, FixedReq(10, 5))
    user.require(1, FixedReq(1000, 2))
    assert user.room(1) == 1000
    user.leave(2)
    user.require(2, FixedReq(500, 1))
    assert user.registered(2)
    user.leave(3)
    user.record(1, 250, 250)
    assert user.room(2) == 500
    with pytest.raises(ValueError, match="has begun"):
        user.require(1, FixedReq(1000, 2))
    with pytest.raises(ValueError, match="has begun"):
        user.leave(1)
    with pytest.raises(ValueError, match="share"):
        user.require(2, FixedReq(9, 5))


def test_violations_are_found() -> None:
    """One unit too many is reported for each kind of window."""
    fixed = OracleUser()
    fixed.require(1, FixedReq(100, 2))
    fixed.record(1, 50, 0)
    fixed.leave(2)
    fixed.record(2, 51, 0)  # the window 1 … 2 touches slot 1
    assert len(fixed.violations()) == 1 and fixed.worst() == Fraction(101, 100)
    forward = OracleUser()
    forward.require(1, DynamicReq(1000, 1, 100, 3))
    forward.leave(2)
    forward.record(1, 0, 0)
    forward.record(3, 100, 1)
    assert len(forward.violations()) == 1 and "forward" in forward.violations()[0]
    backward = OracleUser()
    backward.require(1, DynamicReq(1000, 1, 1000, 1))
    backward.require(2, DynamicReq(100, 2, 1000, 1))
    backward.record(1, 100, 0)
    assert backward.violations() == []
    backward.record(2, 0, 1)
    assert len(backward.violations()) == 1 and "backward" in backward.violations()[0]


# SPEC §2: the promise


def random_dynamic(rng: random.Random) -> DynamicReq:
    back, forward = rng.randrange(1, 7), rng.randrange(1, 7)
    return DynamicReq(rng.randrange(1, 400), back, rng.randrange(2 * forward, 400), forward)


def random_change(rng: random.Random, user: OracleUser, slot: int) -> None:
    """Now and then a person joins, changes, leaves or returns, and sometimes thinks twice about it."""
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        kind = rng.randrange(5)
        if kind == 0:
            user.leave(slot)
        elif kind <= 2:
            window = rng.randrange(1, 7)
            user.require(slot, FixedReq(rng.randrange(2 * window, 400), window))
        else:
            user.require(slot, random_dynamic(rng))


def whole_offer(rng: random.Random, offer: int) -> int:
    return offer


def any_part(rng: random.Random, offer: int) -> int:
    return rng.randint(0, offer)


@pytest.mark.parametrize("taken", quick_and_slow([whole_offer], [any_part]))
@pytest.mark.parametrize("schedule", quick_and_slow(["absorption"], ["distribution", "absorption without rest"]))
def test_promise_on_random_histories(schedule: str, taken: Callable[[random.Random, int], int]) -> None:
    """Whatever is asked and decided, no window of the promise is overfull, and some are filled to the brim.

    "Without rest" publishes in resting slots too: room, not rest, carries the proof.
    """
    rng = random.Random(f"{schedule} {taken.__name__}")
    worst = Fraction(0)
    for _ in range(100):
        user = OracleUser()
        last = 0
        for slot in range(1, 26):
            random_change(rng, user, slot)
            change_budget = user.change_budget(slot)
            offer = user.offer_distribution(slot) if schedule == "distribution" else user.offer_absorption(slot, last)
            room = user.room(slot)
            assert change_budget + offer <= (0 if room is None else room)
            publish = rng.random() < 0.6 and not (schedule == "absorption" and user.rests(slot, last))
            user.record(slot, change_budget, taken(rng, offer) if publish else 0)
            last = slot if publish else last
        assert user.violations() == []
        worst = max(worst, user.worst())
    assert worst == 1


@pytest.mark.parametrize("histories", quick_and_slow([4], [40]))
@pytest.mark.parametrize("profile", PROFILES)
def test_promise_on_steered_histories(profile: str, histories: int) -> None:
    """What real publishers have people spend is within the oracle's room, slot by slot, and breaks no window.

    Merges, groups, restores, retries and bulk declarations included, with all recipes.
    """
    generator = Generator(PROFILES[profile], f"oracle {profile}")
    spending = 0
    for _ in range(histories):
        run = Run(generator.history())
        assert run.play() is None
        for person in run.town:
            user, before = OracleUser(), None
            spends = run.judge.spends(person)
            for slot, (promised, spent) in enumerate(zip(run.judge.promises(person), spends, strict=True), start=1):
                if promised != before:
                    user.leave(slot) if promised is None else user.require(slot, promised)
                before = promised
                room = user.room(slot)
                assert spent <= (0 if room is None else room), f"{person} in slot {slot}\n{run.history}"
                user.record(slot, 0, spent)
            assert user.violations() == []
            spending += sum(spends) > 0
    assert spending > histories


def test_room_is_what_the_promise_leaves() -> None:
    """Spending all the room keeps the promise in every slot; one unit more, ever, breaks it."""
    rng = random.Random(8)
    checked = 0
    for _ in range(80):
        user = OracleUser()
        end = rng.randrange(2, 20)
        for slot in range(1, end):
            random_change(rng, user, slot)
            room = user.room(slot) or 0
            change_budget = rng.randint(0, room)
            user.record(slot, change_budget, room - change_budget if rng.random() < 0.3 else 0)
        assert user.violations() == []
        random_change(rng, user, end)
        last_room = user.room(end)
        if last_room is not None:
            user.record(end, 0, last_room)
            assert user.violations() == []
            user.record(end, 1, last_room)
            assert user.violations() != []
            checked += 1
    assert checked > 40
