"""The events of a history, as frozen values: what people require, how slots end, and what goes wrong in between.

A history says nothing about rows or ledgers. Events that do not apply (a person leaves who is not listed) are void, so
that any part of a history is a history: that is what makes shrinking simple.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tests.oracle import DynamicReq, FixedReq

from wevent.mechanisms import EstimatorName

Req = FixedReq | DynamicReq

GROUP = "unlisted"
"""The name of the group row in which people are counted who are not listed."""


@dataclass(frozen=True, slots=True)
class Require:
    """A person joins, returns or changes, whichever it is then."""

    user: str
    requirement: Req


@dataclass(frozen=True, slots=True)
class Leave:
    """A person leaves."""

    user: str


@dataclass(frozen=True, slots=True)
class Declare:
    """Several people require something else in one call, all or none of them.

    Attributes:
        table: dynamic requirements, also such as nobody chooses.
        choice: (user, index into the table) pairs; everybody else keeps what they have.
    """

    table: tuple[DynamicReq, ...]
    choice: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class RequireGroup:
    """The group of unlisted people is promised something else."""

    requirement: Req


@dataclass(frozen=True, slots=True)
class FailCharge:
    """The journal cannot keep the charge. What follows in the same slot happens before the second try."""


@dataclass(frozen=True, slots=True)
class Reopen:
    """The process ends; the next one replays the slots since a state that was kept at least `since` slots ago."""

    since: int


@dataclass(frozen=True, slots=True)
class Restore:
    """The store is gone; a copy that is `lost` slots older takes its place.

    Attributes:
        lost: how many slots the copy does not know.
        imported: whose newest requirement is imported again at once; nobody else's ever is.
    """

    lost: int
    imported: tuple[str, ...] = ()


Event = Require | Leave | Declare | RequireGroup | FailCharge | Reopen | Restore


class Ending(StrEnum):
    """How a slot ends, as far as there is a choice."""

    PUBLISH = "publish"
    """Published if anything is on offer."""
    SKIP = "skip"
    NATURAL = "natural"
    """As the recipe's own trigger decides."""
    LOSE = "lose"
    """The draw fails after the charge."""


@dataclass(frozen=True, slots=True)
class HistorySlot:
    """What happens before a slot, in order, and how the slot ends."""

    events: tuple[Event, ...]
    ending: Ending


@dataclass(frozen=True, slots=True)
class History:
    """Settings, people of the first slot, and slots.

    Attributes:
        recipe: the name of a recipe.
        estimator: for `auto`, one of the words of `mechanisms.ESTIMATORS`.
        fast: compiled rows, or numpy.
        infeasible: `project` or `reject`.
        rest: `all` or `own`.
        history_slots: how many slots the ledger remembers at least.
        founders: who is listed before slot 1, with what requirement.
        others: people of the same town who are not listed then.
        group: what unlisted people are promised; None if they are not counted.
        unlisted_again: whether a person who leaves is counted as unlisted as soon as the register allows it.
        slots: in order.
    """

    recipe: str
    estimator: EstimatorName
    fast: bool
    infeasible: str
    rest: str
    history_slots: int
    founders: tuple[tuple[str, Req], ...]
    others: tuple[str, ...]
    group: Req | None
    unlisted_again: bool
    slots: tuple[HistorySlot, ...]

    def __str__(self) -> str:
        """One line for the settings, and one for each slot in which anything happens."""
        flags = f"{self.recipe} ({self.estimator}), {'numba' if self.fast else 'numpy'}, {self.infeasible}, {self.rest}"
        flags += f", history_slots {self.history_slots}"
        lines = [f"{flags}; {'; '.join(f'{user} {show(required)}' for user, required in self.founders)}"]
        if self.group is not None:
            again = ", also people who leave" if self.unlisted_again else ""
            lines.append(f"  not listed are {', '.join(self.others) or 'none'}{again}: {show(self.group)}")
        for number, slot in enumerate(self.slots, start=1):
            what = "; ".join(describe(event) for event in slot.events)
            lines.append(f"  {number:3} {slot.ending:8} {what}".rstrip())
        return "\n".join(lines)


def show(requirement: Req) -> str:
    """A requirement as (epsilon, window)."""
    if isinstance(requirement, FixedReq):
        return f"({requirement.epsilon / 1e9:g}, {requirement.window})"
    back = f"({requirement.back_epsilon / 1e9:g}, {requirement.back_window})"
    return f"F({requirement.forward_epsilon / 1e9:g}, {requirement.forward_window}) B{back}"


def describe(event: Event) -> str:
    """An event in a few words."""
    if isinstance(event, Require):
        return f"{event.user} requires {show(event.requirement)}"
    if isinstance(event, Leave):
        return f"{event.user} leaves"
    if isinstance(event, Declare):
        chosen = ", ".join(f"{user} {show(event.table[index])}" for user, index in event.choice)
        return f"all at once: {chosen} (table of {len(event.table)})"
    if isinstance(event, RequireGroup):
        return f"the group is promised {show(event.requirement)}"
    if isinstance(event, Restore):
        return f"restored, {event.lost} slots lost, imported again: {', '.join(event.imported) or 'nobody'}"
    return f"reopened from {event.since} slots ago" if isinstance(event, Reopen) else "the charge fails"


def longest_window(requirement: Req) -> int:
    """The longest window of a requirement."""
    if isinstance(requirement, FixedReq):
        return requirement.window
    return max(requirement.back_window, requirement.forward_window)


def people(history: History) -> list[str]:
    """Everybody whom a history names, in a fixed order."""
    named = [user for user, _ in history.founders] + list(history.others)
    for slot in history.slots:
        for event in slot.events:
            if isinstance(event, Require | Leave):
                named.append(event.user)
            elif isinstance(event, Declare):
                named += [user for user, _ in event.choice]
    return list(dict.fromkeys(named))


def looked_back_on(history: History) -> set[int]:
    """The slots before which a state has to be kept; a replay can always begin at slot 1."""
    wanted = set()
    for number, slot in enumerate(history.slots, start=1):
        for event in slot.events:
            if isinstance(event, Restore):
                wanted.add(max(1, number - event.lost))
            elif isinstance(event, Reopen):
                wanted |= {1, max(1, number - event.since)}
    return wanted
