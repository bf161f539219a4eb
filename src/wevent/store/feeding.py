"""Releases slots: groups whole files first, or accepts events as they come and closes slots as a clock says.

In `files` streams everything is grouped first, and nothing waits in the store. In `arrival` and `operator` streams
every event is kept before it counts as accepted, and waits there until the clock, or the operator, closes its slot.
`store.sources` reads what is accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from wevent.config.model import Config
from wevent.errors import EmptyRegister, InvalidSetting
from wevent.events.files import GroupedFiles
from wevent.events.following import ReadPosition
from wevent.events.formats import Reader
from wevent.events.gathering import gather
from wevent.events.refusals import advise
from wevent.events.sorting import Door, Sorted, Sorter
from wevent.events.timeline import show_instant
from wevent.releases.release import Release
from wevent.store.begun import handing_over
from wevent.store.clock import GuardedClock, Reading
from wevent.store.intake import replace_refused
from wevent.store.requirements import first_registered
from wevent.store.session import Session
from wevent.store.totals import RunTotals

MOST_SLOTS = 1_000_000
"""More slots than this in one go are more likely a wrong year than a wish."""

ReleaseCallback = Callable[[Release], None]
"""Called with every release, as it was read back from the store."""

Confirm = Callable[[int, int], None]
"""Called with the first and the last slot before any of them is charged; whoever does not agree raises."""


class StopRequests(Protocol):
    """When a request to stop may take effect."""

    def uninterrupted(self) -> AbstractContextManager[None]:
        """Let a request wait until the end of a block: nothing comes between a charge and its release."""
        ...

    def interruptible(self) -> AbstractContextManager[None]:
        """Let a request take effect at once, while nothing is half done."""
        ...


class NeverStopped:
    """Nobody asks to stop."""

    uninterrupted = interruptible = staticmethod(nullcontext)


@contextmanager
def reading_files(read: Callable[[], GroupedFiles], stops: StopRequests) -> Iterator[GroupedFiles]:
    """Read files; a request to stop interrupts this, but not the import of what reads them."""
    import duckdb  # noqa: F401

    with stops.interruptible():
        grouped = read()
    with grouped:
        yield grouped


def _agree(first: int, last: int) -> None:
    """Agree to any number of slots."""


def last_slot(session: Session, until: int | None, now: int | None = None) -> int:
    """The last slot of a session that may be released."""
    return last_due(session.config, session.next_slot, until, session.writer.clock() if now is None else now)


def last_due(config: Config, next_slot: int, until: int | None, now: int) -> int:
    """The last slot that may be released: by the operator's word, or by the clock; never by an event."""
    closed = _closed(config, until, now)
    if closed - next_slot >= MOST_SLOTS:
        raise InvalidSetting(
            f"{closed - next_slot + 1:,} slots are due, and at most {MOST_SLOTS:,} are released in one go; "
            "say where to stop (`--until`)"
        )
    return closed


def count_due(session: Session, until: int | None) -> int:
    """How many slots are due and not released."""
    return max(0, _closed(session.config, until, session.writer.clock()) - session.next_slot + 1)


def _closed(config: Config, until: int | None, now: int) -> int:
    slots, timeline = config.slots, config.slots.timeline
    if until is None and slots.closing == "operator":
        return 0
    closed = timeline.closed(now, slots.lateness if slots.closing == "arrival" else 0)
    return closed if until is None else min(closed, timeline.closed(until))


def publish_files(
    session: Session,
    files: Sequence[Path],
    until: int | None,
    on_release: ReleaseCallback,
    reading: Callable[[Path], None] | None = None,
    stops: StopRequests | None = None,
    *,
    totals: RunTotals | None = None,
    allow_empty: bool = True,
    confirm: Confirm = _agree,
) -> int:
    """Group files by slot, then release every slot up to the last one; return how many were released.

    Guarantees:
        The slots that are released depend on the clock and on `until`, not on the files.
        Called again with the same files, it goes on where it stopped.
        If nothing in the files can be accepted and `allow_empty` does not say so, nothing is charged or kept; nor is
        it if `confirm` raises, which is called with the first and the last slot after the files were read.
    """
    last, first = last_slot(session, until), session.next_slot
    stops = stops or NeverStopped()
    if last < first:
        return 0
    sorter, policy = _sorter(session), session.config.people.one_cell
    door = Door(first, session.timeline.end(last))
    memory, columns = session.config.sources.memory, session.config.columns
    read = partial(GroupedFiles, files, sorter, door, policy, columns, memory=memory, progress=reading)
    with reading_files(read, stops) as grouped:
        totals = RunTotals() if totals is None else totals
        totals.add_tallies(grouped.tallies, grouped.seen, grouped.unusable)
        if not allow_empty:
            totals.check_acceptable(last - first + 1)
            _check_served(session, last)
        with stops.interruptible():
            confirm(first, last)
        with session.writer.transaction() as connection:
            replace_refused(connection, session.writer.stream.id, grouped.refused)  # accepted: with the slot's charge
        with handing_over(session.writer, last):
            for slot in range(first, last + 1):
                rows = grouped.rows(slot, session.begin(slot))
                with stops.uninterrupted():
                    on_release(session.release(rows))
    return last - first + 1


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the clock.

    Attributes:
        first: the first slot that is open for all that a source has when the clock is looked at.
        due: the last slot that is over by then; 0 if none is, or if the clock cannot be trusted.
    """

    first: int
    due: int


class Feed:
    """Accepts events as they come and closes slots as the clock says.

    Guarantees:
        An event is accepted or refused by its own words and the clock at its arrival, whatever else arrives.
        A slot is closed once its end plus the lateness is over, also if nothing arrives at all.
        No slot is closed while the clock is off by more than the limit.
    """

    def __init__(
        self,
        session: Session,
        on_release: ReleaseCallback,
        until: int | None = None,
        *,
        clock: GuardedClock | None = None,
        warn: Callable[[str], None] = lambda words: None,
        stops: StopRequests | None = None,
        totals: RunTotals | None = None,
    ) -> None:
        self.session, self.warn = session, warn
        self.totals = RunTotals() if totals is None else totals
        self.sorter = _sorter(session)
        self._on_release, self._until = on_release, until
        self._clock, self.stops = clock, stops or NeverStopped()
        self._jumped = self._warned = False

    @property
    def tallies(self) -> Counter[str]:
        """Events of this run by what became of them."""
        return self.totals.tallies

    @property
    def over(self) -> bool:
        """Whether the last wanted slot is released."""
        return self._until is not None and self.session.next_slot > self.session.timeline.closed(self._until)

    def look(self) -> Look:
        """Look at the clock, before looking at a source: what the source has by then is in time for open slots."""
        session, slots = self.session, self.session.config.slots
        with self.stops.uninterrupted():  # here a request to stop that was not heard in time is heard
            reading = self._read_clock()
        if slots.closing != "arrival" or reading.jump:
            return Look(session.next_slot, 0)
        return Look(session.next_slot, last_slot(session, self._until, reading.now))

    def door(self, look: Look) -> Door:
        """What may come in of all that a source has by now: open slots as of the look, times up to the present."""
        return Door(look.first, self._read_clock().now + self.session.config.slots.ahead + 1)

    def close_by(self, look: Look) -> None:
        """Release every slot that was over when the clock was looked at; say if nothing was acceptable so far.

        Only say: a release that fails to appear where a clock promised it would itself tell something.
        """
        if look.due >= self.session.next_slot and self.totals.refused and not self.totals.accepted and not self._warned:
            self._warned = True
            self.warn(f"none of {self.totals.refused:,} events could be accepted: {advise(self.tallies)[0]}")
        self.close(look.due)

    def close_due(self) -> None:
        """Release every slot that is over by the clock."""
        self.close_by(self.look())

    def close_by_word(self, last: int, *, allow_empty: bool, confirm: Confirm = _agree) -> None:
        """Release every slot up to the last one that the operator names, unless the sources gave nothing for them."""
        due = last - self.session.next_slot + 1
        if due > 0 and not allow_empty:
            if not self.session.intake.waits(last):
                self.totals.check_acceptable(due)
            _check_served(self.session, last)
        with self.stops.interruptible():
            confirm(self.session.next_slot, last)
        self.close(last)

    def close(self, last: int) -> None:
        """Release every slot up to the last one, empty ones too."""
        session = self.session
        while session.next_slot <= last:
            slot = session.next_slot
            listing, policy = session.begin(slot), session.config.people.one_cell
            rows = gather(slot, session.intake.portions(slot), policy, listing, len(session.cells.names))
            with self.stops.uninterrupted():
                self._on_release(session.release(rows))

    def take(
        self,
        lines: Iterable[bytes | None],
        read: Reader,
        position: ReadPosition | None = None,
        door: Door | None = None,
    ) -> Sorted:
        """Accept lines; when this returns they are kept. Without a door they arrive now, and what is due is closed."""
        if door is None:
            self.close_due()
            door = self.door(self.look())
        self.session.refresh_people()  # which the sorter sees: somebody who was listed just now is known
        events = self.sorter.sort(lines, read, door)
        self.keep(events, position)
        return events

    def keep(self, events: Sorted, position: ReadPosition | None = None) -> None:
        """Keep events that were sorted, and count what was refused."""
        with self.stops.uninterrupted():
            self.session.intake.accept(events, position)
            self.totals.add_events(events)

    def _read_clock(self) -> Reading:
        if self._clock is None:
            return Reading(self.session.writer.clock(), 0)
        reading = self._clock.read()
        if bool(reading.jump) != self._jumped:
            self._jumped = bool(reading.jump)
            ahead = f"{abs(reading.jump) / 1e6:,.1f} s {'ahead' if reading.jump > 0 else 'back'}"
            self.warn(
                f"the clock jumped {ahead}, more than slots.clock_jump allows; no slot is closed until it is back. If "
                "the new time is right, stop this process and start it again"
                if self._jumped
                else "the clock is back; slots are closed again"
            )
        return reading


def _check_served(session: Session, last: int) -> None:
    """Refuse to release slots that are all over before anybody's requirement holds: each of them would be lost."""
    with session.writer.database.read() as connection:
        since = first_registered(connection, session.writer.stream.id)
    if session.config.people.group is None and (since is None or since > last):
        raise nobody_served(session.config, session.next_slot, last, since)


def nobody_served(config: Config, first: int, last: int, since: int | None) -> EmptyRegister:
    """The error for slots in which nobody is registered."""
    when = (
        ""
        if since is None
        else f": requirements hold from slot {since:,} on ({show_instant(config.slots.timeline.start(since))})"
    )
    return EmptyRegister(
        f"nobody is registered in slots {first:,} to {last:,}{when}, since a requirement holds in slots that begin "
        "after it was stored. Nothing was charged. Publish the past with closing = 'files'; `--allow-empty` gives "
        "these slots up"
    )


def _sorter(session: Session) -> Sorter:
    session.refresh_people()
    return Sorter(session.timeline, session.cells, session.people, session.config.people.group is not None)
