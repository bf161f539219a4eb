"""Settings: what they allow, what they refuse, and the sensitivity they imply."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from wevent.errors import InvalidInput, InvalidSetting
from wevent.settings import Limits, Privacy, has_numba


def test_defaults() -> None:
    """Presence is hidden, one cell per user and slot, infeasible is projected, all rest, no more limits."""
    privacy = Privacy()
    assert (privacy.neighbours, privacy.contributions, privacy.infeasible, privacy.rest) == (
        "add_remove",
        1,
        "project",
        "all",
    )
    assert privacy.limits == Limits()


@pytest.mark.parametrize(
    ("neighbours", "contributions", "sensitivity"),
    [("add_remove", 1, 1), ("substitution", 1, 2), ("add_remove", 3, 3), ("substitution", 3, 6)],
)
def test_sensitivity(neighbours: Any, contributions: int, sensitivity: int) -> None:
    """SPEC §1: one per cell of a user, twice that if a user may be elsewhere instead of away."""
    assert Privacy(neighbours=neighbours, contributions=contributions).sensitivity == sensitivity


@pytest.mark.parametrize("field", ["neighbours", "infeasible", "rest"])
def test_unknown_words_are_refused(field: str) -> None:
    """A word that is not known is refused, and the message lists those that are."""
    with pytest.raises(InvalidSetting, match=rf"{field} must be one of \w+, \w+"):
        Privacy(**{field: "perhaps"})  # type: ignore[arg-type]


@pytest.mark.parametrize("contributions", [0, -1, 2**20 + 1, True, 1.0, "1", None])
def test_wrong_contributions_are_refused(contributions: Any) -> None:
    """Cells per user and slot are a whole number from 1 on."""
    with pytest.raises(InvalidSetting, match="contributions"):
        Privacy(contributions=contributions)


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0}, {"epsilon": 101}, {"epsilon": math.nan}, {"window": 0}, {"window": 2**21}]
    + [{"share_ratio": ratio} for ratio in (0.5, -1, math.nan)],
)
def test_wrong_limits_are_refused(wrong: dict[str, Any]) -> None:
    """An operator cannot allow what no person may require, nor a ratio below 1."""
    with pytest.raises(InvalidInput):
        Limits(**wrong)


def test_settings_are_fixed_for_life() -> None:
    """No setting can be changed once it is made."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Privacy().rest = "own"  # type: ignore[misc]


def test_numba_is_found_or_not() -> None:
    """Whether the extra is there is a plain yes or no."""
    assert has_numba() in (True, False)
