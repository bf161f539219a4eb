"""The register: rows, stable positions, and a million people without a loop over them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import ONE, dynamic, fixed

from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.membership import Membership
from wevent.cohorts.positions import NOBODY
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Fixed, Requirement
from wevent.errors import AlreadyRegistered, InvalidRequirement, UnknownUser, WrongShape

A, B = fixed(ONE, 3), fixed(2 * ONE, 2)


def cohorts(register: Register) -> set[tuple[Requirement, frozenset[Hashable], int]]:
    """The requirement, the members and the size of each row, without its number."""
    rows = register.rows.tolist()
    members: dict[int, set[Hashable]] = {row: set() for row in range(register.required.size)}
    for user, row in zip(register.users, rows, strict=True):
        members[row].add(user)
    return {
        (register.table[register.required[row]], frozenset(who), int(register.sizes[row]))
        for row, who in members.items()
    }


budgets = st.sampled_from([0.1 + 0.2, 0.3, 0.5, 1e-6, 1 / 3, 2, 99.999999999, 0.30000000000000004])


@given(st.lists(st.tuples(budgets, st.integers(1, 5)), min_size=1, max_size=30))
@settings(deadline=None)
def test_arrays_and_rows_give_the_same_cohorts(required: list[tuple[float, int]]) -> None:
    """`from_arrays` puts the same people together, by the same requirements, as `from_rows`."""
    users = [f"user-{k}" for k in range(len(required))]
    by_rows = Register.from_rows({user: Fixed(*terms) for user, terms in zip(users, required, strict=True)})
    epsilon, window = [terms[0] for terms in required], [terms[1] for terms in required]
    forms: list[Any] = [users, np.array(users)]
    for names in forms:
        assert cohorts(Register.from_arrays(epsilon, window, users=names)) == cohorts(by_rows)
    numbered = Register.from_arrays(np.array(epsilon), np.array(window, np.int16))
    renamed = {(terms, frozenset(f"user-{k}" for k in who), n) for terms, who, n in cohorts(numbered)}
    assert renamed == cohorts(by_rows)
    assert cohorts(Register.from_arrays(epsilon, np.array(window, float), users=users)) == cohorts(by_rows)


@given(st.lists(st.integers(0, 3), max_size=20))
@settings(deadline=None)
def test_levels_give_the_same_cohorts(choice: list[int]) -> None:
    """A table with equal entries, fixed and dynamic, is as good as single requirements."""
    table: list[Requirement] = [A, dynamic((ONE, 2)), B, fixed(ONE, 3)]
    users = [f"user-{k}" for k in range(len(choice))]
    by_rows = Register.from_rows([(user, table[k]) for user, k in zip(users, choice, strict=True)])
    assert cohorts(Register.from_levels(table, np.array(choice, int), users=users)) == cohorts(by_rows)


@pytest.mark.slow
def test_a_million_people_without_a_loop() -> None:
    """Registering 10⁶ people and opening their rows costs a few sorts, not a million steps of Python."""
    rng = np.random.default_rng(8)
    epsilon, window = rng.integers(1, 40, 10**6) / 20, rng.integers(1, 30, 10**6)

    def timed(work: Callable[[], object]) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    sort = min(timed(lambda: np.unique(rng.random(10**6), return_inverse=True)) for _ in range(3))
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        register = Register.from_arrays(epsilon, window)
        members = Membership(register, Ledger(), dynamic=False)
    finally:
        sys.setprofile(None)
    assert calls < 50 * register.required.size
    assert members.ledger.sizes.sum() == len(register) == 10**6
    assert min(timed(lambda: Register.from_arrays(epsilon, window)) for _ in range(2)) < 20 * sort


def test_groups() -> None:
    """A group is one row of its declared size; it is nobody's position."""
    register = Register.from_rows({"user-0": A}).with_group("group-0", A, 5).with_group("group-1", B, 7)
    assert len(register) == 1
    assert register.groups == {"group-0": 1, "group-1": 2}
    assert register.sizes.tolist() == [1, 5, 7]
    assert [register.table[k] for k in register.required] == [A, A, B]


@pytest.mark.parametrize("size", [0, -1, True, 1.0, None])
def test_wrong_groups(size: Any) -> None:
    """A size is a whole number from 1 on."""
    with pytest.raises(WrongShape, match="from 1 on"):
        Register().with_group("group-0", A, size)


def test_names_are_used_once() -> None:
    """No name twice among groups, among users, or between them."""
    register = Register.from_rows({"user-0": A}).with_group("group-0", A, 5)
    for name in ("group-0", "user-0"):
        with pytest.raises(AlreadyRegistered):
            register.with_group(name, A, 5)
    with pytest.raises(AlreadyRegistered):
        Register.from_rows([("user-0", A), ("user-0", B)])
    with pytest.raises(AlreadyRegistered):
        Register.from_arrays([1, 1], [2, 2], users=["user-0", "user-0"])


def test_wrong_arrays() -> None:
    """Lengths that differ, indices outside the table and things that are no requirement are refused."""
    choices: list[Any] = [[1], [-1], [0.0], [[0]]]
    for choice in choices:
        with pytest.raises(WrongShape):
            Register.from_levels([A], choice)
    with pytest.raises(WrongShape, match="2 elements and window has 1"):
        Register.from_arrays([1, 2], [3])
    windows: list[Any] = [[3, 0], [3, 2.5], ["3", "2"], [3, np.nan], [3, 2**20 + 1]]
    wrong: list[tuple[list[float], Any]] = [([1.0, 2.0], window) for window in windows]
    wrong += [([1, 200], [3, 3]), ([1e-9], [1])]
    for epsilon, window in wrong:
        with pytest.raises(InvalidRequirement):
            Register.from_arrays(epsilon, window)
    pair: Any = (1, 2)
    with pytest.raises(InvalidRequirement):
        Register.from_rows({"user-0": pair})
    with pytest.raises(InvalidRequirement):
        Register.from_levels([pair], [0])
    with pytest.raises(AlreadyRegistered):
        Register.from_arrays([1, 2], [3, 3], users=["user-0"])


def test_nobody() -> None:
    """An empty register is one, however it is made."""
    made = Register.from_rows({}), Register.from_arrays([], []), Register.from_levels([], [])
    for register in (Register(), *made):
        assert len(register) == 0
        assert register.rows.size == register.required.size == 0


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=80), st.booleans())
@settings(deadline=None)
def test_positions_stay(events: list[tuple[int, int]], numbered: bool) -> None:
    """A user keeps the position until forgotten; no two users ever share one; a free one is reused."""
    named = Register.from_rows(dict.fromkeys(range(4), A))
    register = Register.from_arrays([1] * 4, [2] * 4) if numbered else named
    positions = {user: user for user in range(4)}
    away: set[int] = set()
    peak = 4
    for what, user in events:
        if what == 0 and user not in register:
            place = register.add(user, 0)
            assert positions.setdefault(user, place) == place
            away.discard(user)
        elif what == 1 and user in register:
            register.remove(user)
            away.add(user)
        elif what == 2 and user in away:
            register.forget(user)
            away.discard(user)
            del positions[user]
        assert len(set(positions.values())) == len(positions)
        assert all(register.position(other) == place for other, place in positions.items() if other in register)
        assert all(register.rows[place] == NOBODY for other, place in positions.items() if other in away)
        peak = max(peak, len(positions))
        assert len(register) <= peak
        present = [other for other in positions if other not in away]
        assert register.positions(present, 1).tolist() == [positions[other] for other in present]
        assert register.unknown(range(10)) == [
            other for other in range(10) if other not in present and other not in away
        ]


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("user", [7, -1, "user-7", None, (1, 2), 1.5])
def test_unregistered_people(user: Hashable, numbered: bool) -> None:
    """A person who is not registered is refused by every call that needs a position."""
    register = Register.from_arrays([1, 1], [2, 2]) if numbered else Register.from_rows({0: A, 1: A})
    assert user not in register
    for call in (
        lambda: register.position(user),
        lambda: register.positions([0, user], 3),
        lambda: register.move(user, 0),
        lambda: register.remove(user),
    ):
        with pytest.raises(UnknownUser):
            call()


def test_registering_twice() -> None:
    """Adding a registered person is refused."""
    register = Register.from_rows({"user-0": A})
    with pytest.raises(AlreadyRegistered):
        register.add("user-0", 0)


def test_copies_are_independent() -> None:
    """A change of a copy does not change the original; a publisher works on a copy."""
    for register in (Register.from_rows({0: A, 1: B}), Register.from_arrays([1, 2], [3, 2])):
        twin = register.copy()
        twin.remove(0)
        twin.add("user-9", 1)
        twin.with_group("group-0", A, 3)
        assert 0 in register and "user-9" not in register
        assert (len(register), register.groups, register.required.size) == (2, {}, 2)


def test_reprs_and_messages_name_nobody() -> None:
    """Neither repr nor refusal shows who is registered or who is not."""
    secret = "-".join(["user", "7f3a"])
    register = Register.from_rows({secret: A})
    texts = [repr(register)]
    for call in (
        lambda: register.add(secret, 0),
        lambda: register.position(secret + "x"),
        lambda: register.positions([secret, secret + "x"], 3),
    ):
        with pytest.raises((AlreadyRegistered, UnknownUser)) as refused:
            call()
        texts += [str(refused.value), repr(refused.value), str(refused.value.fields)]
    assert not any(secret in text for text in texts)


@pytest.mark.parametrize("same", [True, 1.0, np.int64(1), np.float64(1)])
@pytest.mark.parametrize("numbered", [True, False])
def test_equal_names_are_one_person(same: Hashable, numbered: bool) -> None:
    """True, 1.0 and 1 are one name: nobody joins under a second form of it and takes over a position."""
    register = Register.from_arrays([1, 1], [2, 2]) if numbered else Register.from_rows({0: A, 1: A})
    members = Membership(register, Ledger(), dynamic=False)
    with pytest.raises(AlreadyRegistered):
        members.join(same, B)
    members.join(2, B)
    assert members.register.position(1) == 1
    assert members.ledger.all_sizes.sum() == 3


def test_no_two_registers_are_taken_for_one() -> None:
    """`changes` differs after every change, and between registers with the same number of changes."""
    first, second = (Register.from_rows({"ann": A, "bob": B}) for _ in range(2))
    marks = [first.changes, second.changes, first.copy().changes]
    first.move("ann", 1)
    second.move("bob", 0)
    marks += [first.changes, second.changes]
    assert len({id(mark) for mark in marks}) == 5


def test_a_person_who_left_is_not_counted_in_a_group() -> None:
    """While their windows are alive they are not unknown, and a slot that has them says what not to do."""
    members = Membership(Register.from_rows({"ann": A, "bob": A}), Ledger(), dynamic=False)
    members.leave("ann")
    assert members.register.unknown(["ann", "bob", "zoe"]) == ["zoe"]
    with pytest.raises(UnknownUser, match="must not be counted into a group") as refused:
        members.register.positions(["ann"], 1)
    assert "ann" not in str(refused.value)
    for _ in range(5):
        members.begin_slot()
        nothing = np.zeros(members.ledger.rows, np.int64)
        members.ledger.charge(Offer(members.ledger.slot, nothing, nothing, nullified=False))
        members.ledger.settle(published=False)
    members.begin_slot()
    assert members.register.unknown(["ann", "bob", "zoe"]) == ["ann", "zoe"]
