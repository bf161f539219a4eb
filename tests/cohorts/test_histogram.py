"""Counting a slot in any of its four forms, and refusing one that does not fit without naming anybody."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import FAST, ONE, fixed

from wevent.cohorts.histogram import Domain, SlotReader, Tally
from wevent.cohorts.register import Register
from wevent.errors import InvalidSetting, TooManyCells, UnknownCell, UnknownUser, WrongShape
from wevent.events.slot import Slot

fast = pytest.mark.parametrize("fast", FAST)
Integers = npt.NDArray[np.int64]


def people(many: int, rows: int) -> tuple[Register, Integers, Integers]:
    """Users in a few rows: register, row of each position, sizes."""
    required = [fixed(ONE + k, 2) for k in range(rows)]
    register = Register.from_rows({f"user-{k}": required[k % rows] for k in range(many)})
    return register, register.rows, register.sizes


def by_row(tally: Tally, rows: int) -> list[list[int]]:
    """Counts of every row, each as a group of its own."""
    counts: list[list[int]] = tally.by_group(np.arange(rows), rows).tolist()
    return counts


@fast
@given(data=st.data())
@settings(deadline=None)
def test_four_forms_one_tally(fast: bool, data: st.DataObject) -> None:
    """As mapping, as array, as pairs and as counts per row, the same slot gives the same counts."""
    many, rows, d = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 4)), data.draw(st.integers(1, 6))
    rows = min(rows, many)
    cells = np.array(data.draw(st.lists(st.integers(-1, d - 1), min_size=many, max_size=many)))
    register, row_of, sizes = people(many, rows)
    names = [f"cell-{k}" for k in range(d)]
    places = {user: names[cell] for user, cell in zip(register.users, cells, strict=True) if cell >= 0}
    counts = np.zeros((rows, d), np.int64)
    np.add.at(counts, (row_of[cells >= 0], cells[cells >= 0]), 1)
    kind = data.draw(st.sampled_from([np.int8, np.int32, np.int64]))
    forms = [
        Slot(1, places),
        Slot(1, cells.astype(kind)),
        Slot.from_pairs(1, places.items()),
        Slot(1, counts=counts),
    ]
    reader = SlotReader(Domain(names), 1, fast=fast)
    tallies = [reader.read(slot, register, row_of, {}, sizes) for slot in forms]
    for tally in tallies:
        assert tally.total().tolist() == counts.sum(axis=0).tolist()
        assert by_row(tally, rows) == counts.tolist()
    even_rows = np.where(np.arange(rows) % 2 == 0, 0, -1)
    assert len({str(tally.by_group(even_rows, 1).tolist()) for tally in tallies}) == 1
    for tally in tallies[:3]:
        single = tally.singly(even_rows)
        assert single is not None
        assert sorted(single[1].tolist()) == sorted(cells[(cells >= 0) & (even_rows[row_of] == 0)].tolist())
    assert tallies[3].singly(even_rows) is None


@fast
@given(cells=st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=8))
@settings(deadline=None)
def test_several_cells_per_user(fast: bool, cells: list[tuple[int, int]]) -> None:
    """Where two cells are declared, arrays of two columns, tuples, and pairs agree; one cell is fine too."""
    register, rows, sizes = people(len(cells), 1)
    reader = SlotReader(Domain(4), 2, fast=fast)
    listed = {user: tuple(c for c in two if c >= 0) for user, two in zip(register.users, cells, strict=True)}
    pairs = [(user, cell) for user, several in listed.items() for cell in several]
    wide = reader.read(Slot(1, np.array(cells)), register, rows, {}, sizes)
    mapped = reader.read(Slot(1, listed), register, rows, {}, sizes)
    paired = reader.read(Slot.from_pairs(1, pairs, 2), register, rows, {}, sizes)
    assert wide.total().tolist() == mapped.total().tolist() == paired.total().tolist()
    assert by_row(wide, 1) == by_row(mapped, 1) == by_row(paired, 1)
    narrow = reader.read(Slot(1, np.array([two[0] for two in cells])), register, rows, {}, sizes)
    assert narrow.total().sum() == sum(two[0] >= 0 for two in cells)


@fast
@pytest.mark.parametrize("places", [None, {}, np.full(3, -1)])
def test_an_empty_slot_is_a_slot(places: Any, fast: bool) -> None:
    """Without anybody present all counts are 0, in every form."""
    register, rows, sizes = people(3, 2)
    tally = SlotReader(Domain(4), 1, fast=fast).read(Slot(1, places), register, rows, {}, sizes)
    assert tally.total().tolist() == [0] * 4
    assert by_row(tally, 2) == [[0] * 4] * 2
    single = tally.singly(np.zeros(2, np.int64))
    assert single is not None and single[0].size == 0


@fast
def test_groups_are_added(fast: bool) -> None:
    """Counts of a declared group stand in its row, beside those of people."""
    register = Register.from_rows({"user-0": fixed(ONE, 2)}).with_group("group-0", fixed(ONE, 3), 9)
    reader = SlotReader(Domain(2), 1, fast=fast)
    slot = Slot(1, {"user-0": 1}, groups={"group-0": [4, 5]})
    tally = reader.read(slot, register, register.rows, register.groups, register.sizes)
    assert tally.total().tolist() == [4, 6]
    assert by_row(tally, 2) == [[0, 1], [4, 5]]
    assert tally.singly(np.array([0, 0])) is None  # a group's counts do not say who is where
    assert tally.singly(np.array([0, -1])) is not None


LEFT = np.array([0, -1])


def refused(slot: Slot, error: type[Exception], limit: str, fast: bool, contributions: int = 1) -> None:
    """Read by a register of two users, of whom the second has left, and a group of nine; three cells."""
    register = Register.from_rows({"user-0": fixed(ONE, 2), "user-1": fixed(ONE, 2)})
    register.with_group("group-0", fixed(ONE, 3), 9)
    register.remove("user-1")
    sizes = np.array([1, 9])
    reader = SlotReader(Domain(["a", "b", "c"]), contributions, fast=fast)
    with pytest.raises(error, match=limit):
        reader.read(slot, register, LEFT, {"group-0": 1}, sizes)


NO_CELL: list[Any] = ["z", 0, None, True, 1.5, {}, b"a", np.array([1]), frozenset()]


@fast
@pytest.mark.parametrize("cell", NO_CELL)
def test_a_cell_outside_the_domain(cell: Any, fast: bool) -> None:
    """Anything that is no declared cell, hashable or not, is refused; the size of the domain is named."""
    refused(Slot(1, {"user-0": cell}), UnknownCell, "3 cells", fast)


@fast
@pytest.mark.parametrize("cell", [3, -2, 127, -128])
def test_an_index_outside_the_domain(cell: int, fast: bool) -> None:
    """The same for indices in arrays, whatever their width."""
    for kind in (np.int8, np.int16, np.int64):
        refused(Slot(1, np.array([cell, -1], kind)), UnknownCell, "3 cells", fast)


@fast
@pytest.mark.parametrize("kind", [np.uint8, np.uint32, np.uint64])
def test_the_largest_unsigned_number_is_not_absent(kind: Any, fast: bool) -> None:
    """-1 that was stored unsigned is a cell far outside, not an absent person."""
    register, rows, sizes = people(1, 1)
    reader = SlotReader(Domain(3), 1, fast=fast)
    largest = np.array([np.iinfo(kind).max], kind)
    with pytest.raises(UnknownCell):
        reader.read(Slot(1, largest), register, rows, {}, sizes)
    assert reader.read(Slot(1, np.array([2], kind)), register, rows, {}, sizes).total().tolist() == [0, 0, 1]


@fast
def test_people_who_are_not_registered(fast: bool) -> None:
    """Unlisted people, people who left and groups that were never declared are refused, without names."""
    for slot in (
        Slot(1, {"user-9": "a"}),
        Slot(1, {"user-1": "a"}),
        Slot(1, {0: "a"}),
        Slot(1, np.array([0, 0])),
        Slot(1, {}, groups={"group-9": [0, 0, 0]}),
    ):
        refused(slot, UnknownUser, "slot 1", fast)


@fast
def test_too_many_cells(fast: bool) -> None:
    """More cells than declared, in any form; more counts than a row has people."""
    refused(Slot(1, {"user-0": ("a", "b")}), TooManyCells, r"more than 1 cell", fast)
    refused(Slot(1, np.array([[0, 1], [-1, -1]])), TooManyCells, r"more than 1 cell", fast)
    refused(Slot(1, {"user-0": ("a", "b", "c")}), TooManyCells, r"more than 2 cell", fast, contributions=2)
    refused(Slot(1, counts=np.array([[1, 1, 0], [0, 0, 0]])), TooManyCells, "times 1 cell", fast)
    refused(Slot(1, {}, groups={"group-0": [9, 1, 0]}), TooManyCells, "times 1 cell", fast)
    three = Slot(1, counts=np.array([[2, 1, 0], [0, 0, 0]]))
    refused(three, TooManyCells, "times 2 cell", fast, contributions=2)


@fast
def test_wrong_shapes_and_kinds(fast: bool) -> None:
    """Arrays that do not fit are refused with the shape or dtype that is wanted."""
    refused(Slot(1, np.array([0])), WrongShape, r"\(2,\)", fast)
    refused(Slot(1, np.array([0, -1, -1])), WrongShape, r"\(2,\)", fast)
    refused(Slot(1, np.zeros((2, 1, 1), int)), WrongShape, r"\(2,\)", fast)
    refused(Slot(1, np.array([0.0, -1.0])), WrongShape, "float64", fast)
    refused(Slot(1, np.array([True, False])), WrongShape, "bool", fast)
    refused(Slot(1, np.array(["a", "b"])), WrongShape, "dtype", fast)
    refused(Slot(1, counts=np.zeros((2, 2), int)), WrongShape, r"\(2, 3\)", fast)
    refused(Slot(1, counts=np.zeros((2, 3))), WrongShape, "float64", fast)  # type: ignore[arg-type]
    refused(Slot(1, counts=np.array([[-1, 0, 0], [0, 0, 0]])), WrongShape, "negative", fast)
    refused(Slot(1, {}, groups={"group-0": [1, 1]}), WrongShape, r"\(3,\)", fast)
    refused(Slot(1, {}, groups={"group-0": [1.0, 0, 0]}), WrongShape, "float64", fast)
    refused(Slot(1, {}, groups={"group-0": [-1, 0, 1]}), WrongShape, "negative", fast)


@fast
@pytest.mark.parametrize("columns", [1024, 2048])
def test_sums_of_huge_counts_do_not_wrap(columns: int, fast: bool) -> None:
    """Counts whose sum would wrap around int64 are refused, not taken for small ones."""
    register, rows, sizes = people(1, 1)
    reader = SlotReader(Domain(columns), 1, fast=fast)
    with pytest.raises(WrongShape, match=str(2**62 // columns)):
        reader.read(Slot(1, counts=np.full((1, columns), 2**53)), register, rows, {}, sizes)


@pytest.mark.parametrize("cells", [0, -1, True, [], ["a", "a"]])
def test_wrong_domains(cells: Any) -> None:
    """A domain has at least one cell, and no name twice."""
    with pytest.raises(InvalidSetting, match="cells must be"):
        Domain(cells)


def test_domains() -> None:
    """Names or a number: each cell has its index, anything else has none."""
    names: list[Hashable] = ["a", ("b", 2), 7]
    named, numbered = Domain(names), Domain(3)
    assert [named.find(cell) for cell in (*names, "c")] == [0, 1, 2, -1]
    assert [numbered.find(cell) for cell in (0, 2, np.int8(1))] == [0, 2, 1]
    assert {numbered.find(cell) for cell in (3, -1, True, "0", 1.0)} == {-1}
    assert len(named) == len(numbered) == 3


@pytest.mark.parametrize("fast", FAST)
def test_unlisted_people_are_cut_not_refused(fast: bool) -> None:
    """However many unlisted people come, each cell holds at most the declared size, and nothing is refused."""
    register = Register.from_rows({"user-0": fixed(ONE, 2)}).with_group("group-0", fixed(ONE, 3), 9)
    reader = SlotReader(Domain(3), 1, fast=fast)
    slot = Slot(1, {}, unlisted={"group-0": [12, 9, 2]})
    tally = reader.read(slot, register, register.rows, register.groups, register.sizes)
    assert tally.total().tolist() == [9, 9, 2]
    with pytest.raises(UnknownUser):
        other = Slot(1, {}, unlisted={"group-1": [1, 0, 0]})
        reader.read(other, register, register.rows, register.groups, register.sizes)
