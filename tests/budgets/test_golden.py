"""The traces that the specification prints, through the real ledger and through a real publisher."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import pytest
from tests.support import FAST, Forced, Pair, dynamic, fixed, units

from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.schedules import (
    Absorption,
    Distribution,
    DynamicAbsorption,
    DynamicDistribution,
    Schedule,
)
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Dynamic, Requirement
from wevent.events.slot import Slot
from wevent.noise import SeededNoise
from wevent.releases.publisher import Mechanism, Publisher
from wevent.releases.release import Decision
from wevent.settings import Privacy

fast = pytest.mark.parametrize("fast", FAST)

USERS = ["user-1", "user-2", "user-3"]
E = 24 * 10**6
WINDOWS = (4, 2, 3)
FIXED = [fixed(E, window) for window in WINDOWS]

BACKWARD = (
    ((1, "1.0"), (2, "2.4"), (2, "2.8"), (2, "2.4"), (5, "3.0")),
    ((1, "0.6"), (2, "1.6"), (2, "3.2"), (3, "4.2"), (3, "3.6")),
    ((1, "2.0"), (2, "1.2"), (3, "1.8"), (2, "3.2"), (4, "2.4")),
)
FORWARD = (
    ((4, "2.4"), (4, "3.2"), (3, "4.2"), (3, "2.4"), (2, "0.8")),
    ((2, "1.6"), (2, "2.4"), (2, "2.8"), (2, "2.8"), (2, "2.0")),
    ((3, "1.2"), (3, "3.0"), (2, "1.2"), (3, "0.6"), (3, "1.8")),
)


def declared(user: int, slot: int) -> Dynamic:
    """What the table of SPEC §6 says for a user and a slot."""
    ahead, back = FORWARD[user][slot - 1], BACKWARD[user][slot - 1]
    return dynamic((units(ahead[1]), ahead[0]), (units(back[1]), back[0]))


Line = tuple[list[int], list[int], list[float], str]  # change budgets, offers, borders, how the slot ended
RequirementAt = Callable[[int], Requirement]  # what a user requires in a slot
Run = Callable[[Schedule, Sequence[RequirementAt], int, Collection[int], bool], list[Line]]


def through_ledger(
    schedule: Schedule, requires: Sequence[RequirementAt], slots: int, publish: Collection[int], fast: bool
) -> list[Line]:
    """Change budgets, offers, borders and ending of each slot, from a ledger alone."""
    pair = Pair(schedule, {user: require(1) for user, require in zip(USERS, requires, strict=False)}, fast=fast)
    lines: list[Line] = []
    for slot in range(1, slots + 1):
        if slot > 1:
            for user, require in zip(USERS, requires, strict=False):
                pair.require(user, require(slot))
        offer: Offer = pair.offer()
        views = list(pair.views(offer).values())
        ending = "nullified" if offer.nullified else "published" if slot in publish else "skipped"
        parts = [view.change_budget for view in views], [view.publish_budget for view in views]
        lines.append((*parts, [view.border for view in views], ending))
        pair.close(offer, "publish" if slot in publish else "skip")
    return lines


def through_publisher(
    schedule: Schedule, requires: Sequence[RequirementAt], slots: int, publish: Collection[int], fast: bool
) -> list[Line]:
    """The same from the trace of a publisher whose decisions are forced."""
    register = Register.from_rows({user: require(1) for user, require in zip(USERS, requires, strict=False)})
    mechanism = Mechanism("forced", lambda: schedule, lambda: Forced(publish))
    publisher = Publisher(register, 2, mechanism, noise=SeededNoise(1), history_slots=8, fast=fast)
    lines: list[Line] = []
    for slot in range(1, slots + 1):
        if slot > 1:
            for user, require in zip(USERS, requires, strict=False):
                publisher.change(user, require(slot))
        release = publisher.step(Slot(slot, {USERS[0]: 1}))
        trace = publisher.trace
        assert trace is not None and trace.slot == slot
        rows = publisher.members.rows()
        spent = trace.change_budget + trace.offer if release.decision is Decision.PUBLISHED else trace.change_budget
        assert np.array_equal(trace.spent, spent)
        borders = np.full(publisher.ledger.rows, -np.inf) if trace.borders is None else trace.borders
        parts = trace.change_budget[rows].tolist(), trace.offer[rows].tolist()
        lines.append((*parts, borders[rows].tolist(), str(release.decision)))
    return lines


both = pytest.mark.parametrize("run", [through_ledger, through_publisher])


def constant(requirement: Requirement) -> RequirementAt:
    return lambda slot: requirement


@fast
@both
@pytest.mark.parametrize("schedule", [Distribution(), DynamicDistribution()])
def test_pbd(run: Run, schedule: Schedule, fast: bool) -> None:
    """SPEC §5: E/4 each at slot 1; E1/8, E2/4, E3/8 at slot 3; the change budget is the share in every slot."""
    lines = run(schedule, [constant(require) for require in FIXED], 3, {1, 3}, fast)
    assert [line[1] for line in lines[::2]] == [[E // 4] * 3, [E // 8, E // 4, E // 8]]
    assert [line[0] for line in lines] == [[E // 8, E // 4, E // 6]] * 3
    assert [line[3] for line in lines] == ["published", "skipped", "published"]


@fast
@both
@pytest.mark.parametrize("schedule", [Absorption(), DynamicAbsorption()])
def test_pba(run: Run, schedule: Schedule, fast: bool) -> None:
    """SPEC §5: shares at 1, twice the shares at 3, slot 4 nullified, shares again at 5."""
    lines = run(schedule, [constant(require) for require in FIXED], 5, {1, 3, 5}, fast)
    share = [E // 8, E // 4, E // 6]
    assert lines[0][1] == lines[4][1] == share
    assert lines[2][1] == [2 * a for a in share]
    assert lines[3][1] == [0, 0, 0]
    assert [line[3] for line in lines] == ["published", "skipped", "published", "nullified", "published"]
    assert [line[0] for line in lines] == [share] * 5


@fast
@both
def test_dpbd(run: Run, fast: bool) -> None:
    """SPEC §6: the printed table of DPBD, change budgets and offers of three users, to the last unit."""
    table = [
        "0.3/0.5   0.3/0.3  0.2/0.3",
        "0.3/0.35  0.4/0.25 0.2/0.15",
        "0.3/0.35  0.6/0.6  0.2/0.15",
        "0.3/0.175 0.7/0.4  0.1/0.15",
        "0.2/0.2   0.5/0.5  0.1/0.15",
    ]
    requires = [lambda slot, user=user: declared(user, slot) for user in range(3)]
    for line, printed in zip(run(DynamicDistribution(), requires, 5, {1, 3}, fast), table, strict=True):
        pairs = [cell.split("/") for cell in printed.split()]
        assert line[0] == [units(change_budget) for change_budget, _ in pairs]
        assert line[1] == [units(offer) for _, offer in pairs]


@fast
@both
def test_dpba(run: Run, fast: bool) -> None:
    """SPEC §6: the printed offers and largest borders of DPBA; nobody rests."""
    table = [
        ("0.3 0.3 0.2", "0 0 0"),
        ("0.4 0.5 0.4", "1 1 1"),
        ("0.8 1.2 0.4", "2 2 2"),
        ("0.1 0.2 0.2", "3.6667 3.7143 3.3333"),
        ("0.4 0.6 0.3", "4 4 4"),
    ]
    requires = [lambda slot, user=user: declared(user, slot) for user in range(3)]
    lines = run(DynamicAbsorption(), requires, 5, {1, 3, 5}, fast)
    for line, (offers, borders) in zip(lines, table, strict=True):
        assert line[1] == [units(offer) for offer in offers.split()]
        assert [round(border, 4) for border in line[2]] == [float(border) for border in borders.split()]
    assert [line[3] for line in lines] == ["published", "skipped", "published", "skipped", "published"]


@fast
@both
@pytest.mark.parametrize("schedule", [DynamicDistribution(), DynamicAbsorption()])
def test_the_halves_do_not_overspend_the_whole(run: Run, schedule: Schedule, fast: bool) -> None:
    """SPEC §6, counter-example: after 0.9 of 1.0 is gone the paper's halves offer 0.5, room leaves 0.1."""
    first = dynamic((units("1.8"), 1), (units("10"), 1))
    second = dynamic((units("10"), 1), (units("1.0"), 2))
    lines = run(schedule, [lambda slot: first if slot == 1 else second], 2, {2}, fast)
    assert lines[0][0] == [units("0.9")]
    assert lines[1][:2] == ([0], [units("0.1")])


@fast
@both
def test_one_user_can_make_everybody_rest(run: Run, fast: bool) -> None:
    """SPEC §6: (40, 1), then (1, 10): everybody rests for 38 slots to pay for one large spend."""
    long, short = dynamic((units("1"), 40)), dynamic((units("10"), 1))
    other = constant(fixed(units("1"), 2))
    lines = run(DynamicAbsorption(), [lambda slot: long if slot == 1 else short, other], 41, {2, 41}, fast)
    assert lines[1][1][0] == units("0.5")
    assert {line[3] for line in lines[2:40]} == {"nullified"}
    assert {line[2][0] for line in lines[2:40]} == {40.0}
    assert lines[40][3] == "published"


@fast
def test_resting_alone_leaves_the_others_their_offers(fast: bool) -> None:
    """SPEC §6, rest = own: the resting user offers 0, the other one goes on."""
    long, short = dynamic((units("1"), 1000)), dynamic((units("10"), 1))
    people: dict[str, Requirement] = {"user-1": long, "user-2": fixed(units("1"), 2)}
    pair = Pair(DynamicAbsorption(), people, privacy=Privacy(rest="own"), fast=fast)
    for slot in range(1, 6):
        if slot == 2:
            pair.require("user-1", short)
        offer = pair.offer()
        views = pair.views(offer)
        assert not offer.nullified
        if slot > 2:  # user-2 rests in slot 3 alone, user-1 for a long time
            assert views["user-1"].publish_budget == 0
            assert (views["user-2"].publish_budget > 0) == (slot > 3)
        pair.close(offer, "publish" if slot == 2 else "skip")


def test_ledgers_without_a_publisher_need_nothing_else() -> None:
    """The printed trace of PBD from rows that were opened by hand, without any membership."""
    ledger = Ledger()
    rows = [ledger.open_row(require, 1) for require in FIXED]
    offers = []
    for slot in (1, 2, 3):
        offer = ledger.offer(Distribution())
        offers.append(offer.publish_budget[rows].tolist())
        ledger.charge(offer)
        ledger.settle(published=slot != 2)
    assert offers[0] == [E // 4] * 3
    assert offers[2] == [E // 8, E // 4, E // 8]
