"""The noise takes integers and exact budgets only, and no message shows a value."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.noise.sources import CERTAIN, SECRET, refused

from wevent.errors import InvalidSetting, NotExact, WeventError, WrongShape
from wevent.noise import Noise

FRACTIONAL: list[Any] = [
    np.array([float(SECRET)]),
    np.array([True]),
    np.array([SECRET], dtype=object),
    np.array([SECRET], dtype=np.uint64),
    np.array(["918273645"]),
    np.array([SECRET], dtype="m8[s]"),
    [float(SECRET)],
    [SECRET, True],
    [np.True_],
    [Fraction(SECRET)],
    [2**63],
    [np.uint64(2**63)],
    [[SECRET], [SECRET, 1]],
    None,
]


@pytest.mark.parametrize("wrong", FRACTIONAL)
def test_only_integers(source: Noise, wrong: Any) -> None:
    """Floats (integral ones too), truth values, objects and numbers beyond int64 are refused everywhere."""
    with refused(NotExact, "values"):
        source.laplace(wrong, sensitivity=1, epsilon=Fraction(1))
    with refused(NotExact, "counts"):
        source.binomial(wrong, 1)
    with refused(NotExact, "probabilities"):
        source.binomial(1, wrong)
    with refused(NotExact, "probabilities"):
        source.bernoulli(wrong)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, ">i8"])
def test_every_integer_type_that_fits(source: Noise, dtype: Any) -> None:
    """Integer types that fit int64 are taken at their value, and so are Python ints."""
    values = np.array([3, 100], dtype=dtype)
    assert source.binomial(values, CERTAIN).tolist() == [3, 100]
    assert source.laplace(values, sensitivity=1, epsilon=Fraction(10**6)).tolist() == [3, 100]
    assert source.laplace([3, 100], sensitivity=1, epsilon=Fraction(10**6)).tolist() == [3, 100]


@pytest.mark.parametrize(
    ("name", "kind", "wrong"),
    [
        *(("sensitivity", NotExact, x) for x in (1.0, 0.5, True, Fraction(1), np.float64(1), np.True_, "1", None)),
        *(("sensitivity", InvalidSetting, x) for x in (0, -1)),
        *(("epsilon", NotExact, x) for x in (1.0, 1, True, np.int64(1), "1", None)),
        *(("epsilon", InvalidSetting, x) for x in (Fraction(0), Fraction(-1))),
    ],
)
def test_sensitivity_and_epsilon(source: Noise, name: str, kind: type[WeventError], wrong: Any) -> None:
    """A sensitivity is an int, at least 1; an epsilon is an exact Fraction above 0."""
    given: dict[str, Any] = {"sensitivity": 1, "epsilon": Fraction(1), name: wrong}
    with refused(kind, name):
        source.laplace([SECRET], **given)


def test_counts_are_not_negative(source: Noise) -> None:
    """A single negative count among others is refused."""
    with refused(InvalidSetting, "counts"):
        source.binomial([5, -SECRET], 1)


@pytest.mark.parametrize("probability", [-1, -SECRET, CERTAIN + 1, CERTAIN + SECRET])
def test_probabilities_are_in_range(source: Noise, probability: int) -> None:
    """Probabilities below 0 or above 2⁶² are refused."""
    with refused(InvalidSetting, "probabilities"):
        source.binomial([5, 5], [1, probability])
    with refused(InvalidSetting, "probabilities"):
        source.bernoulli([1, probability])


@pytest.mark.parametrize("values", [SECRET, [[SECRET]], np.array([[SECRET]])])
def test_laplace_takes_one_axis(source: Noise, values: Any) -> None:
    """Scalars and tables are refused by the Laplace noise."""
    with refused(WrongShape, "values"):
        source.laplace(values, sensitivity=1, epsilon=Fraction(1))


def test_shapes_must_broadcast(source: Noise) -> None:
    """Counts and probabilities of shapes that do not fit are refused."""
    with refused(WrongShape, "counts"):
        source.binomial(np.full(3, SECRET), [1, 1])


def test_sums_stop_at_the_ends(source: Noise) -> None:
    """Noise never wraps around: a sum outside int64 becomes the nearest int64."""
    ends = np.iinfo(np.int64)
    noisy = source.laplace(np.repeat([ends.max, ends.min], 100), sensitivity=1, epsilon=Fraction(1, 1000))
    assert (noisy[:100] > ends.max - 10**6).all()
    assert (noisy[100:] < ends.min + 10**6).all()
    assert (noisy == np.repeat([ends.max, ends.min], 100)).any()
