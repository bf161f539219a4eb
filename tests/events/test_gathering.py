"""One cell per person and slot, from that person's events alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wevent.errors import InvalidSetting
from wevent.events.bounding import OneCell, bounding
from wevent.events.gathering import EventBatch, Listing, gather

PEOPLE, DOMAIN = 4, 3
EVERYBODY = Listing.of_all({f"person {k}": k for k in range(PEOPLE)})
Event = tuple[int, int, int]
"""Person (from PEOPLE on: a stranger), offset, cell."""

events = st.lists(st.tuples(st.integers(0, PEOPLE + 1), st.integers(0, 5), st.integers(0, DOMAIN - 1)), max_size=30)
policies = st.sampled_from(get_args(OneCell))


def portion(some: Sequence[Event]) -> EventBatch:
    """Events as the store and the files hand them on."""
    names = sorted({f"stranger {person}" for person, _, _ in some if person >= PEOPLE})
    persons = [person if person < PEOPLE else -1 - names.index(f"stranger {person}") for person, _, _ in some]
    columns = np.array([(p, offset, cell) for p, (_, offset, cell) in zip(persons, some, strict=True)], np.int64)
    person, offset, cell = columns.reshape(-1, 3).T
    return EventBatch(person, offset, cell, names)


def plainly(some: Sequence[Event], person: int, policy: OneCell) -> int:
    """The rule in a few words, for one person."""
    mine = {(offset, cell) for who, offset, cell in some if who == person}
    if not mine:
        return -1
    if policy == "first":
        return min(mine)[1]
    if policy == "last":
        newest = max(offset for offset, _ in mine)
        return min(cell for offset, cell in mine if offset == newest)
    often = Counter(cell for _, cell in mine)
    return min(often, key=lambda cell: (-often[cell], cell))


@given(events, policies, st.integers(1, 7), st.randoms(use_true_random=False))
def test_the_rule(some: list[Event], policy: OneCell, size: int, chance: object) -> None:
    """First, last or most frequent, ties to the smallest cell; in any order, any portions, delivered twice or not."""
    twice = [*some, *some[:5]]
    chance.shuffle(twice)  # type: ignore[attr-defined]
    portions = [portion(twice[k : k + size]) for k in range(0, len(twice), size)]
    rows = gather(1, portions, policy, EVERYBODY, DOMAIN)
    assert rows.cells.tolist() == [plainly(some, person, policy) for person in range(PEOPLE)]
    unlisted = Counter(plainly(some, person, policy) for person in (PEOPLE, PEOPLE + 1))
    assert rows.unlisted.tolist() == [unlisted[cell] for cell in range(DOMAIN)]


@given(events, policies, st.lists(st.booleans(), min_size=PEOPLE, max_size=PEOPLE), st.data())
def test_numbers_and_names_are_one(some: list[Event], policy: OneCell, listed: list[bool], data: st.DataObject) -> None:
    """By number or by name, everybody counts once: in their own place if listed in this slot, otherwise unlisted."""
    people = {f"person {k}": k for k in range(PEOPLE)}
    portions = []
    for person, offset, cell in some:
        named = person >= PEOPLE or data.draw(st.booleans())
        names = [f"person {person}"] if named else []
        who, when, where = (np.array([value], np.int64) for value in (-1 if named else person, offset, cell))
        portions.append(EventBatch(who, when, where, names))
    many = data.draw(st.integers(max((k + 1 for k in range(PEOPLE) if listed[k]), default=0), PEOPLE))
    rows = gather(1, portions, policy, Listing(people, np.array(listed[:many], bool)), DOMAIN)
    cells = [plainly(some, person, policy) for person in range(PEOPLE + 2)]
    assert rows.cells.tolist() == [cells[k] if listed[k] else -1 for k in range(many)]
    apart = Counter(cells[k] for k in range(PEOPLE + 2) if k >= PEOPLE or not listed[k])
    assert rows.unlisted.tolist() == [apart[cell] for cell in range(DOMAIN)]


@given(events, policies, st.integers(0, PEOPLE + 1))
def test_others_do_not_matter(some: list[Event], policy: OneCell, gone: int) -> None:
    """Without one person's events every other row stays as it is, and strangers move by at most one."""
    with_them = gather(1, [portion(some)], policy, EVERYBODY, DOMAIN)
    without = gather(1, [portion([event for event in some if event[0] != gone])], policy, EVERYBODY, DOMAIN)
    for person in range(PEOPLE):
        if person != gone:
            assert with_them.cells[person] == without.cells[person]
    moved = np.abs(with_them.unlisted - without.unlisted).sum()
    assert moved <= (1 if gone >= PEOPLE else 0)


def test_policies_are_known() -> None:
    """Another word is refused; rows are not shown."""
    with pytest.raises(InvalidSetting, match="most_frequent"):
        bounding("random", 1, 1)  # type: ignore[arg-type]
    assert repr(gather(7, [], "first", EVERYBODY, 2)) == "SlotRows(number=7)"
