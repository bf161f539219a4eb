"""The audit's check of a promise, beside the oracle's, on spends that keep it and on spends that break it."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle import OracleUser
from tests.support import Record, Tape, dynamic, fixed, for_oracle

from wevent.budgets.feasibility import DynamicPromise, FixedPromise, uses, violations, worst
from wevent.cohorts.requirement import Requirement


@given(data=st.binary(min_size=10, max_size=60))
@settings(max_examples=300, deadline=None)
def test_it_agrees_with_the_oracle(data: bytes) -> None:
    """Broken or not, and by how much at worst: the same answer for any requirements and any spends."""
    tape, record, oracle = Tape(data), Record(), OracleUser()
    required: Requirement | None = None
    slot = 0
    while tape:
        slot += 1
        what = tape.number(6)
        if what == 0:
            required = fixed(14 + tape.number(40), 1 + tape.number(5))
        elif what == 1:
            forward = 14 + tape.number(40), 1 + tape.number(5)
            required = dynamic(forward, (1 + tape.number(40), 1 + tape.number(5)))
        elif what == 2:
            required = None
        if required is None:
            oracle.leave(slot)
        else:
            oracle.require(slot, for_oracle(required))
        change_budget, publish_budget = (0, 0) if required is None else (tape.number(9), tape.one_of([0, 0, 3, 20]))
        oracle.record(slot, change_budget, publish_budget)
        record.note(required, change_budget + publish_budget)
    promises = record.promises()
    assert (violations(record.spends, promises) == []) == (oracle.violations() == [])
    assert worst(record.spends, promises) == oracle.worst()


def test_a_window_holds_what_it_holds() -> None:
    """Two spends of 6 in a window of 2 break a promise of 10: the use says which window and how much."""
    promise = FixedPromise(10, 2, 1)
    (broken,) = violations([6, 6, 0], [promise])
    assert (broken.promise, broken.first, broken.last, broken.spent) == (promise, 1, 2, 12)
    assert broken.ratio == worst([6, 6, 0], [promise]) == Fraction(12, 10)
    assert violations([6, 0, 6], [promise]) == []


def test_what_was_spent_before_a_promise_is_excused() -> None:
    """A window that holds nothing since the promise began does not count; one more unit makes it count."""
    assert violations([9, 0, 0], [FixedPromise(5, 3, 2)]) == []
    assert {use.spent for use in violations([9, 1, 0], [FixedPromise(5, 3, 2)])} == {10}


def test_an_ended_promise_still_covers_its_windows() -> None:
    """In force in slot 1 alone, window 3: slots 2 and 3 count, slot 4 does not."""
    promise = FixedPromise(5, 3, 1, 1)
    assert violations([3, 0, 3, 0], [promise]) != []
    assert violations([3, 0, 0, 3], [promise]) == []


def test_both_sides_of_a_declaration() -> None:
    """Forward counts from its slot on, backward up to its slot and only if that slot spent something."""
    promise = DynamicPromise(3, 5, 2, 6, 2)
    assert violations([0, 4, 1, 5], [promise]) == []
    assert [use.first for use in violations([0, 5, 1, 0], [promise])] == [2]
    assert [use.first for use in violations([0, 0, 4, 3], [promise])] == [3]
    assert violations([0, 9, 0, 0], [promise]) == []


def test_nothing_promised_nothing_used() -> None:
    """Without promises, or without spends, the worst is 0."""
    assert worst([1, 2, 3], []) == worst([], [FixedPromise(5, 2, 1)]) == 0
    assert list(uses([0, 0], [FixedPromise(5, 2, 1)])) == []
