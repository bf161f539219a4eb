"""From sources to releases: files, a growing file or a pipe come in, slots are closed by a clock and released.

In `files` streams everything is grouped first, and nothing waits in the store. In `arrival` and `operator` streams
every event is kept before it counts as accepted, and waits there until the clock, or the operator, closes its slot.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from wevent.errors import InvalidSetting, Unreadable
from wevent.events.files import GroupedFiles, find_files
from wevent.events.formats import Format, Reader, line_reader
from wevent.events.gathering import gather
from wevent.events.lines import Batch, Lines
from wevent.events.sorting import Door, Sorted, Sorter
from wevent.releases.release import Release
from wevent.store.intake import Mark, add_tallies
from wevent.store.session import Session

MOST_SLOTS = 1_000_000
"""More slots than this in one go are more likely a wrong year than a wish."""

Told = Callable[[Release], None]
"""Called with every release, as it was read back from the store."""


def last_slot(session: Session, until: int | None) -> int:
    """The last slot that may be released: by the operator's word, or by the clock; never by an event."""
    now = session.writer.clock()
    slots = session.config.slots
    closed = session.timeline.closed(now, slots.lateness if slots.closing == "arrival" else 0)
    if until is not None:
        closed = min(closed, session.timeline.closed(until))
    elif slots.closing == "operator":
        return 0
    if closed - session.next_slot >= MOST_SLOTS:
        raise InvalidSetting(
            f"{closed - session.next_slot + 1:,} slots are due, and at most {MOST_SLOTS:,} are released in one go; "
            "say where to stop (`--until`)"
        )
    return closed


def publish_files(
    session: Session,
    files: Sequence[Path],
    until: int | None,
    told: Told,
    reading: Callable[[Path], None] | None = None,
) -> int:
    """Group files by slot, then release every slot up to the last one; return how many were released.

    Guarantees:
        The slots that are released depend on the clock and on `until`, not on the files.
        Called again with the same files, it goes on where it stopped.
    """
    last, first = last_slot(session, until), session.next_slot
    if last < first:
        return 0
    sorter, policy = _sorter(session), session.config.people.one_cell
    door = Door(first, session.timeline.end(last))
    memory, columns = session.config.sources.memory, session.config.columns
    with GroupedFiles(files, sorter, door, policy, columns, memory=memory, progress=reading) as grouped:
        with session.writer.transaction() as connection:
            add_tallies(connection, session.writer.stream.id, grouped.tallies)
        for slot in range(first, last + 1):
            told(session.release(grouped.rows(slot)))
    return last - first + 1


class Feed:
    """Accepts events as they come and closes slots as the clock says.

    Guarantees:
        An event is accepted or refused by its own words and the clock at its arrival, whatever else arrives.
        A slot is closed once its end plus the lateness is over, also if nothing arrives at all.
    """

    def __init__(self, session: Session, told: Told, until: int | None = None) -> None:
        self.session, self._told = session, told
        self._until = until
        self._sorter = _sorter(session)

    @property
    def over(self) -> bool:
        """Whether the last wanted slot is released."""
        return self._until is not None and self.session.next_slot > self.session.timeline.closed(self._until)

    def close_due(self) -> None:
        """Release every slot that is over by the clock."""
        if self.session.config.slots.closing == "arrival":
            self.close(last_slot(self.session, self._until))

    def close(self, last: int) -> None:
        """Release every slot up to the last one, empty ones too."""
        session = self.session
        while session.next_slot <= last:
            slot = session.next_slot
            session.refresh_people()
            policy, people, domain = session.config.people.one_cell, len(session.people), len(session.cells.names)
            self._told(session.release(gather(slot, session.intake.portions(slot), policy, people, domain)))

    def take(self, lines: Iterable[bytes | None], read: Reader, mark: Mark | None = None) -> Sorted:
        """Accept lines at the present moment; when this returns they are kept."""
        self.close_due()
        events = self._sorter.sort(lines, read, self._door())
        self.session.intake.accept(events, mark)
        return events

    def _door(self) -> Door:
        slots, now = self.session.config.slots, self.session.writer.clock()
        first = self.session.next_slot
        if slots.closing == "arrival":
            first = max(first, self.session.timeline.closed(now, slots.lateness) + 1)
        return Door(first, now + slots.ahead + 1)


def accept_files(feed: Feed, files: Sequence[Path], reading: Callable[[Path], None] | None = None) -> None:
    """Accept whole files; one that was accepted before is read on from where that stopped."""
    for path, kind in find_files(files):
        if reading is not None:
            reading(path)
        if kind == "parquet":
            accept_parquet(feed, path)
            continue
        with path.open("rb") as file:
            _accept(feed, file, kind, str(path.resolve()), ends=True)


def accept_parquet(feed: Feed, path: Path) -> None:
    """Accept a Parquet file, in batches that DuckDB sorted into slots."""
    session = feed.session
    columns, memory = session.config.columns, session.config.sources.memory
    feed.close_due()
    with GroupedFiles(
        [path], feed._sorter, feed._door(), session.config.people.one_cell, columns, memory=memory
    ) as grouped:
        with session.writer.transaction() as connection:
            add_tallies(connection, session.writer.stream.id, grouped.refused)
        for slot in grouped.slots:
            for portion in grouped.portions(slot):
                numbers = np.full(portion.person.size, slot, np.int64)
                events = Sorted(
                    numbers, portion.person, portion.offset, portion.cell, list(portion.strangers), Counter()
                )
                session.intake.accept(events)


def follow(feed: Feed, path: Path, kind: Format, pause: float = 0.2) -> None:
    """Accept what is written to a growing file, until the last wanted slot is released."""
    with path.open("rb") as file:
        for _ in _accepting(feed, file, kind, str(path.resolve())):
            if feed.over:
                return
            feed.close_due()
            time.sleep(pause)
            if path.stat().st_size < file.tell():
                raise Unreadable(f"{path}: the file became shorter while it was followed; start again on the new one")


def pipe(feed: Feed, file: BinaryIO, kind: Format) -> None:
    """Accept everything that comes through a pipe, to its end."""
    _accept(feed, file, kind, None, ends=True)


def _accept(feed: Feed, file: BinaryIO, kind: Format, name: str | None, *, ends: bool) -> None:
    for _ in _accepting(feed, file, kind, name, ends=ends):
        return


def _accepting(feed: Feed, file: BinaryIO, kind: Format, name: str | None, *, ends: bool = False) -> Iterator[None]:
    """Accept all lines there are; pause; accept those that were written since; and so on."""
    columns, label = feed.session.config.columns, name or "standard input"
    mark = Mark("", 0, 1) if name is None else feed.session.intake.mark(name)
    read: Reader | None = None
    if name is not None and Path(name).stat().st_size < mark.place:
        raise Unreadable(f"{name}: the file is shorter than what was read of it before; give the new one another name")
    if kind == "csv" and mark.place:
        read = line_reader(kind, columns, file.readline().rstrip(b"\r\n"), label)
        file.seek(mark.place)
    elif mark.place:
        file.seek(mark.place)
    lines = Lines(file, place=mark.place, number=mark.line)
    while True:
        for batch in _all(lines, ends=ends):
            content = batch.lines
            if read is None:
                read = line_reader(kind, columns, content[0] if kind == "csv" else None, label)
                content = content[1:] if kind == "csv" else content
            here = None if name is None else Mark(name, batch.place, batch.number + len(batch.lines))
            feed.take(content, read, here)
        yield


def _all(lines: Lines, *, ends: bool) -> Iterator[Batch]:
    yield from lines.read()
    if ends and lines.rest:
        yield lines.finish()


def _sorter(session: Session) -> Sorter:
    session.refresh_people()
    return Sorter(session.timeline, session.cells, session.people, session.config.people.group is not None)
