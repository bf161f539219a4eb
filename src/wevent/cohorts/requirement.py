"""Defines what a person may require, fixed or dynamic, and checks it against units and the operator's limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from wevent.errors import InvalidRequirement
from wevent.settings import Limits
from wevent.units import MAX_EPSILON, NANO, show, to_epsilon, to_units, to_window

Number = float | int | str | Decimal


@dataclass(frozen=True, slots=True)
class BudgetWindow:
    """At most `epsilon` over any `window` consecutive slots.

    Guarantees:
        `epsilon` is kept as whole nano-ε, rounded down, and `units` is that whole number.
    """

    epsilon: Decimal = field(compare=False)
    window: int
    units: int = field(repr=False)

    def __init__(self, epsilon: Number, window: int) -> None:
        object.__setattr__(self, "units", to_units(epsilon))
        object.__setattr__(self, "epsilon", to_epsilon(self.units))
        object.__setattr__(self, "window", to_window(window))

    @property
    def share(self) -> int:
        """One slot's part of half the budget: E/(2w) in whole units, rounded down (SPEC §5)."""
        return self.units // (2 * self.window)


@dataclass(frozen=True, slots=True)
class Fixed(BudgetWindow):
    """The same budget and window for as long as it is in force.

    Guarantees:
        A share E/(2w) below one unit is refused.
    """

    def __init__(self, epsilon: Number, window: int) -> None:
        BudgetWindow.__init__(self, epsilon, window)
        _check_share(self)


@dataclass(frozen=True, slots=True)
class Dynamic:
    """Limits what was spent in the last slots (`backward`) and what is spent from now on (`forward`).

    Declared for one slot, and again in each slot until it is changed. Both sides are given as
    `BudgetWindow(epsilon, window)` or as a pair `(epsilon, window)`. Without a backward side only the slot
    itself is limited, to the largest budget there is, which never binds.
    """

    forward: BudgetWindow
    backward: BudgetWindow
    _hash: int = field(repr=False, compare=False)

    def __init__(
        self, forward: BudgetWindow | tuple[Number, int], backward: BudgetWindow | tuple[Number, int] = (MAX_EPSILON, 1)
    ) -> None:
        object.__setattr__(self, "forward", _side(forward))
        object.__setattr__(self, "backward", _side(backward))
        object.__setattr__(self, "_hash", hash((self.forward, self.backward)))
        _check_share(self.forward)

    def __hash__(self) -> int:
        return self._hash  # computed once, since every slot needs it


Requirement = Fixed | Dynamic


@dataclass(frozen=True, slots=True)
class Levels:
    """Named epsilons and windows that an administrator defines and people pick from.

    Example:
        >>> levels = Levels({"High": 0.2, "Low": 1.0}, {"Small": 40, "Large": 120})
        >>> levels.fixed("High", "Small")
        Fixed(epsilon=Decimal('0.200000000'), window=40)
    """

    epsilons: Mapping[str, Number]
    windows: Mapping[str, int]

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "epsilons", MappingProxyType({k: to_epsilon(to_units(v)) for k, v in self.epsilons.items()})
        )
        object.__setattr__(self, "windows", MappingProxyType({k: to_window(v) for k, v in self.windows.items()}))
        if not self.epsilons or not self.windows:
            raise InvalidRequirement("levels need at least one named epsilon and one named window")

    def fixed(self, epsilon: str, window: str) -> Fixed:
        """The fixed requirement of these two names."""
        return Fixed(*self._pair(epsilon, window))

    def dynamic(self, forward: tuple[str, str], backward: tuple[str, str] | None = None) -> Dynamic:
        """The dynamic requirement of these names, each side as (epsilon, window)."""
        if backward is None:
            return Dynamic(self._pair(*forward))
        return Dynamic(self._pair(*forward), self._pair(*backward))

    def _pair(self, epsilon: str, window: str) -> tuple[Number, int]:
        return _named("epsilon", epsilon, self.epsilons), _named("window", window, self.windows)


def check_limits(requirement: Requirement, limits: Limits) -> None:
    """Raise `InvalidRequirement` if a requirement is outside the operator's limits.

    Guarantees:
        Both sides of a dynamic requirement must keep to `window` and `least_share`; `epsilon` bounds the forward one.
        A refusal names the limit and, for `least_share`, the least epsilon for that window.
    """
    sides = (requirement,) if isinstance(requirement, Fixed) else (requirement.forward, requirement.backward)
    if sides[0].units > to_units(limits.epsilon):
        raise InvalidRequirement(
            f"epsilon={show(sides[0].units)} is above the operator's limit of {limits.epsilon}; require less",
            limit=limits.epsilon,
        )
    longest = max(side.window for side in sides)
    if longest > limits.window:
        raise InvalidRequirement(
            f"window={longest} is above the operator's limit of {limits.window} slots; require a shorter one",
            limit=limits.window,
        )
    for side in sides:
        least = math.ceil(Fraction(repr(float(limits.least_share))) * NANO * side.window)
        if side.units < least:
            raise InvalidRequirement(
                f"epsilon={show(side.units)} over window={side.window} is below the operator's limit least_share="
                f"{limits.least_share} of epsilon per slot; require at least epsilon={show(least)} over this window, "
                "or a shorter window",
                limit=limits.least_share,
                least=to_epsilon(least),
            )


def with_share(requirement: Requirement, shares: tuple[int, int]) -> tuple[int, int]:
    """Least and greatest share of a stream with one requirement more; a dynamic one counts by its stricter side."""
    if isinstance(requirement, Fixed):
        share = requirement.share
    else:
        share = min(requirement.forward.share, requirement.backward.share)
    return min(shares[0], share), max(shares[1], share)


def check_share_ratio(requirement: Requirement, shares: tuple[int, int], limits: Limits) -> None:
    """Raise `InvalidRequirement` if shares would differ by more than the operator's `share_ratio`.

    Args:
        requirement: the new one.
        shares: least and greatest share of all others.
        limits: the operator's.
    """
    least, greatest = with_share(requirement, shares)
    if greatest > limits.share_ratio * least:
        way = "more" if least < shares[0] else "less"
        raise InvalidRequirement(
            f"the shares epsilon/window required in this stream may differ by a factor of at most {limits.share_ratio}"
            f", the operator's limit share_ratio; require {way} over the same window",
            limit=limits.share_ratio,
        )


def _side(side: Any) -> BudgetWindow:
    if isinstance(side, BudgetWindow):
        return side
    if isinstance(side, tuple | list) and len(side) == 2:
        return BudgetWindow(side[0], side[1])
    raise InvalidRequirement(
        "a side of a dynamic requirement is BudgetWindow(epsilon, window) or a pair (epsilon, window)"
    )


def _check_share(side: BudgetWindow) -> None:
    if side.share < 1:
        raise InvalidRequirement(
            f"epsilon={show(side.units)} over window={side.window} leaves a share E/(2w) below one unit of 1e-9; "
            f"require at least epsilon={show(2 * side.window)} or a shorter window",
            least=to_epsilon(2 * side.window),
        )


def _named(what: str, name: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        raise InvalidRequirement(f"no {what} level of that name; known are {', '.join(known)}", known=tuple(known))
    return known[name]
