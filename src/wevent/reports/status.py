"""Reports where a stream stands to the operator: since when nothing was published, and who has too little budget left.

It is computed from charges, assignments and requirements alone; it steers nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wevent.cohorts.requirement import Dynamic
from wevent.reports.history import StreamHistory
from wevent.reports.person_classes import Requires, class_spends, person_classes, row_spends, spends_of_unlisted
from wevent.reports.times import SlotTimes
from wevent.units import show

ROOM_RATIO, SHARE_RATIO = 10, 100
"""A person has too little budget left with less than a tenth of what is typical, or with an epsilon per slot of less
than a hundredth of what is typical."""

_SILENT = 10
_EVERYTHING = 10**15


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """Where a stream stands.

    Attributes:
        slots: how many have been charged.
        people: how many have a requirement in force, the group with its declared size.
        silent: how many slots ended since the last publication; all of them if there was none.
        short: how many people have too little budget left for the next slot.
        least: the least budget that any of them has left, in units.
        typical: what most people have left, in units (the median).
        held_until: after a restore nobody spends anything before this slot; 0 if that is over.
    """

    slots: int
    people: int
    silent: int
    short: int
    least: int
    typical: int
    held_until: int = 0

    def __str__(self) -> str:
        words = f"no publication for {self.silent:,} slots"
        if self.held_until:
            return f"{words}: everybody is held back after a restore"
        if not self.short:
            return f"{words}; nobody has too little budget left, so the mechanism chose to wait"
        return (
            f"{words}: {self.short:,} people have too little budget left (down to epsilon={show(self.least)}, where "
            f"{show(self.typical)} is typical). They keep the counts of everybody from being published"
        )

    @property
    def advice(self) -> list[str]:
        """What the operator can do about people who have too little budget left; nothing if nobody has."""
        if self.held_until or not self.short:
            return []
        return [
            "what you can do: see who requires least per slot (`wevent requirements list`) and ask them whether a "
            "larger epsilon or a shorter window would do (`wevent requirements set`), or whether they want to leave",
            "what was required before binds until its window is over, so it takes that long to help",
            "in a new stream, least_share and share_ratio in [privacy.limits] refuse such requirements from the start",
        ]

    def held_back(self, times: SlotTimes) -> str:
        """Until when everybody is held back, in words; nothing if nobody is."""
        if not self.held_until:
            return ""
        return f"after a restore everybody is held back: nothing is spent before slot {times.slot(self.held_until)}"

    @property
    def worth_saying(self) -> bool:
        """Whether it has been quiet for long."""
        return self.silent >= _SILENT or (self.silent == self.slots > 0)


@dataclass(frozen=True, slots=True)
class _Room:
    people: int
    left: int
    share: float


def stream_status(history: StreamHistory) -> StreamStatus:
    """Where a stream stands before its next slot."""
    last = history.slots[-1].slot if history.slots else 0
    published = max((record.slot for record in history.slots if record.decision == "published"), default=0)
    rooms = list(_rooms(history, last))
    left, share = _median(rooms, "left"), _median(rooms, "share")
    short = [room for room in rooms if room.left * ROOM_RATIO < left or room.share * SHARE_RATIO < share]
    return StreamStatus(
        last,
        sum(room.people for room in rooms),
        last - published,
        sum(room.people for room in short),
        min((room.left for room in short), default=0),
        int(left),
        history.held_until if history.held_until > last + 1 else 0,
    )


def _rooms(history: StreamHistory, last: int) -> Iterator[_Room]:
    """What each class of people with a requirement in force has left for the next slot."""
    spent = row_spends(history)
    unlisted = spends_of_unlisted(history, spent, last)
    for people in person_classes(history):
        required = list(people.requires(last + 1))
        newest = required[-1].requirement
        if newest is None:
            continue
        units = class_spends(people, spent, last, unlisted).units
        left = min(_left(each, units, history.carry) for each in required)
        forward = newest.forward if isinstance(newest, Dynamic) else newest
        yield _Room(people.size, max(0, left), forward.units / forward.window)


def _left(required: Requires, units: list[int], carry: int) -> int:
    """What a promise leaves for the next slot; everything once its windows are over."""
    requirement, following = required.requirement, len(units) + 1
    if requirement is None:
        return _EVERYTHING
    forward = requirement.forward if isinstance(requirement, Dynamic) else requirement
    window = forward.window + carry - 1
    if following > required.last + window - 1:
        return _EVERYTHING
    if not isinstance(requirement, Dynamic):
        return forward.units - sum(units[max(0, following - window) :])
    ahead = forward.units - sum(units[max(required.first, following - window + 1) - 1 :])
    if required.last < following:
        return ahead
    backward = requirement.backward
    return min(ahead, backward.units - sum(units[max(0, following - backward.window - carry + 1) :]))


def _median(rooms: list[_Room], name: str) -> float:
    """The median over people."""
    half = sum(room.people for room in rooms) / 2
    for room in sorted(rooms, key=lambda room: float(getattr(room, name))):
        half -= room.people
        if half <= 0:
            return float(getattr(room, name))
    return 0.0
