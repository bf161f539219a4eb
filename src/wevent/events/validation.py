"""Decides which events are accepted, numbers their slots, people and cells, and counts refusals by reason.

Each event is validated by itself. Whether it is accepted depends on its own values, on a public clock and on public
settings, never on another event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from wevent.events.cells import Cells
from wevent.events.formats import RawEvent, Reader
from wevent.events.one_cell import Ints
from wevent.events.refusals import Refusal, RefusedEvent
from wevent.events.timeline import Timeline, TimesSeen


@dataclass(frozen=True, slots=True)
class AcceptanceWindow:
    """Which slots are open: from `first` on, for instants before `until`."""

    first: int
    until: int


@dataclass(frozen=True, slots=True)
class AcceptedEvents:
    """Accepted events (axes: event), and how many were refused for which reason; private, so not shown.

    Attributes:
        slot: the number of the slot.
        person: the number of the person, or -1 - k for the k-th of `unlisted`.
        offset: microseconds since the slot began.
        cell: the index of the cell.
        unlisted: names of people who are not listed but count into the group.
        refused: numbers of refusals.
        seen: the first and the last readable time among all of them, refused ones included.
    """

    slot: Ints = field(repr=False)
    person: Ints = field(repr=False)
    offset: Ints = field(repr=False)
    cell: Ints = field(repr=False)
    unlisted: list[str] = field(repr=False)
    refused: Counter[Refusal] = field(repr=False)
    seen: TimesSeen = field(default_factory=TimesSeen, repr=False)


@dataclass(frozen=True, slots=True)
class EventValidator:
    """Checks events against public settings.

    Attributes:
        timeline: where slots begin.
        cells: the declared cells.
        people: the number of each listed person, by name.
        group: whether people who are not listed count into the declared group.
    """

    timeline: Timeline
    cells: Cells
    people: Mapping[str, int] = field(repr=False)
    group: bool

    def validate_lines(
        self, lines: Iterable[bytes | None], read: Reader, acceptance_window: AcceptanceWindow
    ) -> AcceptedEvents:
        """Validate the lines of a file; empty ones are passed over."""
        refused: Counter[Refusal] = Counter()

        def read_events() -> Iterable[RawEvent]:
            for line in lines:
                if line is None:
                    refused[Refusal.MALFORMED] += 1
                elif line:
                    try:
                        yield read(line)
                    except RefusedEvent as refusal:
                        refused[refusal.kind] += 1

        return self.validate(read_events(), acceptance_window, refused)

    def validate(
        self, events: Iterable[RawEvent], acceptance_window: AcceptanceWindow, refused: Counter[Refusal] | None = None
    ) -> AcceptedEvents:
        """Validate events that were read.

        Guarantees:
            Every event is either in the result, in the slot that holds its instant, or counted once in `refused`.
            Whether an event is accepted does not depend on other events.
        """
        refused = Counter() if refused is None else refused
        accepted: list[tuple[int, int, int, int]] = []
        unlisted: dict[str, int] = {}
        start, width = self.timeline.start(1), self.timeline.width
        first = last = None
        for user, instant, place in events:
            if first is None or last is None:
                first = last = instant
            elif instant < first:
                first = instant
            elif instant > last:
                last = instant
            since = instant - start
            slot = since // width + 1
            if slot < 1:
                refused[Refusal.EARLY] += 1
                continue
            if slot < acceptance_window.first:
                refused[Refusal.LATE] += 1
                continue
            if instant >= acceptance_window.until:
                refused[Refusal.FUTURE] += 1
                continue
            person = self.people.get(user)
            if person is None:
                if not self.group:
                    refused[Refusal.UNLISTED] += 1
                    continue
                person = -1 - unlisted.setdefault(user, len(unlisted))
            try:
                cell = self.cells.find(place)
            except ValueError:
                refused[Refusal.PLACELESS] += 1
                continue
            if cell < 0:
                refused[Refusal.OUTSIDE] += 1
                continue
            accepted.append((slot, person, since % width, cell))
        slots, persons, offsets, cells = np.array(accepted, np.int64).reshape(-1, 4).T
        return AcceptedEvents(slots, persons, offsets, cells, list(unlisted), refused, TimesSeen(first, last))


def refuse_unfinished() -> AcceptedEvents:
    """The refusal of one line that has no end."""
    none = np.empty(0, np.int64)
    return AcceptedEvents(none, none, none, none, [], Counter({Refusal.UNFINISHED: 1}))
