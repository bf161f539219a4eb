"""Finding the declared cell of a place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wevent.errors import InvalidSetting
from wevent.events.cells import Box, GridCells, NamedCells


def test_names() -> None:
    """The k-th name is cell k; others are unknown, or counted in the declared rest."""
    assert [NamedCells(["a", "b"]).find((name,)) for name in "abc"] == [0, 1, -1]
    rest = NamedCells(["a", "b"], "rest")
    assert [rest.find((name,)) for name in ("b", "c", "rest")] == [1, 2, 2]
    assert list(rest.names) == ["a", "b", "rest"]
    many = NamedCells([str(k) for k in range(100_000)])
    assert many.find(("99999",)) == 99_999


@given(st.floats(-200, 200), st.floats(-100, 100), st.integers(1, 9), st.integers(1, 9))
def test_every_point_of_the_box_has_one_field(longitude: float, latitude: float, columns: int, rows: int) -> None:
    """A point lies in a cell exactly if it lies in the box, and within the edges of that cell up to rounding."""
    box = Box(-10, -20, 30, 40)
    grid = GridCells(box, columns, rows)
    cell = grid.find((repr(longitude), repr(latitude)))
    inside = -10 <= longitude <= 30 and -20 <= latitude <= 40
    assert (cell >= 0) == inside
    if inside:
        x, y = (int(part) for part in grid.names[cell].split("-"))
        assert -1e-9 <= longitude - (-10 + 40 * x / columns) <= 40 / columns + 1e-9
        assert -1e-9 <= latitude - (-20 + 60 * y / rows) <= 60 / rows + 1e-9


def test_corners_and_the_rest() -> None:
    """Edges belong to the box; outside counts as the rest if there is one; what is no number is no place."""
    grid = GridCells(Box(0, 0, 1, 1), 2, 2, "far")
    assert [grid.names[grid.find(place)] for place in (("0", "0"), ("1", "1"), ("1", "0"), ("2", "0"))] == [
        "0-0",
        "1-1",
        "1-0",
        "far",
    ]
    for place in (("nan", "0"), ("inf", "0"), ("x", "0")):
        with pytest.raises(ValueError):
            grid.find(place)


def test_refusals() -> None:
    """Names twice, no names, boxes inside out."""
    for names in ([], ["a", "a"]):
        with pytest.raises(InvalidSetting, match="different names"):
            NamedCells(names)
    for edges in ((1, 0, 0, 1), (0, 1, 1, 0), (0, 0, float("nan"), 1)):
        with pytest.raises(InvalidSetting):
            Box(*edges)
    with pytest.raises(InvalidSetting, match="1,000,000"):
        GridCells(Box(0, 0, 1, 1), 10_000, 10_000)
    with pytest.raises(InvalidSetting, match="rest"):
        GridCells(Box(0, 0, 1, 1), 1, 1, "0-0")
