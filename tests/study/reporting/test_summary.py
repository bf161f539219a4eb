"""Rows put together."""

from __future__ import annotations

import pytest
from tests.study.reporting.made_up import row, rows

from wevent.study.experiment import Point, from_table
from wevent.study.reporting.summary import Stat, panels, stat

TABLE = {"title": "T", "data": ["sin", "log"], "mechanisms": ["pbd", "ba"], "rounds": 3}
EXPERIMENT = from_table("e", {**TABLE, "vary": {"window": [200, 40, 120]}})


def test_spread_over_rounds() -> None:
    """Mean, median, least and greatest of all rounds."""
    assert stat([4.0, 1.0, 10.0, 2.0, 3.0]) == Stat(5, 4, 3, 1, 10)


def test_panels_follow_the_experiment() -> None:
    """A panel for each data set, places in ascending order of their numbers, mechanisms in that of the file."""
    found = panels(EXPERIMENT, rows(EXPERIMENT, {"pbd": (1.0, 2.0, 6.0), "ba": 5.0}))
    assert [panel.label for panel in found] == ["sin", "log"]
    assert found[0].places == (("40",), ("120",), ("200",)) and found[0].mechanisms == ("pbd", "ba")
    summary = found[1].stat("amre", "pbd", ("40",))
    assert summary is not None and (summary.mean, summary.median, summary.rounds) == (3, 2, 3)
    assert found[0].best("amre", ("40",)) == "pbd"


def test_what_does_not_belong_stays_out() -> None:
    """Rows of another protocol, data set or mechanism are in no panel."""
    unlisted = [
        row(Point("sin", window=40), "pbd", 1.0, protocol="printed"),
        row(Point("tlns", window=40), "pbd", 1.0),
        row(Point("sin", window=40), "uniform", 1.0),
    ]
    assert panels(EXPERIMENT, unlisted) == ()


def test_settings_are_never_mixed() -> None:
    """A quick run and a whole one of the same data set are two panels, and their labels say so."""
    both = [row(Point("sin", window=40), "pbd", 1.0), row(Point("sin", window=40, slots=400), "pbd", 9.0)]
    found = panels(EXPERIMENT, both)
    assert [panel.label for panel in found] == ["sin (slots 400)", "sin (slots usual)"]
    assert [panel.stat("amre", "pbd", ("40",)).mean for panel in found] == [9, 1]  # type: ignore[union-attr]


def test_times_are_in_the_unit_of_their_label() -> None:
    """Seconds in the rows, milliseconds in tables and plots."""
    summary = panels(EXPERIMENT, [row(Point("sin", window=40), "pbd", 1.0)])[0].stat("seconds_per_slot", "pbd", ("40",))
    assert summary is not None and summary.mean == pytest.approx(2)
