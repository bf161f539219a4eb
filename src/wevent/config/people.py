"""Defines the tables of `wevent.toml` about people: who counts where, what they may require, and names of levels."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from wevent.cohorts.requirement import Fixed
from wevent.events.one_cell import OneCell
from wevent.settings import MOST_WINDOW, Limits
from wevent.units import MAX_EPSILON, MAX_WINDOW

LEAVE = "leave"
"""The epsilon of a person who leaves."""


class SettingsTable(BaseModel):
    """A table of settings: unknown keys are refused, and nothing changes afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class GroupPart(SettingsTable):
    """`[people.group]`: one row for everybody who is not listed, of declared size and requirement.

    A number is that number; text is the name of a level, or a number in decimal.
    """

    size: Annotated[int, Field(ge=1, le=2**53)]
    epsilon: float | int | str
    window: int | str


class PeoplePart(SettingsTable):
    """`[people]`: which of a person's cells counts, for how long, and what becomes of unlisted people.

    `shared` says that people of this stream may be listed in other streams of the store too, which spends a budget of
    its own for each stream.
    """

    one_cell: OneCell = "first"
    presence: Literal["seen", "carry"] = "seen"
    carry: Annotated[int, Field(ge=1, le=MAX_WINDOW)] = 1
    shared: bool = False
    group: GroupPart | None = None

    @model_validator(mode="after")
    def _carried(self) -> PeoplePart:
        if self.presence == "seen" and self.carry != 1:
            raise ValueError("carry needs presence = 'carry'")
        return self


class LimitsPart(SettingsTable):
    """`[privacy.limits]`: what people may require.

    `least_share` is the least epsilon per slot, epsilon divided by window; `share_ratio` bounds how far these may lie
    apart. `history_cells` bounds memory and is no part of the promise, so it may be changed later.
    """

    epsilon: float | int = MAX_EPSILON
    window: int = MOST_WINDOW
    least_share: float | int = 0.001
    share_ratio: float | int = 1000.0
    history_cells: int = Limits().history_cells


class LevelsPart(SettingsTable):
    """`[levels.epsilons]` and `[levels.windows]`: names that people may pick from."""

    epsilons: dict[str, float | int | str] = {}
    windows: dict[str, int] = {}

    @model_validator(mode="after")
    def _are_names(self) -> LevelsPart:
        for name in (*self.epsilons, *self.windows):
            if name == LEAVE or _is_number(name):
                raise ValueError(f"{name!r} cannot name a level: it has a meaning of its own; choose another name")
        return self


@dataclass(frozen=True, slots=True)
class UnlistedGroup:
    """The row of unlisted people: how many there are, and what they require, levels resolved."""

    size: int
    requirement: Fixed


def resolve_group(people: PeoplePart, levels: LevelsPart) -> UnlistedGroup | None:
    """The row of unlisted people, with the numbers behind names of levels."""
    if people.group is None:
        return None
    epsilon: Any = people.group.epsilon
    window: Any = people.group.window
    if isinstance(epsilon, str):
        epsilon = levels.epsilons.get(epsilon, epsilon)
    if isinstance(window, str):
        window = levels.windows.get(window, window)
        if isinstance(window, str):
            if not (window.isascii() and window.isdigit() and len(window) < 9):
                raise ValueError("people.group.window is a whole number of slots or the name of a level")
            window = int(window)
    return UnlistedGroup(people.group.size, Fixed(epsilon, window))


def _is_number(text: str) -> bool:
    try:
        Decimal(text)
    except InvalidOperation:
        return False
    return True
