"""Gathering gives one cell per person and slot, from that person's events alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wevent.errors import InvalidSetting
from wevent.events.gathering import EventBatch, Listing, gather
from wevent.events.one_cell import OneCell, choose_one_cell

PEOPLE, DOMAIN = 4, 3
EVERYBODY = Listing.of_all({f"person {k}": k for k in range(PEOPLE)})
Event = tuple[int, int, int]
"""Person (from PEOPLE on: unlisted), offset, cell."""

events = st.lists(st.tuples(st.integers(0, PEOPLE + 1), st.integers(0, 5), st.integers(0, DOMAIN - 1)), max_size=30)
policies = st.sampled_from(get_args(OneCell))


def batch_of(events: Sequence[Event]) -> EventBatch:
    """Events as the store and the files hand them on."""
    names = sorted({f"unlisted {person}" for person, _, _ in events if person >= PEOPLE})
    persons = [person if person < PEOPLE else -1 - names.index(f"unlisted {person}") for person, _, _ in events]
    columns = np.array([(p, offset, cell) for p, (_, offset, cell) in zip(persons, events, strict=True)], np.int64)
    person, offset, cell = columns.reshape(-1, 3).T
    return EventBatch(person, offset, cell, names)


def expected_cell(events: Sequence[Event], person: int, policy: OneCell) -> int:
    """The rule for one person, in its simplest form."""
    visits = {(offset, cell) for who, offset, cell in events if who == person}
    if not visits:
        return -1
    if policy == "first":
        return min(visits)[1]
    if policy == "last":
        newest = max(offset for offset, _ in visits)
        return min(cell for offset, cell in visits if offset == newest)
    often = Counter(cell for _, cell in visits)
    return min(often, key=lambda cell: (-often[cell], cell))


@given(events, policies, st.integers(1, 7), st.randoms(use_true_random=False))
def test_the_rule(drawn: list[Event], policy: OneCell, size: int, chance: object) -> None:
    """First, last or most frequent, ties to the smallest cell; in any order, any batches, delivered twice or not."""
    twice = [*drawn, *drawn[:5]]
    chance.shuffle(twice)  # type: ignore[attr-defined]
    batches = [batch_of(twice[k : k + size]) for k in range(0, len(twice), size)]
    rows = gather(1, batches, policy, EVERYBODY, DOMAIN)
    assert rows.cells.tolist() == [expected_cell(drawn, person, policy) for person in range(PEOPLE)]
    unlisted = Counter(expected_cell(drawn, person, policy) for person in (PEOPLE, PEOPLE + 1))
    assert rows.unlisted.tolist() == [unlisted[cell] for cell in range(DOMAIN)]


@given(events, policies, st.lists(st.booleans(), min_size=PEOPLE, max_size=PEOPLE), st.data())
def test_numbers_and_names_agree(drawn: list[Event], policy: OneCell, listed: list[bool], data: st.DataObject) -> None:
    """By number or by name, each person counts once: in their own cell if listed in this slot, otherwise unlisted."""
    people = {f"person {k}": k for k in range(PEOPLE)}
    batches = []
    for person, offset, cell in drawn:
        named = person >= PEOPLE or data.draw(st.booleans())
        names = [f"person {person}"] if named else []
        who, when, where = (np.array([value], np.int64) for value in (-1 if named else person, offset, cell))
        batches.append(EventBatch(who, when, where, names))
    many = data.draw(st.integers(max((k + 1 for k in range(PEOPLE) if listed[k]), default=0), PEOPLE))
    rows = gather(1, batches, policy, Listing(people, np.array(listed[:many], bool)), DOMAIN)
    cells = [expected_cell(drawn, person, policy) for person in range(PEOPLE + 2)]
    assert rows.cells.tolist() == [cells[k] if listed[k] else -1 for k in range(many)]
    apart = Counter(cells[k] for k in range(PEOPLE + 2) if k >= PEOPLE or not listed[k])
    assert rows.unlisted.tolist() == [apart[cell] for cell in range(DOMAIN)]


@given(events, policies, st.integers(0, PEOPLE + 1))
def test_others_do_not_matter(drawn: list[Event], policy: OneCell, gone: int) -> None:
    """Without one person's events every other row is unchanged, and the unlisted counts move by at most one."""
    with_them = gather(1, [batch_of(drawn)], policy, EVERYBODY, DOMAIN)
    without = gather(1, [batch_of([event for event in drawn if event[0] != gone])], policy, EVERYBODY, DOMAIN)
    for person in range(PEOPLE):
        if person != gone:
            assert with_them.cells[person] == without.cells[person]
    moved = np.abs(with_them.unlisted - without.unlisted).sum()
    assert moved <= (1 if gone >= PEOPLE else 0)


def test_policies_are_known() -> None:
    """An unknown policy is refused; the repr shows no rows."""
    with pytest.raises(InvalidSetting, match="most_frequent"):
        choose_one_cell("random", 1, 1)  # type: ignore[arg-type]
    assert repr(gather(7, [], "first", EVERYBODY, 2)) == "SlotCells(number=7)"
