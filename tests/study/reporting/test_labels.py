"""Names and numbers for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wevent.study.mechanisms import MECHANISMS
from wevent.study.reporting import labels
from wevent.study.reporting.prose import read_table
from wevent.study.results import COLUMNS


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (2_847_232.0, "2,850,000"),
        (999.6, "1,000"),
        (123.4, "123"),
        (12.34, "12.3"),
        (1.0, "1.00"),
        (0.04567, "0.0457"),
        (0.00004, "4.00 × 10⁻⁵"),
        (-1234.0, "-1,230"),
        (float("inf"), "∞"),
        (float("nan"), "–"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    """Three significant digits, thousands apart."""
    assert labels.number(value) == text


@given(st.floats(1e-4, 1e12))
def test_three_digits_lose_at_most_half_a_percent(value: float) -> None:
    """What is shown lies within half a unit of the third digit."""
    shown = float(labels.number(value).replace(",", ""))
    assert shown == pytest.approx(value, rel=0.005)


def test_everything_has_a_label() -> None:
    """Every mechanism and every number of a row is called something better than its own name."""
    assert set(MECHANISMS) <= set(read_table("labels.toml")["mechanisms"])
    numbers = COLUMNS[COLUMNS.index("amre") : COLUMNS.index("private")]
    assert set(numbers) == set(read_table("labels.toml")["metrics"])
    assert labels.mechanism("mine") == "mine"


def test_words() -> None:
    """One round, two rounds, ranges and lists."""
    assert [labels.many(1, "round"), labels.many(2_000, "slot")] == ["1 round", "2,000 slots"]
    assert [labels.span(3, 3, "round"), labels.span(3, 10, "round")] == ["3 rounds", "3 to 10 rounds"]
    assert [labels.listing(["a"]), labels.listing(["a", "b", "c"])] == ["a", "a, b and c"]
