"""Events that wait for their slot: sorted events come in and are kept; a slot's events go out when it closes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.errors import CorruptState
from wevent.events.gathering import Portion
from wevent.events.parquet import ACCEPTED
from wevent.events.sorting import Sorted
from wevent.store.schema import sources, tallies, waiting
from wevent.store.writer import Writer

_EVENT = np.dtype([("person", "<i4"), ("cell", "<i4"), ("offset", "<i8")])


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a file was read: its name, bytes and lines."""

    name: str
    place: int
    line: int


class Intake:
    """Accepts events for one stream.

    Guarantees:
        When `accept` returns, every event of the batch is on the disk, with the mark of its source, or none is.
        An event waits in the slot that holds its instant until that slot's release is kept.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer, self._stream = writer, writer.stream.id
        with writer.database.read() as connection:
            newest = sa.select(sa.func.max(waiting.c.batch)).where(waiting.c.stream == self._stream)
            self._batch = (connection.execute(newest).scalar() or 0) + 1

    def accept(self, events: Sorted, mark: Mark | None = None) -> None:
        """Keep a batch; what was refused is counted with it."""
        numbers: Counter[str] = Counter({kind.value: number for kind, number in events.refused.items()})
        numbers[ACCEPTED] = events.slot.size
        rows = list(self._packed(events))
        with self._writer.transaction() as connection:
            if rows:
                connection.execute(waiting.insert(), rows)
            add_tallies(connection, self._stream, numbers)
            if mark is not None:
                _keep_mark(connection, self._stream, mark)
        self._batch += 1

    def portions(self, slot: int) -> Iterator[Portion]:
        """The waiting events of a slot."""
        order = sa.select(waiting.c.events, waiting.c.strangers).where(
            waiting.c.stream == self._stream, waiting.c.slot == slot
        )
        with self._writer.database.read() as connection:
            for row in connection.execute(order.order_by(waiting.c.batch)):
                yield _unpacked(row.events, row.strangers)

    def mark(self, name: str) -> Mark:
        """How far a file was read before."""
        order = sa.select(sources.c.place, sources.c.line).where(
            sources.c.stream == self._stream, sources.c.name == name
        )
        with self._writer.database.read() as connection:
            found = connection.execute(order).first()
        return Mark(name, 0, 1) if found is None else Mark(name, found.place, found.line)

    def _packed(self, events: Sorted) -> Iterator[dict[str, object]]:
        """One row for each slot of a batch."""
        if not events.slot.size:
            return
        order = np.argsort(events.slot, kind="stable")
        numbers, starts = np.unique(events.slot[order], return_index=True)
        for slot, chosen in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
            table = np.empty(chosen.size, _EVENT)
            person = events.person[chosen]
            strangers: list[str] = []
            if (person < 0).any():
                used, which = np.unique(person[person < 0], return_inverse=True)
                strangers = [events.strangers[-1 - k] for k in used.tolist()]
                person[person < 0] = -1 - which
            table["person"], table["cell"], table["offset"] = person, events.cell[chosen], events.offset[chosen]
            yield {
                "stream": self._stream,
                "slot": slot,
                "batch": self._batch,
                "events": table.tobytes(),
                "strangers": json.dumps(strangers).encode() if strangers else None,
            }


def add_tallies(connection: Connection, stream: int, numbers: Mapping[str, int]) -> None:
    """Count more events, by kind."""
    for kind, number in numbers.items():
        if not number:
            continue
        here = (tallies.c.stream == stream) & (tallies.c.kind == kind)
        more = tallies.update().where(here).values(number=tallies.c.number + number)
        if connection.execute(more).rowcount == 0:
            connection.execute(tallies.insert().values(stream=stream, kind=kind, number=number))


def read_tallies(connection: Connection, stream: int) -> dict[str, int]:
    """How many events were accepted and refused so far, by kind."""
    order = sa.select(tallies.c.kind, tallies.c.number).where(tallies.c.stream == stream).order_by(tallies.c.kind)
    return dict(connection.execute(order).all())


def _keep_mark(connection: Connection, stream: int, mark: Mark) -> None:
    connection.execute(sources.delete().where(sources.c.stream == stream, sources.c.name == mark.name))
    connection.execute(sources.insert().values(stream=stream, name=mark.name, place=mark.place, line=mark.line))


def _unpacked(events: bytes, strangers: bytes | None) -> Portion:
    if len(events) % _EVENT.itemsize:
        raise CorruptState("events in the store are damaged; restore the store from a whole copy")
    table = np.frombuffer(events, _EVENT)
    names = [] if strangers is None else [str(name) for name in json.loads(strangers)]
    person, offset, cell = (table[name].astype(np.int64) for name in ("person", "offset", "cell"))
    return Portion(person, offset, cell, names)
