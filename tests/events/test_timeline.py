"""Cutting time into slots."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wevent.errors import InvalidSetting
from wevent.events.timeline import EARLIEST, LATEST, Timeline, show_instant, to_instant

instants = st.integers(EARLIEST, LATEST)


@given(instants, st.integers(1, 10**15), instants, instants)
def test_every_instant_lies_in_one_slot(origin: int, width: int, first: int, moment: int) -> None:
    """start(n) <= t < end(n) exactly if number(t) is n; slot 1 holds `first`; slots lie on the grid of the origin."""
    line = Timeline(origin, width, first)
    number = line.number(moment)
    assert line.start(number) <= moment < line.end(number)
    assert line.number(line.end(number)) == number + 1
    assert line.number(first) == 1
    assert (line.start(1) - origin) % width == 0


@given(instants, st.integers(1, 10**12), st.integers(0, 10**12))
@example(EARLIEST, 10**12, 10**12)
def test_closing_needs_the_whole_slot_and_the_lateness(moment: int, width: int, lateness: int) -> None:
    """The last closed slot is the last whose end plus lateness is not after the moment."""
    line = Timeline(0, width, max(EARLIEST, moment - 50 * width))
    closed = line.closed(moment, lateness)
    assert closed == 0 or line.end(closed) + lateness <= moment
    assert line.end(closed + 1) + lateness > moment


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T19:00:00-05:00", 0),
        ("1970-01-01", 0),
        ("1970-01-01 00:00:01.000001", 1_000_001),
        ("9999-12-31T23:59:59.999999Z", LATEST),
        ("0001-01-01T00:00:00Z", EARLIEST),
    ],
)
def test_zones(text: str, instant: int) -> None:
    """Instants are the same in every zone; without one they are UTC; and back."""
    assert to_instant(text) == instant
    assert to_instant(show_instant(instant)) == instant


@pytest.mark.parametrize("text", ["", "yesterday", "2024-13-01", "10000-01-01", "0001-01-01T00:00:00+10:00", "1e9"])
def test_no_time(text: str) -> None:
    """Anything else is a `ValueError`."""
    with pytest.raises(ValueError):
        to_instant(text)


def test_limits() -> None:
    """Widths and instants out of range are refused."""
    for width in (0, -1, 10**18):
        with pytest.raises(InvalidSetting, match="width"):
            Timeline(0, width, 0)
    with pytest.raises(InvalidSetting, match="first"):
        Timeline(0, 1, LATEST + 1)
