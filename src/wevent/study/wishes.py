"""What people ask for in a study: a seed and the strictest (E, w) come in, types of users and their wishes go out.

STUDY: ten user types in contiguous blocks; each draws its budget from the values that are not below E and its
window from those that are not above w. Dynamic requirements are drawn anew for each type and slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from wevent.cohorts.requirement import Dynamic, Fixed
from wevent.errors import InvalidSetting
from wevent.units import to_units

BUDGETS = (0.2, 0.4, 0.6, 0.8, 1.0)
WINDOWS = (40, 80, 120, 160, 200)
TYPES = 10
BACKWARD = (10, 1)
"""Budget and window of every backward requirement: it never binds. [Du25] §6.2."""


class Moves(Protocol):
    """Who asks for something else in which slot."""

    def at(self, slot: int) -> Sequence[tuple[int, Dynamic]]:
        """Types and what they ask for from this slot on."""
        ...


@dataclass(frozen=True, slots=True)
class Drawn:
    """Every type asks anew in every slot, at random and never for less privacy budget or a longer window than its own.

    The draw of a slot depends on the seed and the slot alone.
    """

    seed: int
    choices: tuple[tuple[Dynamic, ...], ...] = field(repr=False)

    def at(self, slot: int) -> list[tuple[int, Dynamic]]:
        """One draw for each type."""
        random = np.random.Generator(np.random.Philox(key=self.seed, counter=slot << 64)).random(len(self.choices))
        return [(k, some[int(u * len(some))]) for k, (u, some) in enumerate(zip(random, self.choices, strict=True))]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What everybody asks for.

    Attributes:
        common: what mechanisms with one requirement for all serve: the strictest.
        fixed: what each type asks for (axes: type).
        type_of: the type of each user (axes: user).
        moves: how types change what they ask for, for mechanisms that can follow; None if nobody changes.
    """

    common: Fixed
    fixed: tuple[Fixed, ...]
    type_of: npt.NDArray[np.int64] = field(repr=False)
    moves: Moves | None = None

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many users each type has (axes: type)."""
        return np.bincount(self.type_of, minlength=len(self.fixed))


def draw_types(seed: int, users: int, epsilon: float, window: int, types: int = TYPES) -> Wishes:
    """Types in contiguous blocks, each with a budget from E on and a window up to w.

    Guarantees:
        Nobody asks for a budget below `epsilon` or a window above `window`, at any time.
        The same for the same arguments.
    """
    budgets = [value for value in BUDGETS if value >= epsilon] or [epsilon]
    windows = [value for value in WINDOWS if value <= window] or [window]
    random = np.random.default_rng(seed)
    asked = tuple(
        Fixed(budgets[int(random.integers(len(budgets)))], windows[int(random.integers(len(windows)))])
        for _ in range(types)
    )
    type_of = _blocks(users, types)
    asked = asked[: int(type_of[-1]) + 1]  # so few users that some types have none
    moves = Drawn(seed, tuple(_choices(one, budgets, windows) for one in asked))
    return Wishes(Fixed(epsilon, window), asked, type_of, moves)


def two_types(seed: int, users: int, first: tuple[float, int], second: tuple[float, int], share: float) -> Wishes:
    """Two types, the first of which has `share` of all users."""
    if not 0 < share < 1:
        raise InvalidSetting(f"the share of the first type must lie between 0 and 1, got {share}")
    many = min(max(round(users * share), 1), users - 1)
    type_of = np.repeat(np.arange(2), [many, users - many])
    asked = (Fixed(*first), Fixed(*second))
    budgets, windows = sorted({first[0], second[0]}), sorted({first[1], second[1]})
    moves = Drawn(seed, tuple(_choices(one, budgets, windows) for one in asked))
    return Wishes(Fixed(min(budgets), max(windows)), asked, type_of, moves)


def _blocks(users: int, types: int) -> npt.NDArray[np.int64]:
    """Contiguous blocks of ceil(users / types)."""
    return np.arange(users) // -(-users // types)


def _choices(own: Fixed, budgets: Sequence[float], windows: Sequence[int]) -> tuple[Dynamic, ...]:
    """Every forward requirement that is as lenient as one's own fixed one."""
    lenient = [e for e in budgets if to_units(e) >= own.units]
    return tuple(_forward(e, w) for e in lenient for w in windows if w <= own.window)


@cache
def _forward(epsilon: float, window: int) -> Dynamic:
    """One object for each requirement, which makes looking it up quick."""
    return Dynamic((epsilon, window), BACKWARD)
