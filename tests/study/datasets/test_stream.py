"""Options, recorded streams, and how records become one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.study.datasets.naive import walk, walked

from wevent.errors import InvalidInput, InvalidSetting
from wevent.study.datasets.records import recorded
from wevent.study.datasets.stream import DataOptions

PEOPLE, SLOTS, CELLS = ["a", "b", "c"], 7, ["x", "y", "z"]
ROWS = st.tuples(st.integers(0, 2), st.integers(0, SLOTS - 1), st.integers(0, 2))


def build(rows: list[tuple[int, int, int]], **options: Any) -> Any:
    user, slot, cell = zip(*rows, strict=True) if rows else ((), (), ())
    domain: dict[str, Any] = {"people": PEOPLE, "cells": CELLS, "slots": SLOTS}
    return recorded("made up", DataOptions(**options), **domain, user=user, slot=slot, cell=cell)


@given(st.lists(ROWS, min_size=1, max_size=30), st.sampled_from(["carry", "seen"]), st.integers(1, 9))
def test_streams_are_those_of_plain_loops(rows: list[tuple[int, int, int]], presence: str, slots: int) -> None:
    """In any order of the records, of several in a slot the last counts; carry and seen mean what they say."""
    rows = [*rows, *((user, SLOTS - 1, 0) for user in range(3))]  # everybody is seen at some time
    expected: dict[Any, dict[int, int]] = {}
    for user, slot, cell in rows:
        expected.setdefault(user, {})[slot] = cell
    stream = build(rows, presence=presence, slots=slots)
    assert stream.slots == min(slots, SLOTS)
    assert stream.complete == (presence == "carry")
    assert walked(stream) == walk(expected, SLOTS, presence)[:slots]


def test_seeds_change_nothing() -> None:
    """A recorded stream is the same for every seed, and can be walked again."""
    stream = build([(0, 1, 2), (1, 0, 1), (2, 6, 0)])
    assert walked(stream, 1) == walked(stream, 2) == walked(stream, 1)


def test_places_may_be_kept() -> None:
    """Each slot is an array of its own: later slots do not overwrite earlier ones."""
    kept = list(build([(0, 0, 0), (0, 3, 1), (1, 0, 0), (2, 0, 0)]).places(0))
    assert [place[0] for place in kept] == [0, 0, 0, 1, 1, 1, 1]


def test_a_user_without_a_record_is_absent() -> None:
    """A person without any record is in no cell, and the stream does not claim to be complete."""
    stream = build([(0, 1, 2), (2, 0, 1)])
    assert not stream.complete
    assert {place[1] for place in stream.places(0)} == {-1}


def test_standing_still_needs_no_records() -> None:
    """Carried streams keep moves only; seen ones keep every record."""
    rows = [(0, slot, 1) for slot in range(SLOTS)] + [(1, 0, 0), (2, 0, 0)]
    assert build(rows).slot.size == 3
    assert build(rows, presence="seen").slot.size == SLOTS + 2


@pytest.mark.parametrize(
    "rows", [[], [(3, 0, 0)], [(-1, 0, 0)], [(0, SLOTS, 0)], [(0, -1, 0)], [(0, 0, 3)], [(0, 0, -1)]]
)
def test_records_out_of_range_are_refused(rows: list[tuple[int, int, int]]) -> None:
    """No record at all, or one whose user, slot or cell does not exist, is refused."""
    with pytest.raises(InvalidInput, match="made up: "):
        build(rows)


@pytest.mark.parametrize("name", ["slots", "users", "cells"])
@pytest.mark.parametrize("value", [0, -1, 2.0, True, "3"])
def test_options_are_whole_numbers(name: str, value: object) -> None:
    """Numbers in options are whole and at least 1."""
    with pytest.raises(InvalidSetting, match=f"{name} must be a whole number from 1 on, got {value!r}"):
        DataOptions(**{name: value})  # type: ignore[arg-type]


def test_presence_is_carry_or_seen() -> None:
    """Anything else is refused, with both words."""
    with pytest.raises(InvalidSetting, match="one of carry, seen, got 'guess'") as refused:
        DataOptions(presence="guess")  # type: ignore[arg-type]
    assert refused.value.fields["known"] == ("carry", "seen")


def test_repr_shows_no_records() -> None:
    """Neither people nor records appear in the repr."""
    stream = build([(0, 1, 2), (1, 0, 1), (2, 6, 0)])
    assert stream.people == ("a", "b", "c")
    assert "people" not in repr(stream)
    assert "array" not in repr(stream)
    assert isinstance(next(stream.places(0)), np.ndarray)
