"""Draws the requirements of a study's users from a seed and the strictest (E, w).

As in [Du25] §6.2 there are ten user types in contiguous blocks. Each draws its epsilon from the values that are not
below E and its window from those that are not above w. Dynamic requirements are drawn anew for each type and slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from wevent import Dynamic, Fixed
from wevent.errors import InvalidSetting
from wevent.extend import to_units

EPSILONS = (0.2, 0.4, 0.6, 0.8, 1.0)
WINDOWS = (40, 80, 120, 160, 200)
TYPES = 10
BACKWARD = (10, 1)
"""Epsilon and window of every backward requirement: it never binds. [Du25] §6.2."""

SEED_LABEL = "wishes"
"""Part of the seed of every draw of requirements. Never change it: the kept results were drawn with this label."""


class RequirementChanges(Protocol):
    """Which types change their requirement in which slot."""

    def at(self, slot: int) -> Sequence[tuple[int, Dynamic]]:
        """Types, and what each requires from this slot on."""


@dataclass(frozen=True, slots=True)
class RedrawnRequirements:
    """Every type's requirement is redrawn in every slot, with no smaller epsilon and no longer window than its own.

    The draw of a slot depends on the seed and the slot alone.
    """

    seed: int
    choices: tuple[tuple[Dynamic, ...], ...] = field(repr=False)

    def at(self, slot: int) -> list[tuple[int, Dynamic]]:
        """One draw for each type."""
        random = np.random.Generator(np.random.Philox(key=self.seed, counter=slot << 64)).random(len(self.choices))
        drawn = zip(random, self.choices, strict=True)
        return [(kind, choices[int(u * len(choices))]) for kind, (u, choices) in enumerate(drawn)]


@dataclass(frozen=True, slots=True)
class StudyRequirements:
    """The requirements of all users of a stream.

    Attributes:
        common: what mechanisms with one requirement for all serve: the strictest.
        fixed: what each type requires (axes: type).
        type_of: the type of each user (axes: user).
        changes: how types change, for mechanisms that can follow; None if no type changes.
    """

    common: Fixed
    fixed: tuple[Fixed, ...]
    type_of: npt.NDArray[np.int64] = field(repr=False)
    changes: RequirementChanges | None = None

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many users each type has (axes: type)."""
        return np.bincount(self.type_of, minlength=len(self.fixed))

    def count(self, places: npt.NDArray[np.integer[Any]], cells: int) -> npt.NDArray[np.int64]:
        """How many users of each type are in each cell; -1 as a place means absent (axes: type, cell)."""
        width = cells + 1  # column 0 is for users who are absent
        counts = np.bincount(self.type_of * width + places + 1, minlength=len(self.fixed) * width)
        return counts.reshape(-1, width)[:, 1:]


def draw_types(seed: int, users: int, epsilon: float, window: int, types: int = TYPES) -> StudyRequirements:
    """Types in contiguous blocks, each with an epsilon from E on and a window up to w.

    Guarantees:
        Nobody requires an epsilon below `epsilon` or a window above `window`, at any time.
        The same for the same arguments.
    """
    epsilons = [value for value in EPSILONS if value >= epsilon] or [epsilon]
    windows = [value for value in WINDOWS if value <= window] or [window]
    random = np.random.default_rng(seed)
    fixed = tuple(
        Fixed(epsilons[int(random.integers(len(epsilons)))], windows[int(random.integers(len(windows)))])
        for _ in range(types)
    )
    type_of = np.arange(users) // -(-users // types)
    fixed = fixed[: int(type_of[-1]) + 1]  # so few users that some types have none
    return StudyRequirements(Fixed(epsilon, window), fixed, type_of, _redrawn(seed, fixed, epsilons, windows))


def two_types(
    seed: int, users: int, first: tuple[float, int], second: tuple[float, int], share: float
) -> StudyRequirements:
    """Two types, the first of which has `share` of all users."""
    if not 0 < share < 1:
        raise InvalidSetting(f"the share of the first type must lie between 0 and 1, got {share}")
    size = min(max(round(users * share), 1), users - 1)
    type_of = np.repeat(np.arange(2), [size, users - size])
    fixed = (Fixed(*first), Fixed(*second))
    epsilons, windows = sorted({first[0], second[0]}), sorted({first[1], second[1]})
    common = Fixed(min(epsilons), max(windows))
    return StudyRequirements(common, fixed, type_of, _redrawn(seed, fixed, epsilons, windows))


def _redrawn(seed: int, fixed: Sequence[Fixed], epsilons: list[float], windows: list[int]) -> RedrawnRequirements:
    """Each type draws among all forward requirements that are at least as lenient as its own fixed one."""
    both = [(epsilon, window) for epsilon in epsilons for window in windows]
    lenient = ([(e, w) for e, w in both if to_units(e) >= own.units and w <= own.window] for own in fixed)
    return RedrawnRequirements(seed, tuple(tuple(_forward(*side) for side in sides) for sides in lenient))


@cache
def _forward(epsilon: float, window: int) -> Dynamic:
    """One object for each requirement, which makes looking it up quick."""
    return Dynamic((epsilon, window), BACKWARD)
