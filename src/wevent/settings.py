"""Checks and holds the privacy settings, on which the promise depends, apart from all other settings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Literal, get_args

from wevent.errors import InvalidSetting
from wevent.units import MAX_EPSILON, MAX_WINDOW, to_units, to_window

Neighbours = Literal["add_remove", "substitution"]
Rest = Literal["all", "own"]
WhenInfeasible = Literal["project", "reject"]

MOST_WINDOW = 2**14
"""The longest window, in slots, unless an operator allows more: every row remembers as many slots."""

MANY_SLOTS = 1_000
"""An operator confirms the release, or the loss, of more slots than this: they are more likely a wrong year."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an operator lets people require (SPEC §6: one person can make all rest)."""

    epsilon: float = MAX_EPSILON
    window: int = MOST_WINDOW
    share_ratio: float = float("inf")
    """Largest allowed ratio between the greatest and the least share epsilon/window that people require."""
    least_share: float = 0.0
    """Least allowed epsilon/window: one person who requires less could silence a mechanism that serves all."""
    history_cells: int = 2**26
    """Largest allowed number of rows times remembered slots: 16 bytes each, so 1 GiB. A requirement that would need
    more is refused."""

    def __post_init__(self) -> None:
        to_units(self.epsilon)
        to_window(self.window)
        if not self.share_ratio >= 1:
            raise InvalidSetting(f"share_ratio must be at least 1, got {self.share_ratio}")
        if not 0 <= self.least_share <= self.epsilon:
            raise InvalidSetting(f"least_share must be from 0 to epsilon={self.epsilon}, got {self.least_share}")
        if self.history_cells < 1:
            raise InvalidSetting(f"history_cells must be at least 1, got {self.history_cells}")


@dataclass(frozen=True, slots=True)
class Privacy:
    """What the promise depends on; fixed for the life of a stream.

    Attributes:
        neighbours: `add_remove` hides presence at E and whereabouts at 2E; `substitution` hides both at E.
        contributions: cells that one person may have in one slot.
        infeasible: a backward requirement below what was already spent is served with 0 in its slot
            (`project`) or refused (`reject`).
        rest: in absorption, a resting person makes `all` rest, or only offers 0 (`own`).
        limits: what people may require.
    """

    neighbours: Neighbours = "add_remove"
    contributions: int = 1
    infeasible: WhenInfeasible = "project"
    rest: Rest = "all"
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        _one_of("neighbours", self.neighbours, get_args(Neighbours))
        _one_of("infeasible", self.infeasible, get_args(WhenInfeasible))
        _one_of("rest", self.rest, get_args(Rest))
        if not isinstance(self.contributions, int) or isinstance(self.contributions, bool):
            raise InvalidSetting("contributions must be a whole number of cells per user and slot")
        if not 1 <= self.contributions <= MAX_WINDOW:
            raise InvalidSetting(f"contributions must be from 1 to {MAX_WINDOW}, got {self.contributions}")

    @property
    def sensitivity(self) -> int:
        """How far one person can move the histogram of a slot, in L1."""
        return self.contributions * (2 if self.neighbours == "substitution" else 1)


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidSetting(f"{name} must be one of {', '.join(known)}; got {value!r}", known=known)


@cache
def has_numba() -> bool:
    """Whether the extra `fast` is installed."""
    return find_spec("numba") is not None
