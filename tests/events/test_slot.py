"""What a slot accepts, and that its repr shows nothing but its number."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from wevent.errors import InvalidInput, TooManyCells, WrongShape
from wevent.events.slot import Slot


@pytest.mark.parametrize("number", [0, -1, True, 1.0, "1", None])
def test_wrong_numbers_are_refused(number: Any) -> None:
    """Slots are numbered from 1 on, by whole numbers."""
    with pytest.raises(InvalidInput, match="from 1 on"):
        Slot(number)


def test_numbers_of_numpy_are_numbers() -> None:
    """An integer of numpy numbers a slot like a plain one."""
    assert Slot(np.int32(7)).number == 7  # type: ignore[arg-type]


def test_counts_or_places_not_both() -> None:
    """Counts per row replace places and groups; both together are refused."""
    counts = np.zeros((1, 2), np.int64)
    more: list[dict[str, Any]] = [{"places": {}}, {"places": np.array([0])}, {"groups": {}}]
    for also in more:
        with pytest.raises(WrongShape, match="slot 4 gives both"):
            Slot(4, counts=counts, **also)


def test_the_repr_shows_the_number_alone() -> None:
    """The repr shows neither people nor cells nor counts."""
    name, cell = "-".join(["user", "7f3a"]), "-".join(["cell", "91bd"])
    shown = repr(Slot(3, {name: cell}, groups={"group": [12345, 0]}))
    assert shown == "Slot(number=3)"
    assert repr(Slot(3, counts=np.array([[98765]]))) == "Slot(number=3)"


def test_slots_are_frozen() -> None:
    """A slot cannot be changed after it was checked."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Slot(1).number = 2  # type: ignore[misc]


def test_pairs_are_collected_per_user() -> None:
    """Pairs become a mapping from users to tuples of cells, in the order they came."""
    slot = Slot.from_pairs(2, [("user-1", "a"), ("user-2", "b"), ("user-1", "c")], contributions=2)
    assert slot.number == 2
    assert slot.places == {"user-1": ("a", "c"), "user-2": ("b",)}


@pytest.mark.parametrize("contributions", [1, 3])
def test_more_pairs_than_declared_are_refused(contributions: int) -> None:
    """One cell too many for one user is refused; the limit is named and the user is not."""
    pairs = [("user-1", f"cell-{k}") for k in range(contributions + 1)]
    with pytest.raises(TooManyCells, match=rf"more than {contributions} cell") as refused:
        Slot.from_pairs(5, pairs, contributions)
    assert refused.value.fields == {"slot": 5, "limit": contributions}
    assert "user-1" not in str(refused.value)
    Slot.from_pairs(5, pairs[:-1], contributions)


def test_cells_may_have_any_name() -> None:
    """Cells that are tuples themselves come through pairs whole."""
    assert Slot.from_pairs(1, [("user-1", (3, 4))]).places == {"user-1": ((3, 4),)}
