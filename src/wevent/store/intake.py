"""Keeps accepted events until their slot is closed, and how far each file was read beside them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.errors import CorruptState
from wevent.events.following import ReadPosition
from wevent.events.gathering import EventBatch
from wevent.events.staging import ACCEPTED
from wevent.events.validation import AcceptedEvents
from wevent.store.accounting import add_tallies
from wevent.store.schema import sources, waiting
from wevent.store.writer import Writer

_EVENT = np.dtype([("person", "<i4"), ("cell", "<i4"), ("offset", "<i8")])


class Intake:
    """Accepts events for one stream.

    Guarantees:
        When `accept` returns, every event of the batch is on the disk, with the position in its source, or none is.
        An event waits in the slot that holds its instant until that slot's release is kept.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer, self._stream = writer, writer.stream.id
        with writer.database.read() as connection:
            newest = sa.select(sa.func.max(waiting.c.batch)).where(waiting.c.stream == self._stream)
            self._batch = (connection.execute(newest).scalar() or 0) + 1

    def accept(self, events: AcceptedEvents, position: ReadPosition | None = None) -> None:
        """Keep a batch; what was refused is counted with it."""
        numbers: Counter[str] = Counter({kind.value: number for kind, number in events.refused.items()})
        numbers[ACCEPTED] = events.slot.size
        rows = list(self._packed(events))
        with self._writer.transaction() as connection:
            if rows:
                connection.execute(waiting.insert(), rows)
            add_tallies(connection, self._stream, numbers)
            if position is not None:
                keep_position(connection, self._stream, position)
        self._batch += 1

    def batches(self, slot: int) -> Iterator[EventBatch]:
        """The waiting events of a slot."""
        order = sa.select(waiting.c.events, waiting.c.unlisted).where(
            waiting.c.stream == self._stream, waiting.c.slot == slot
        )
        with self._writer.database.read() as connection:
            for row in connection.execute(order.order_by(waiting.c.batch)):
                yield _unpacked(row.events, row.unlisted)

    def waits(self, last: int) -> bool:
        """Whether an event waits for a slot up to this one."""
        due = (waiting.c.stream == self._stream) & (waiting.c.slot <= last)
        with self._writer.database.read() as connection:
            return connection.execute(sa.select(waiting.c.slot).where(due).limit(1)).first() is not None

    def count(self) -> int:
        """How many events wait."""
        number = sa.select(sa.func.sum(waiting.c.number)).where(waiting.c.stream == self._stream)
        with self._writer.database.read() as connection:
            return int(connection.execute(number).scalar() or 0)

    def _packed(self, events: AcceptedEvents) -> Iterator[dict[str, object]]:
        """One row for each slot of a batch."""
        if not events.slot.size:
            return
        order = np.argsort(events.slot, kind="stable")
        numbers, starts = np.unique(events.slot[order], return_index=True)
        for slot, chosen in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
            table = np.empty(chosen.size, _EVENT)
            person = events.person[chosen]
            unlisted: list[str] = []
            if (person < 0).any():
                used, which = np.unique(person[person < 0], return_inverse=True)
                unlisted = [events.unlisted[-1 - k] for k in used.tolist()]
                person[person < 0] = -1 - which
            table["person"], table["cell"], table["offset"] = person, events.cell[chosen], events.offset[chosen]
            yield {
                "stream": self._stream,
                "slot": slot,
                "batch": self._batch,
                "number": chosen.size,
                "events": table.tobytes(),
                "unlisted": json.dumps(unlisted).encode() if unlisted else None,
            }


def _unpacked(events: bytes, unlisted: bytes | None) -> EventBatch:
    if len(events) % _EVENT.itemsize:
        raise CorruptState("events in the store are damaged; restore the store from a whole copy")
    table = np.frombuffer(events, _EVENT)
    names = [] if unlisted is None else [str(name) for name in json.loads(unlisted)]
    person, offset, cell = (table[name].astype(np.int64) for name in ("person", "offset", "cell"))
    return EventBatch(person, offset, cell, names)


def keep_position(connection: Connection, stream: int, position: ReadPosition) -> None:
    """Keep how far a file was read, in place of what was known of it."""
    forget_position(connection, stream, position)
    connection.execute(
        sources.insert().values(
            stream=stream,
            name=position.name,
            file=position.file,
            place=position.place,
            line=position.line,
            fingerprint=position.fingerprint,
        )
    )


def forget_position(connection: Connection, stream: int, position: ReadPosition) -> None:
    """Forget a file that was read to its end and has lost its name."""
    same = (sources.c.name == position.name) & (sources.c.file == position.file)
    connection.execute(sources.delete().where(sources.c.stream == stream, same))


def read_positions(
    connection: Connection, stream: int, *, name: str | None = None, file: str | None = None
) -> list[ReadPosition]:
    """The positions in files that were given under a name, or in files of one inode under any name."""
    order = sa.select(sources).where(sources.c.stream == stream)
    if name is not None:
        order = order.where(sources.c.name == name)
    if file is not None:
        order = order.where(sources.c.file == file)
    found = connection.execute(order.order_by(sources.c.name, sources.c.file))
    return [ReadPosition(row.name, row.file, row.place, row.line, row.fingerprint) for row in found]
