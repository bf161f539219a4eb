"""Says what all streams of a store together may cost people who are in several of them.

Every stream spends a budget of its own. Over the longest window of any of them, a person loses at most the sum of what
each stream may spend in that time. A person who was never listed in a stream that counts unlisted people may be
among those, and is counted with what the group was promised.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import Connection

from wevent.cohorts.requirement import BudgetWindow, Dynamic, Fixed, Requirement
from wevent.config.durations import show_duration, to_microseconds
from wevent.events.timeline import to_instant
from wevent.reports.findings import in_words
from wevent.store.checksums import checked
from wevent.store.database import Database
from wevent.store.requirements import to_stored_change
from wevent.store.schema import people, requirement_changes
from wevent.store.streams import all_streams, find_stream
from wevent.units import show


@dataclass(frozen=True, slots=True)
class StreamPromise:
    """What one stream promises to a class of people; times in microseconds."""

    stream: str
    requirement: Requirement
    listed: bool
    width: int
    origin: int

    @property
    def forward(self) -> BudgetWindow:
        """What it promises from a slot on."""
        return self.requirement.forward if isinstance(self.requirement, Dynamic) else self.requirement

    @property
    def length(self) -> int:
        """How long its window is."""
        return self.forward.window * self.width

    def cost(self, other: StreamPromise) -> int:
        """The most that this stream may spend in one window of another one, in units."""
        aligned = other.width % self.width == 0 and (other.origin - self.origin) % self.width == 0
        touched = -(-other.length // self.width) + (0 if aligned else 1)
        sides = [self.forward, self.requirement.backward] if isinstance(self.requirement, Dynamic) else [self.forward]
        return min(math.ceil(touched / side.window) * side.units for side in sides)

    def __str__(self) -> str:
        return f"{self.stream} ({'' if self.listed else 'unlisted, '}{in_words(self.requirement)})"


@dataclass(frozen=True, slots=True)
class CombinedLoss:
    """What people of one class may lose in all streams together.

    Attributes:
        parts: what each stream promises to them.
        people: how many they are; of those who are listed nowhere, as many as the smallest group declares.
    """

    parts: tuple[StreamPromise, ...]
    people: int

    @property
    def longest(self) -> StreamPromise:
        """The part with the longest window."""
        return max(self.parts, key=lambda part: part.length)

    @property
    def epsilon(self) -> int:
        """The most that all streams together spend in the longest window, in units."""
        return sum(part.cost(self.longest) for part in self.parts)

    def __str__(self) -> str:
        return (
            f"{self.people:,} people in {len(self.parts)} streams: {'; '.join(map(str, self.parts))}. Together up to "
            f"epsilon={show(self.epsilon)} in {show_duration(self.longest.length)}, the longest window"
        )

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values for JSON."""
        parts = [
            {"stream": part.stream, "listed": part.listed, "promise": in_words(part.requirement)} for part in self.parts
        ]
        span = show_duration(self.longest.length)
        return {"people": self.people, "streams": parts, "window": span, "epsilon": show(self.epsilon)}


def read_combined_losses(database: Database) -> list[CombinedLoss]:
    """What people of several streams may lose, by class; nothing if nobody is, or can be, in more than one.

    Guarantees:
        Nobody is named.
    """
    names = [stream.name for stream in all_streams(database)]
    if len(names) < 2:
        return []
    each = []
    for name in names:
        stream, settings = find_stream(database, name)
        with database.read() as connection:
            each.append(_Stream(connection, stream.id, name, settings))
    return sorted(_classes(each), key=lambda line: (-line.epsilon, str(line)))


class _Stream:
    """The people of one stream and what is promised to them now."""

    def __init__(self, connection: Connection, number: int, name: str, settings: dict[str, Any]) -> None:
        self._name = name
        self._width, self._origin = to_microseconds(settings["slots.width"]), to_instant(settings["slots.origin"])
        group = settings.get("people.group")
        self.size = 0 if group is None else int(group["size"])
        self.group: StreamPromise | None = None
        if group is not None:
            self.group = self._promise(Fixed(f"{int(group['epsilon_units'])}e-9", int(group["window"])), listed=False)
        names = {row[1]: row[2] for row in checked(connection, people, people.c.stream == number)}
        latest: dict[int, Requirement | None] = {}
        this_stream, order = requirement_changes.c.stream == number, (requirement_changes.c.number,)
        for row in checked(connection, requirement_changes, this_stream, order_by=order):
            stored = to_stored_change(row)
            if not stored.refused:
                latest[stored.person] = stored.requirement
        promised = {required: self._promise(required) for required in set(latest.values()) if required is not None}
        self.promises: dict[str, StreamPromise | None] = {}
        for person, user in names.items():
            required = latest.get(person)
            self.promises[user] = None if required is None else promised[required]

    def promise_to(self, name: str) -> StreamPromise | None:
        """What is promised to a person; None if nothing is."""
        return self.promises.get(name, self.group)

    def _promise(self, requirement: Requirement, *, listed: bool = True) -> StreamPromise:
        return StreamPromise(self._name, requirement, listed, self._width, self._origin)


def _classes(each: list[_Stream]) -> Iterator[CombinedLoss]:
    counted: Counter[tuple[StreamPromise, ...]] = Counter()
    for name in _names(each):
        parts = tuple(part for stream in each if (part := stream.promise_to(name)) is not None)
        if len(parts) > 1:
            counted[parts] += 1
    groups = [stream for stream in each if stream.group is not None]
    if len(groups) > 1:
        counted[tuple(stream.group for stream in groups if stream.group is not None)] += min(s.size for s in groups)
    for parts, many in counted.items():
        yield CombinedLoss(parts, many)


def _names(each: list[_Stream]) -> Iterable[str]:
    return dict.fromkeys(name for stream in each for name in stream.promises)
