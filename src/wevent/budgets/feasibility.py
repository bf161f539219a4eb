"""Decides whether a promise was kept, from the spends of one person.

It is slow and plain on purpose: whole numbers and Python loops, nothing shared with ledgers or schedules. Tests and
audit check both with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class FixedPromise:
    """`epsilon` units over any `window` slots that touch a slot from `start` to `end` (None: still in force)."""

    epsilon: int
    window: int
    start: int
    end: int | None = None


@dataclass(frozen=True, slots=True)
class DynamicPromise:
    """Backward and forward promise of one declaration, made at `slot`; budgets in units."""

    slot: int
    backward_epsilon: int
    backward_window: int
    forward_epsilon: int
    forward_window: int


Promise = FixedPromise | DynamicPromise


@dataclass(frozen=True, slots=True)
class Use:
    """What one window of one promise holds, and what it may hold."""

    promise: Promise
    first: int
    last: int
    spent: int
    allowed: int

    @property
    def ratio(self) -> Fraction:
        """Spent over allowed; above 1 the promise is broken."""
        return Fraction(self.spent, self.allowed)


def uses(spends: Sequence[int], promises: Sequence[Promise]) -> Iterator[Use]:
    """Every window of every promise that counts, with what was spent in it.

    Args:
        spends: what the user spent in slots 1, 2, 3, …, all parts together, in whole units.
        promises: what the user was promised.

    A window that holds nothing spent since the promise began only holds what it already held, and does
    not count; nor does a backward window whose own slot spent nothing (SPEC §2).
    """
    upto = [0, *accumulate(spends)]
    last_slot = len(spends)

    def between(first: int, last: int) -> int:
        return upto[min(last, last_slot)] - upto[min(max(first, 1) - 1, last_slot)]

    for promise in promises:
        if isinstance(promise, FixedPromise):
            end = last_slot if promise.end is None else min(promise.end, last_slot)
            for first in range(promise.start - promise.window + 1, end + 1):
                last = first + promise.window - 1
                if between(max(first, promise.start), last) > 0:
                    yield Use(promise, first, last, between(first, last), promise.epsilon)
        else:
            last = promise.slot + promise.forward_window - 1
            yield Use(promise, promise.slot, last, between(promise.slot, last), promise.forward_epsilon)
            if between(promise.slot, promise.slot) > 0:
                back = promise.slot - promise.backward_window + 1
                yield Use(promise, back, promise.slot, between(back, promise.slot), promise.backward_epsilon)


def violations(spends: Sequence[int], promises: Sequence[Promise]) -> list[Use]:
    """The windows that hold more than was promised; empty if the promise was kept.

    Guarantees:
        Empty exactly if every window of every promise holds at most its budget.
    """
    return [use for use in uses(spends, promises) if use.spent > use.allowed]


def worst(spends: Sequence[int], promises: Sequence[Promise]) -> Fraction:
    """The largest spent/allowed over all windows of all promises; 0 if none counts."""
    return max((use.ratio for use in uses(spends, promises)), default=Fraction(0))
