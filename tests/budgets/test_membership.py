"""Joins, leaves, returns, changes: nobody gets fresh budget, no refusal is half done, nothing piles up."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest
from tests.support import FAST, ONE, Pair, dynamic, fixed, own_rows

from wevent.budgets.invariant import check_invariant
from wevent.budgets.ledger import Ledger
from wevent.budgets.membership import Membership
from wevent.budgets.schedules import Distribution, DynamicAbsorption, DynamicDistribution
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Requirement
from wevent.errors import (
    AlreadyRegistered,
    Infeasible,
    InvalidRequirement,
    UnknownUser,
    WeventError,
    WrongRequirementKind,
    WrongShape,
)
from wevent.settings import Limits, Privacy

fast = pytest.mark.parametrize("fast", FAST)
A, B = fixed(ONE, 3), fixed(2 * ONE, 2)


def run(pair: Pair, slots: int, publish: bool = False) -> None:
    for _ in range(slots):
        check_invariant(pair.members)
        pair.close(pair.offer(), "publish" if publish else "skip")


def room_of(pair: Pair, user: str) -> int:
    pair.members.begin_slot()
    register = pair.members.register
    return int(pair.ledger.room()[pair.members.rows()[register.position(user)]])


# Who shares a row


def test_people_of_one_fixed_requirement_share_a_row() -> None:
    """Fixed requirements make cohorts, dynamic ones give a row of one's own."""
    own = dynamic((ONE, 3))
    people: dict[str, Requirement] = {"user-0": A, "user-1": own, "user-2": A, "user-3": own}
    pair = Pair(DynamicDistribution(), people)
    rows = pair.members.rows()
    assert rows[0] == rows[2]
    assert len({rows[0], rows[1], rows[3]}) == 3
    assert pair.ledger.all_sizes[rows].tolist() == [2, 1, 2, 1]


def test_equal_requirements_given_twice_share_a_row() -> None:
    """Two equal entries of a table of levels are one cohort; who changes changes nothing for the others."""
    register = Register.from_levels([A, fixed(ONE, 3)], [0, 1, 0, 1], users=["a", "b", "c", "d"])
    ledger = Ledger()
    members = Membership(register, ledger, dynamic=False)
    assert len(set(members.rows().tolist())) == 1
    members.change("a", fixed(50 * ONE, 1))
    rows, room = members.rows(), ledger.room()
    assert [int(room[rows[members.register.position(user)]]) for user in "abcd"] == [50 * ONE, ONE, ONE, ONE]


@fast
def test_a_newcomer_joins_the_older_cohort(fast: bool) -> None:
    """Joining an older cohort is fine: its row recorded at least what the newcomer spent."""
    pair = Pair(DynamicDistribution(), {"user-0": A}, fast=fast)
    run(pair, 2, publish=True)
    pair.require("user-1", A)
    rows = pair.members.rows()
    assert rows[0] == rows[1]
    assert room_of(pair, "user-1") < ONE


@fast
def test_who_changes_takes_the_past_along(fast: bool) -> None:
    """A changed user leaves the shared row with a copy of its past, which the new requirement counts."""
    pair = Pair(DynamicDistribution(), {"user-0": A, "user-1": A}, fast=fast)
    run(pair, 2, publish=True)
    spent = ONE - room_of(pair, "user-1")
    pair.require("user-0", fixed(3 * ONE, 3))
    rows = pair.members.rows()
    assert rows[0] != rows[1]
    assert room_of(pair, "user-0") == ONE - spent  # the old version decides while it lives
    run(pair, 1)
    assert room_of(pair, "user-1") > 0


# Nobody gets fresh budget inside a live window


@fast
@pytest.mark.parametrize("required", [A, B, dynamic((2 * ONE, 2))])
@pytest.mark.parametrize("first", [A, dynamic((ONE, 3), (ONE, 3))])
def test_who_returns_finds_the_old_spends(first: Requirement, required: Requirement, fast: bool) -> None:
    """Leaving and joining again before the next slot leaves no more room than staying."""
    pair = Pair(DynamicDistribution(), {"user-0": first, "user-1": A}, fast=fast)
    run(pair, 2, publish=True)
    left = room_of(pair, "user-0")
    pair.leave("user-0")
    pair.require("user-0", required)
    oracle = pair.oracles["user-0"].room(pair.slot)
    assert oracle is not None
    assert room_of(pair, "user-0") == oracle
    assert oracle <= left
    run(pair, 8, publish=True)
    assert pair.oracles["user-0"].violations() == []


@fast
def test_joining_and_leaving_before_a_slot_leaves_nothing_behind(fast: bool) -> None:
    """A newcomer who thinks twice was never there: no past, no position, no place in a row."""
    pair = Pair(DynamicDistribution(), {"user-0": A}, fast=fast)
    run(pair, 1)
    for _ in range(3):
        pair.require("user-1", A)
        pair.require("user-1", B)
        pair.require("user-1", A)
        pair.leave("user-1")
    assert "user-1" not in pair.members.register
    assert pair.ledger.all_sizes.sum() == 1
    run(pair, 12)
    assert len(pair.members.register) <= 2


@fast
def test_a_row_is_freed_once(fast: bool) -> None:
    """Leave, return, merge into a cohort: the row left behind is free once, so no two users ever get it."""
    pair = Pair(Distribution(), {"user-0": A, "user-1": B}, history_slots=4)
    for slot in range(1, 12):
        if slot == 2:
            pair.require("user-1", A)
        if slot == 6:
            pair.leave("user-1")
        if slot == 7:
            pair.require("user-1", A)
        run(pair, 1)
    assert not own_rows(pair.members)
    for user, required in (("user-2", 2), ("user-3", 3), ("user-4", 4)):
        pair.require(user, fixed(required * 7, 1))
    assert len(set(pair.members.rows().tolist())) == 4
    run(pair, 3, publish=True)


@fast
def test_a_row_left_for_a_fixed_requirement_is_freed_once(fast: bool) -> None:
    """Leave with a dynamic requirement, return with a fixed one: no two later users ever get the same row."""
    moving = dynamic((ONE, 3))
    pair = Pair(DynamicDistribution(), {"user-0": moving, "user-1": moving}, history_slots=4, fast=fast)
    run(pair, 2)
    pair.leave("user-1")
    run(pair, 1)
    pair.require("user-1", A)
    run(pair, 9)
    for user in ("user-2", "user-3", "user-4"):
        pair.require(user, moving)
    assert len(set(pair.members.rows().tolist())) == 5
    run(pair, 3, publish=True)


@pytest.mark.parametrize("afterwards", ["change", "leave and return"])
def test_a_merge_is_not_undone_by_a_refused_slot(afterwards: str) -> None:
    """Merged at the beginning of a slot that was then refused, a returned user keeps the cohort's past."""
    pair = Pair(Distribution(), {"user-0": A, "user-1": B}, history_slots=4)
    for slot in range(1, 8):
        if slot == 2:
            pair.require("user-1", A)
        if slot == 6:
            pair.leave("user-1")
        if slot == 7:
            pair.require("user-1", A)
        run(pair, 1)
    pair.members.begin_slot()  # the slot is refused after this, for bad input say
    assert pair.members.rows()[0] == pair.members.rows()[1]
    if afterwards == "leave and return":
        pair.leave("user-1")
    pair.require("user-1", B)
    for user in ("user-2", "user-3", "user-4"):
        pair.require(user, fixed(ONE + int(user[-1]), 2))
    check_invariant(pair.members)
    assert len(set(pair.members.rows().tolist())) == 5
    oracle = pair.oracles["user-1"].room(pair.slot)
    assert oracle is not None
    assert room_of(pair, "user-1") <= oracle
    run(pair, 6, publish=True)
    assert pair.oracles["user-1"].violations() == []


def test_rows_merge_once_a_cohort_dominates_them() -> None:
    """A row of one's own ends when the cohort has recorded at least as much in every remembered slot."""
    pair = Pair(Distribution(), {"user-0": A, "user-1": B})
    run(pair, 1)
    pair.require("user-1", A)
    run(pair, 1)
    assert pair.members.merge() == 0  # a larger share was spent in slot 1, under B
    run(pair, 128)
    assert pair.members.rows()[0] == pair.members.rows()[1]
    assert pair.ledger.all_sizes[pair.members.rows()[0]] == 2


def test_no_merge_while_a_declaration_binds() -> None:
    """A forward requirement of the past keeps its user out of a cohort until it ends, whatever was spent."""
    rich = fixed(40 * ONE, 2)
    pair = Pair(DynamicDistribution(), {"user-0": rich, "user-1": dynamic((ONE, 9))}, history_slots=16)
    run(pair, 1, publish=True)
    pair.require("user-1", rich)
    for slot in range(2, 14):
        moved = pair.members.merge()
        assert moved == (slot == 10)
        oracle = pair.oracles["user-1"].room(pair.slot)
        assert oracle is not None
        assert room_of(pair, "user-1") <= oracle
        run(pair, 1, publish=True)
    assert pair.oracles["user-1"].violations() == []


# Windows that reach into forgotten slots


@fast
@pytest.mark.parametrize("required", [fixed(9 * ONE, 6), dynamic((9 * ONE, 1), (9 * ONE, 6))])
def test_a_window_into_forgotten_slots_leaves_no_room(required: Requirement, fast: bool) -> None:
    """What was spent there is unknown, so nothing may be spent until the window has left it; no exception."""
    pair = Pair(DynamicDistribution(), {"user-0": fixed(ONE, 2)}, history_slots=1, fast=fast)
    run(pair, 9, publish=True)
    assert pair.ledger.span == 2
    pair.require("user-0", required)
    for slot in range(10, 18):
        known = slot - 6 + 1 >= 9  # slot 9 is the oldest that a span of 2 remembers
        assert room_of(pair, "user-0") == (pair.oracles["user-0"].room(slot) if known else 0)
        assert slot != 14 or room_of(pair, "user-0") > 0
        run(pair, 1, publish=True)
    assert pair.oracles["user-0"].violations() == []


@fast
@pytest.mark.parametrize("required", [fixed(ONE, 6), dynamic((ONE, 1), (ONE, 6))])
@pytest.mark.parametrize("through", ["alone", "a cohort", "a change"])
def test_who_was_forgotten_gets_no_fresh_budget(required: Requirement, through: str, fast: bool) -> None:
    """Forgotten after short windows, back with a long one: it reaches the old spends, so there is no room yet."""
    pair = Pair(DynamicDistribution(), {"user-0": fixed(ONE, 1), "user-1": fixed(2, 1)}, history_slots=1, fast=fast)
    run(pair, 3, publish=True)
    pair.leave("user-0")
    run(pair, 2)
    assert not pair.members._departed  # forgotten: slot 3 is out of every window so far
    if through == "a cohort":
        pair.require("user-2", required)
        run(pair, 1, publish=True)
    if through == "a change":
        pair.require("user-0", fixed(2, 1))
        run(pair, 1)
    pair.require("user-0", required)
    for _ in range(8):
        oracle = pair.oracles["user-0"].room(pair.slot)
        assert oracle is not None
        assert room_of(pair, "user-0") <= oracle
        run(pair, 1, publish=True)
    assert pair.oracles["user-0"].violations() == []
    assert pair.oracles["user-0"].worst() > 0


@fast
def test_who_joins_later_has_no_forgotten_slots(fast: bool) -> None:
    """A long window of a newcomer counts no past, so it has room at once."""
    pair = Pair(DynamicDistribution(), {"user-0": fixed(ONE, 2)}, history_slots=1, fast=fast)
    run(pair, 9, publish=True)
    pair.require("user-1", fixed(ONE, 50))
    pair.require("user-2", dynamic((ONE, 50), (ONE, 60)))
    assert room_of(pair, "user-1") == room_of(pair, "user-2") == ONE


# Infeasible backward requirements


REJECT = Privacy(infeasible="reject")


@fast
@pytest.mark.parametrize("first", [A, dynamic((ONE, 3))])
def test_reject_names_the_least_feasible_budget(first: Requirement, fast: bool) -> None:
    """One unit below what was spent is refused with that number; exactly that is accepted."""
    pair = Pair(DynamicDistribution(), {"user-0": first, "user-1": A}, privacy=REJECT, fast=fast)
    run(pair, 2, publish=True)
    pair.members.begin_slot()
    spent = ONE - room_of(pair, "user-0")
    before = pair.ledger.to_bytes(), pair.members.rows().tolist()
    with pytest.raises(Infeasible, match="already spent") as refused:
        pair.members.change("user-0", dynamic((ONE, 3), (spent - 1, 5)))
    assert refused.value.fields["least"] == Decimal(spent).scaleb(-9)
    assert (pair.ledger.to_bytes(), pair.members.rows().tolist()) == before
    pair.require("user-0", dynamic((ONE, 3), (spent, 5)))
    assert room_of(pair, "user-0") == 0
    run(pair, 5, publish=True)
    assert pair.oracles["user-0"].violations() == []


@fast
def test_project_spends_nothing_in_that_slot(fast: bool) -> None:
    """By default the same declaration is accepted and its user spends 0 while it is infeasible."""
    pair = Pair(DynamicAbsorption(), {"user-0": dynamic((ONE, 3))}, fast=fast)
    run(pair, 1, publish=True)
    pair.require("user-0", dynamic((ONE, 3), (1, 2)))
    offer = pair.offer()
    assert pair.ledger.room().tolist() == offer.change_budget.tolist() == offer.publish_budget.tolist() == [0]
    pair.close(offer, "publish")
    assert pair.oracles["user-0"].violations() == []


@fast
def test_a_declaration_is_refused_as_a_whole(fast: bool) -> None:
    """If one of many is infeasible, nobody's requirement changes."""
    moving = dynamic((ONE, 3))
    people: dict[str, Requirement] = {"user-0": moving, "user-1": moving, "user-2": A}
    pair = Pair(DynamicDistribution(), people, privacy=REJECT, fast=fast)
    run(pair, 1, publish=True)
    pair.members.begin_slot()
    before = pair.ledger.to_bytes(), pair.members.rows().tolist()
    table = [dynamic((ONE, 9), (ONE, 2)), dynamic((ONE, 9), (1, 2))]
    for choice in ([0, 1, 0], [0, 0, 1]):
        with pytest.raises(Infeasible):
            pair.members.declare(table, np.array(choice))
        assert (pair.ledger.to_bytes(), pair.members.rows().tolist()) == before
    pair.declare(table, {"user-0": 0, "user-1": 0, "user-2": 0})
    run(pair, 3, publish=True)


@fast
def test_a_return_is_refused_as_a_whole(fast: bool) -> None:
    """Coming back with an infeasible requirement: still away, and still with the old spends."""
    pair = Pair(DynamicDistribution(), {"user-0": A, "user-1": A}, privacy=REJECT, fast=fast)
    run(pair, 1, publish=True)
    pair.leave("user-0")
    pair.members.begin_slot()
    before = pair.ledger.to_bytes()
    with pytest.raises(Infeasible):
        pair.members.join("user-0", dynamic((ONE, 9), (1, 2)))
    assert pair.ledger.to_bytes() == before
    assert "user-0" not in pair.members.register
    pair.require("user-0", B)
    oracle = pair.oracles["user-0"].room(pair.slot)
    assert room_of(pair, "user-0") == oracle


# Refusals


def no_such_choice(members: Membership) -> None:
    members.declare([dynamic((ONE, 2))], np.array([0, 1]))


def short_choice(members: Membership) -> None:
    members.declare([dynamic((ONE, 2))], np.array([0]))


def broken_choice(members: Membership) -> None:
    members.declare([dynamic((ONE, 2))], np.array([0.0, 0.0]))


def fixed_choice(members: Membership) -> None:
    members.declare([A], np.array([0, 0]))  # type: ignore[list-item]


REFUSED: list[tuple[Callable[[Membership], None], type[WeventError]]] = [
    (lambda members: members.join("user-0", A), AlreadyRegistered),
    (lambda members: members.join("group-0", A), AlreadyRegistered),
    (lambda members: members.leave("user-9"), UnknownUser),
    (lambda members: members.leave("group-0"), UnknownUser),
    (lambda members: members.change("user-9", A), UnknownUser),
    (lambda members: members.change("user-0", "strict"), InvalidRequirement),  # type: ignore[arg-type]
    (lambda members: members.join("user-9", None), InvalidRequirement),  # type: ignore[arg-type]
    (lambda members: members.change("user-0", fixed(6 * ONE, 2)), InvalidRequirement),
    (lambda members: members.change("user-0", fixed(ONE, 11)), InvalidRequirement),
    (lambda members: members.join("user-9", dynamic((6 * ONE, 2))), InvalidRequirement),
    (lambda members: members.join("user-9", dynamic((ONE, 2), (ONE, 11))), InvalidRequirement),
    (no_such_choice, WrongShape),
    (short_choice, WrongShape),
    (broken_choice, WrongShape),
    (fixed_choice, WrongRequirementKind),
]


@fast
@pytest.mark.parametrize(("wrong", "error"), REFUSED)
def test_a_refused_call_changes_nothing(
    wrong: Callable[[Membership], None], error: type[WeventError], fast: bool
) -> None:
    """Every refusal has its type, and leaves bytes, rows and positions as they were."""
    people: dict[str, Requirement] = {"user-0": A, "user-1": dynamic((ONE, 2))}
    register = Register.from_rows(people).with_group("group-0", A, 10)
    ledger = Ledger(Privacy(limits=Limits(epsilon=5, window=10)), fast=fast)
    members = Membership(register, ledger, dynamic=True)
    before = ledger.to_bytes(), members.rows().tolist(), len(members.register)
    with pytest.raises(error) as refused:
        wrong(members)
    assert type(refused.value) is error
    assert (ledger.to_bytes(), members.rows().tolist(), len(members.register)) == before


def test_limits_hold_from_the_start() -> None:
    """A register that requires more than the operator allows is refused, and the limit is named."""
    strict = Ledger(Privacy(limits=Limits(epsilon=0.5, window=10)))
    with pytest.raises(InvalidRequirement, match=r"0\.5"):
        Membership(Register.from_rows({"user-0": A}), strict, dynamic=False)


def test_dynamic_requirements_need_a_dynamic_mechanism() -> None:
    """Where only fixed requirements are served, a dynamic one is refused at the start and later."""
    with pytest.raises(WrongRequirementKind, match="fixed requirements only"):
        Membership(Register.from_rows({"user-0": dynamic((ONE, 2))}), Ledger(), dynamic=False)
    members = Membership(Register.from_rows({"user-0": A}), Ledger(), dynamic=False)
    with pytest.raises(WrongRequirementKind):
        members.change("user-0", dynamic((ONE, 2)))


def test_who_has_left_declares_nothing() -> None:
    """A declaration for the position of a person who left is refused."""
    pair = Pair(DynamicDistribution(), {"user-0": A, "user-1": dynamic((ONE, 2))})
    run(pair, 1)
    pair.leave("user-0")
    with pytest.raises(UnknownUser, match="has left"):
        pair.members.declare([dynamic((ONE, 2))], np.array([0, 0]))
    pair.members.declare([dynamic((ONE, 2))], np.array([-1, 0]))


# Groups, and nothing piles up


@fast
def test_a_group_changes_like_a_user(fast: bool) -> None:
    """The row of a declared group keeps its past and its old version when the group asks anew."""
    register = Register.from_rows({"user-0": A}).with_group("group-0", fixed(400, 4), 10)
    ledger = Ledger(fast=fast)
    members = Membership(register, ledger, dynamic=True)
    row = members.groups["group-0"]
    for _ in range(2):
        ledger.charge(ledger.offer(DynamicDistribution()))
        ledger.settle(published=True)
    left = int(ledger.room()[row])
    members.change("group-0", fixed(40_000, 4))
    assert ledger.room()[row] == left
    assert ledger.all_sizes[row] == 10
    members.change("group-0", dynamic((40_000, 4)))
    assert ledger.room()[row] == left


@fast
def test_people_who_come_and_go_do_not_pile_up(fast: bool) -> None:
    """After hundreds of different guests, positions, rows and bytes are those of a few windows."""
    pair = Pair(DynamicDistribution(), {"user-0": A}, history_slots=3, fast=fast)
    members, held = pair.members, []
    for slot in range(1, 841):
        guest = f"user-{slot}"
        requires: list[Requirement] = [A, fixed(ONE + slot % 7, 2), dynamic((ONE, 3))]
        members.join(guest, requires[slot % 3])
        if slot % 2:
            members.change(guest, B)
        pair.ledger.charge(pair.offer())
        pair.ledger.settle(published=slot % 4 == 0)
        members.leave(guest)
        if slot in (168, 840):  # the same phase of the guests' habits
            lengths = (
                len(members._departed),
                len(members.placement._empty),
                len(own_rows(members)),
            )
            held.append((len(members.register), pair.ledger.rows, pair.ledger.nbytes, *lengths))
    assert held[0] == held[1]
    check_invariant(members)
