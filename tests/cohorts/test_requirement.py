"""Requirements are kept in whole units, equal if they mean the same, and refused if they leave nothing to spend."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wevent.cohorts.requirement import BudgetWindow, Dynamic, Fixed, Levels, check_limits
from wevent.errors import InvalidRequirement
from wevent.settings import Limits

EPSILONS: list[Any] = [0, -1, math.nan, math.inf, 100.1, True, "much", None, [1]]
WINDOWS: list[Any] = [0, -1, 2**20 + 1, math.nan, math.inf, 1.5, True, "4", None, [4]]


@given(st.integers(2, 100 * 10**9), st.integers(1, 1000))
@settings(deadline=None)
def test_whole_units(units: int, window: int) -> None:
    """Budget, share and window are whole; the share is E/(2w) rounded down."""
    side = BudgetWindow(f"{units}e-9", window)
    assert side.units == units
    assert side.epsilon == Decimal(units).scaleb(-9)
    assert side.share == units // (2 * window)


@given(st.integers(1, 4000), st.integers(1, 1000))
@settings(deadline=None)
def test_a_share_below_one_unit_is_refused(units: int, window: int) -> None:
    """SPEC §7: exactly where E < 2w, and the message says the least budget that would do."""
    for make in (lambda: Fixed(f"{units}e-9", window), lambda: Dynamic((f"{units}e-9", window))):
        if units >= 2 * window:
            make()
        else:
            with pytest.raises(InvalidRequirement, match="below one unit") as refused:
                make()
            assert refused.value.fields["least"] == Decimal(2 * window).scaleb(-9)


def test_a_backward_side_needs_no_share() -> None:
    """Only the forward side is cut into shares: a tiny backward budget is allowed."""
    assert Dynamic((1, 4), ("1e-9", 100)).backward.units == 1


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_wrong_budgets(epsilon: Any) -> None:
    """A wrong epsilon is refused wherever one can be given."""
    for make in (
        lambda: BudgetWindow(epsilon, 2),
        lambda: Fixed(epsilon, 2),
        lambda: Dynamic((epsilon, 2)),
        lambda: Dynamic((1, 2), (epsilon, 2)),
        lambda: Levels({"low": epsilon}, {"short": 2}),
    ):
        with pytest.raises(InvalidRequirement, match="epsilon"):
            make()


@pytest.mark.parametrize("window", WINDOWS)
def test_wrong_windows(window: Any) -> None:
    """A wrong window is refused wherever one can be given."""
    for make in (
        lambda: BudgetWindow(1, window),
        lambda: Fixed(1, window),
        lambda: Dynamic((1, window)),
        lambda: Dynamic((1, 2), (1, window)),
        lambda: Levels({"low": 1}, {"short": window}),
    ):
        with pytest.raises(InvalidRequirement, match="window"):
            make()


def test_equal_if_they_mean_the_same() -> None:
    """The same units and window are one requirement, in any notation; fixed is not dynamic."""
    same = [Fixed(0.5, 4), Fixed("0.5", 4), Fixed(Decimal("0.50"), 4.0), Fixed("0.5000000009", 4)]  # type: ignore[arg-type]
    assert len(set(same)) == 1
    assert Dynamic((1, 2)) == Dynamic(BudgetWindow(1, 2), [100, 1])  # type: ignore[arg-type]
    assert len({Fixed(1, 2), BudgetWindow(1, 2), Dynamic((1, 2)), Fixed(1, 3), Fixed(2, 2)}) == 5


@pytest.mark.parametrize("side", [None, 1, (1,), (1, 2, 3), "ab", {"epsilon": 1}])
def test_a_side_is_a_pair(side: Any) -> None:
    """Anything but a pair or a `BudgetWindow` is refused."""
    with pytest.raises(InvalidRequirement):
        Dynamic(side)
    with pytest.raises(InvalidRequirement):
        Dynamic((1, 2), side)


def test_they_survive_pickling() -> None:
    """Requirements can be sent to another process."""
    for requirement in (Fixed("0.3", 4), Dynamic((1, 2), (3, 4))):
        assert pickle.loads(pickle.dumps(requirement)) == requirement  # noqa: S301


LEVELS = Levels({"strict": 0.2, "loose": 1}, {"short": 40, "long": 120})


def test_levels() -> None:
    """Named budgets and windows make the requirements of these numbers."""
    assert LEVELS.fixed("strict", "long") == Fixed(0.2, 120)
    assert LEVELS.dynamic(("loose", "short")) == Dynamic((1, 40))
    assert LEVELS.dynamic(("loose", "short"), ("strict", "long")) == Dynamic((1, 40), (0.2, 120))


def test_unknown_levels_list_the_known_ones() -> None:
    """A name that is no level is refused; the message lists levels, not the name."""
    wrong = "-".join(["user", "typo"])
    with pytest.raises(InvalidRequirement, match="strict, loose") as refused:
        LEVELS.fixed(wrong, "long")
    assert wrong not in str(refused.value)
    with pytest.raises(InvalidRequirement, match="short, long"):
        LEVELS.dynamic(("loose", wrong))


def test_levels_need_names() -> None:
    """Levels have at least one epsilon and one window, and cannot be changed afterwards."""
    for epsilons, windows in (({}, {"short": 4}), ({"low": 1}, {})):
        with pytest.raises(InvalidRequirement, match="at least one"):
            Levels(epsilons, windows)
    with pytest.raises(TypeError):
        LEVELS.epsilons["strict"] = 5  # type: ignore[index]


@pytest.mark.parametrize(
    ("requirement", "limit"),
    [
        (Fixed(2, 10), "1.5"),
        (Fixed(1, 21), "20"),
        (Dynamic((2, 10)), "1.5"),
        (Dynamic((1, 21)), "20"),
        (Dynamic((1, 10), (1, 21)), "20"),
    ],
)
def test_limits(requirement: Fixed | Dynamic, limit: str) -> None:
    """Above an operator's limit is refused, and the limit is named; at the limit is fine."""
    limits = Limits(epsilon=1.5, window=20)
    with pytest.raises(InvalidRequirement, match=limit.replace(".", r"\.")) as refused:
        check_limits(requirement, limits)
    assert refused.value.fields["limit"] == float(limit)
    for allowed in (Fixed(1.5, 20), Dynamic((1.5, 20)), Dynamic((1.5, 20), (100, 20))):
        check_limits(allowed, limits)
