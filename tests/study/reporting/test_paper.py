"""The printed tables."""

from __future__ import annotations

import csv
from importlib.resources import files
from itertools import product

import pytest
from tests.study.reporting.made_up import EIGHT, row

from wevent.study.experiment import Point
from wevent.study.reporting.paper import printed_beside, printed_value

SETS = ("taxi", "foursquare", "tlns", "sin", "log")
EPSILONS, WINDOWS = (0.2, 0.4, 0.6, 0.8, 1.0), (40, 80, 120, 160, 200)


@pytest.mark.parametrize(
    ("data", "mechanism", "epsilon", "window", "value"),
    [
        ("sin", "bd", 0.6, 120, 2_822_001.85),
        ("sin", "spas", 0.6, 120, 190_648.17),
        ("log", "dpba", 0.2, 120, 1_788.03),
        ("log", "dpba", 1.0, 120, 1_178.10),
        ("tlns", "plbu", 1.0, 120, 9_688_944.63),
        ("taxi", "bd", 0.2, 120, 8_459.58),
        ("taxi", "spas", 0.6, 40, 29.37),
        ("foursquare", "dpbd", 0.6, 200, 128.03),
        ("log", "dpba", 0.6, 200, 2_122.58),
    ],
)
def test_values(data: str, mechanism: str, epsilon: float, window: int, value: float) -> None:
    """First, last, least and middle values of both tables."""
    assert printed_value(data, mechanism, epsilon, window) == value


def test_both_tables_are_whole() -> None:
    """Five data sets, eight mechanisms, five columns, twice; where the tables meet they agree."""
    rows = list(csv.DictReader(files("wevent.study.reporting").joinpath("paper.csv").read_text("utf-8").splitlines()))
    found = {(r["table"], r["data"], r["mechanism"], float(r["epsilon"]), int(r["window"])): r["value"] for r in rows}
    expected = {("epsilon", d, m, e, 120) for d, m, e in product(SETS, EIGHT, EPSILONS)}
    expected |= {("window", d, m, 0.6, w) for d, m, w in product(SETS, EIGHT, WINDOWS)}
    assert len(rows) == 400 and set(found) == expected
    for data, mechanism in product(SETS, EIGHT):
        assert found["epsilon", data, mechanism, 0.6, 120] == found["window", data, mechanism, 0.6, 120]


def test_what_is_not_printed_is_none() -> None:
    """Other settings, data sets and mechanisms have no value."""
    assert printed_value("sin", "bd", 0.2, 40) is None
    assert printed_value("nycflights", "bd", 0.6, 120) is None
    assert printed_value("sin", "uniform", 0.6, 120) is None


def test_only_whole_runs_are_held_against_the_paper() -> None:
    """Fewer slots, two types, other cells or another metric: nothing to compare with."""
    assert printed_beside(row(Point("sin"), "bd", 1.0), "amre") == 2_822_001.85
    assert printed_beside(row(Point("sin"), "bd", 1.0), "mae") is None
    two = Point("sin", share=0.5, other_epsilon=1.0, other_window=120)
    for other in (Point("sin", slots=400), Point("sin", users=9), two, Point("sin", presence="seen")):
        assert printed_beside(row(other, "bd", 1.0), "amre") is None
