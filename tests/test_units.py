"""Budgets in units of 10⁻⁹ ε: floored through their decimal digits, one by one and in arrays."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wevent.cohorts.requirement import Fixed
from wevent.errors import InvalidRequirement
from wevent.units import (
    MAX_EPSILON,
    MAX_WINDOW,
    NANO,
    UNBOUNDED,
    as_fraction,
    show,
    to_epsilon,
    to_units,
    to_units_array,
    to_window,
)

tricky = st.one_of(
    st.floats(1e-9, 100),
    st.integers(1, 100 * NANO).map(lambda units: units / NANO),
    st.integers(1, 100 * NANO).map(lambda units: units * 1e-9),
    st.integers(1, 100 * NANO).map(lambda units: math.nextafter(units / NANO, 0)),
    st.integers(1, 100 * NANO - 1).map(lambda units: math.nextafter(units / NANO, math.inf)),
    st.tuples(st.floats(0.01, 40), st.floats(0.01, 40)).map(sum),
    st.sampled_from([0.1 + 0.2, 0.3, 0.7 + 0.1, 1e-9, 2e-9, 3e-9, 1.1 * 3, 99.999999999, 100.0, 1 / 3]),
)


def exactly(written: str) -> int:
    """The floor of a decimal in units, by integers alone."""
    return math.floor(Fraction(written) * NANO)


@given(tricky)
@settings(deadline=None)
def test_floats_are_read_by_their_digits(epsilon: float) -> None:
    """A float is the shortest decimal that means it, rounded down: 0.3 and 0.1 + 0.2 are 300000000 units."""
    written = repr(epsilon)
    if exactly(written) >= 1:
        assert to_units(epsilon) == to_units(np.float64(epsilon)) == to_units(written) == exactly(written)


@given(st.lists(tricky, min_size=1, max_size=30))
@settings(deadline=None)
def test_arrays_are_read_like_single_budgets(budgets: list[float]) -> None:
    """`to_units_array` gives for every element what `to_units` gives."""
    budgets = [epsilon for epsilon in budgets if exactly(repr(epsilon)) >= 1]
    assert to_units_array(budgets).tolist() == [to_units(epsilon) for epsilon in budgets]
    assert to_units_array(np.array(budgets)).dtype == np.int64


@given(st.lists(st.floats(2**-20, 100, width=32), min_size=1, max_size=20))
@settings(deadline=None)
def test_single_precision_is_read_as_what_it_is(budgets: list[float]) -> None:
    """An array of float32 holds the doubles that its elements are."""
    given_ = np.array(budgets, np.float32)
    assert to_units_array(given_).tolist() == [to_units(float(epsilon)) for epsilon in given_]


def test_every_multiple_of_a_unit_comes_back() -> None:
    """n/10⁹ is n units for a million different n, although n/10⁹·10⁹ in doubles is often not n."""
    rng = np.random.default_rng(9)
    wanted = np.concatenate([np.arange(1, 200_001), rng.integers(1, 100 * NANO, 800_000)])
    assert np.array_equal(to_units_array(wanted / NANO), wanted)
    assert ((wanted / NANO * NANO) != wanted).any()


def test_next_to_a_multiple_of_a_unit() -> None:
    """The double below n/10⁹ is n - 1 units and the one above it is n, for 10⁵ different n."""
    n = np.random.default_rng(10).integers(2, 100 * NANO, 100_000)
    n[: n.size // 2] = 2 ** np.random.default_rng(11).integers(1, 36, n.size // 2) + n[: n.size // 2] % 1000
    assert np.array_equal(to_units_array(np.nextafter(n / NANO, 0)), n - 1)
    assert np.array_equal(to_units_array(np.nextafter(n / NANO, 100)), n)


def test_integer_arrays() -> None:
    """Integers of any width are read as epsilon."""
    for kind in (np.int8, np.uint8, np.int64, np.uint64):
        assert to_units_array(np.array([1, 2, 100], kind)).tolist() == [NANO, 2 * NANO, 100 * NANO]


@given(st.decimals(min_value=Decimal("1e-9"), max_value=100, allow_nan=False, allow_infinity=False))
@settings(deadline=None)
def test_never_above_what_was_written(epsilon: Decimal) -> None:
    """Units times 1e-9 is at most the decimal, and less than one unit below it, with any number of digits."""
    units = to_units(epsilon)
    assert 0 <= Fraction(str(epsilon)) - Fraction(units, NANO) < Fraction(1, NANO)


@pytest.mark.parametrize(
    ("written", "units"),
    [
        ("0.99999999999999999999999999999999999999", NANO - 1),
        ("0.1999999999999999999999999999999999999999999999999999999999999999999", 199_999_999),
        ("1e-9", 1),
        ("1.9999999999999999999999999999999999999999e-9", 1),
        ("100", 100 * NANO),
        ("100.000000000", 100 * NANO),
        (" 0.5 ", NANO // 2),
        (3, 3 * NANO),
        (np.int16(3), 3 * NANO),
        (Decimal("0.25"), NANO // 4),
    ],
)
def test_examples(written: Any, units: int) -> None:
    """Long decimals are floored, never rounded up."""
    assert to_units(written) == units


def test_the_decimal_context_of_the_program_does_not_matter() -> None:
    """A program that works with six digits gets the same budgets."""
    with localcontext(Context(prec=4)):
        assert to_units("12.345678901") == 12_345_678_901
        assert to_epsilon(12_345_678_901) == Decimal("12.345678901")
        assert Fixed("12.345678901", 2).units == 12_345_678_901
        assert show(12_345_678_901) == "12.345678901"


WRONG: list[Any] = [
    0,
    0.0,
    -0.5,
    "-1",
    math.nan,
    math.inf,
    -math.inf,
    "nan",
    "sNaN",
    "inf",
    100.000000001,
    101,
    "1e999999",
    "1e-999999",
    1e-10,
    "0.0000000009",
    True,
    np.True_,
    None,
    "a lot",
    "",
    [0.5],
    Fraction(1, 2),
    1j,
]


@pytest.mark.parametrize("epsilon", WRONG)
def test_wrong_budgets_are_refused(epsilon: Any) -> None:
    """Anything but a finite number above 0 and at most 100 is refused; the message says what is wanted."""
    with pytest.raises(InvalidRequirement, match=r"100|1e-9|finite|number") as refused:
        to_units(epsilon)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("epsilon", [0, 0.0, -0.5, math.nan, math.inf, 100.000000001, 101, 1e-10])
def test_one_wrong_budget_refuses_an_array(epsilon: float) -> None:
    """Also in an array, wherever it stands, with the message that it gets alone."""
    with pytest.raises(InvalidRequirement) as alone:
        to_units(float(epsilon))
    for place in range(3):
        budgets = [0.5, 1.5, 99.5]
        budgets[place] = epsilon
        with pytest.raises(InvalidRequirement) as refused:
            to_units_array(budgets)
        assert str(refused.value) == str(alone.value)


@pytest.mark.parametrize("budgets", [["0.5"], [True], [None], np.array([0.5], object), [1j]])
def test_arrays_of_other_things_are_refused(budgets: Any) -> None:
    """Texts, truth values and objects are no budgets, and the message names the dtype."""
    with pytest.raises(InvalidRequirement, match="dtype"):
        to_units_array(budgets)


def test_no_budgets() -> None:
    """An empty array is read as one."""
    assert to_units_array(np.empty(0)).tolist() == []


@pytest.mark.parametrize("window", [1, 2**20, np.int8(3), np.uint64(9), 4.0, np.float64(4)])
def test_windows(window: Any) -> None:
    """Whole numbers from 1 to 2²⁰, however they are written."""
    assert to_window(window) == int(window)
    assert type(to_window(window)) is int


@pytest.mark.parametrize(
    "window", [0, -1, MAX_WINDOW + 1, 2**70, True, np.True_, 2.5, math.nan, math.inf, "4", None, [4], 1j]
)
def test_wrong_windows_are_refused(window: Any) -> None:
    """Everything else is refused; out of range, the message says the range."""
    with pytest.raises(InvalidRequirement, match=rf"{MAX_WINDOW}|whole number"):
        to_window(window)


@given(st.integers(1, MAX_EPSILON * NANO))
@settings(deadline=None)
def test_there_and_back(units: int) -> None:
    """Units to epsilon and back is exact, as decimal, as fraction and as text for people."""
    assert to_units(to_epsilon(units)) == units
    assert as_fraction(units) == Fraction(units, NANO)
    assert Fraction(show(units)) == Fraction(units, NANO)
    assert "E" not in show(units)


def test_no_limit_is_shown_as_such() -> None:
    """The number that stands for no limit is never shown as a budget."""
    assert show(UNBOUNDED) == show(math.inf) == "unbounded"
    assert show(0) == "0"


def test_flooring_is_what_decimal_calls_floor() -> None:
    """The same floor as the decimal module gives, on a grid of halves of units."""
    for half in range(2, 200):
        epsilon = Decimal(half) * Decimal("5e-10")
        assert to_units(epsilon) == int((epsilon * NANO).to_integral_value(ROUND_FLOOR))
