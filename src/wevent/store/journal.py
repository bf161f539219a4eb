"""The durable journal: charges and releases come in, what was kept goes out (SPEC §8).

Two transactions make a slot. The first keeps the full charge of every row, before anything is drawn. The second
keeps the release and drops the slot's events. A slot that has the first and not the second is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.budgets.ledger import Offer
from wevent.releases.release import Decision, ExpectedError, Release
from wevent.store.arrays import real, squeeze, whole
from wevent.store.schema import carried, releases, requirements, seats, slots, waiting
from wevent.store.writer import Writer

_NOBODY = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Seating:
    """Person and ledger row of everybody who is registered (axes: person)."""

    persons: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]


class StoreJournal:
    """Keeps the slots of one stream.

    Guarantees:
        Every slot is charged at most once and released at most once, whoever asks: the schema refuses more.
        `settle` returns what was read back from the store after the commit.
        The witness knows of a slot before its release can be read.
        A slot's events are deleted in the transaction that keeps its release.
    """

    durable = True

    # Set by whoever drives the publisher, before each step: `seating` tells who sits where, `refused` numbers the
    # wishes that could not be met, `asked` the last wish that was heard, `carried` is where people were last seen.

    def __init__(self, writer: Writer, cells: int) -> None:
        self._writer, self._cells = writer, cells
        self._stream = writer.stream.id
        self._seated: dict[int, int] | None = None
        self._last_rows: object = None
        self.seating: Callable[[], Seating] = lambda: Seating(_NOBODY, _NOBODY)
        self.refused: Sequence[int] = ()
        self.asked: int | None = None
        self.carried: bytes | None = None

    def find(self, slot: int) -> Release | None:
        """The kept release; a slot that was charged and never released is lost from now on."""
        with self._writer.database.read() as connection:
            found = read_release(connection, self._stream, slot, self._cells)
            charged = connection.execute(
                sa.select(slots.c.slot).where(slots.c.stream == self._stream, slots.c.slot == slot)
            ).first()
        if found is None and charged is not None:
            return self.lose(slot)
        return found

    def charge(self, offer: Offer) -> None:
        """Keep what every row is charged, who sits where, and which wishes were refused."""
        seating = self.seating()
        with self._writer.transaction() as connection:
            self._insert_slot(connection, offer.slot, offer.part_1, offer.part_2, offer.nullified, forfeited=False)
            seated = self._keep_seats(connection, seating, offer.slot)
            self._keep_wishes(connection, offer.slot)
        self._seated, self._last_rows, self.refused = seated, seating.rows, ()

    def settle(self, release: Release) -> Release:
        """Keep a release, drop the slot's events, and return what the store holds now."""
        self._writer.witness.advance(release.slot, self._writer.epoch)
        with self._writer.transaction() as connection:
            self._insert_release(connection, release)
            if self.carried is not None:
                connection.execute(carried.delete().where(carried.c.stream == self._stream))
                connection.execute(carried.insert().values(stream=self._stream, slot=release.slot, last=self.carried))
        self.carried = None
        return self._read_back(release.slot)

    def lose(self, slot: int) -> Release:
        """Give up a slot that was charged and never released: its charge stays, its events are dropped."""
        self._writer.witness.advance(slot, self._writer.epoch)
        with self._writer.transaction() as connection:
            self._insert_release(connection, _lost(slot, self._cells))
        return self._read_back(slot)

    def forfeit(self, slot: int) -> None:
        """Give up a slot that an older copy of this store may have shown."""
        seating = self.seating()
        with self._writer.transaction() as connection:
            self._insert_slot(connection, slot, _NOBODY, _NOBODY, nullified=False, forfeited=True)
            seated = self._keep_seats(connection, seating, slot)
            self._keep_wishes(connection, slot)
            self._insert_release(connection, _lost(slot, self._cells))
        self._seated, self._last_rows, self.refused = seated, seating.rows, ()

    def _read_back(self, slot: int) -> Release:
        with self._writer.database.read() as connection:
            kept = read_release(connection, self._stream, slot, self._cells)
        assert kept is not None  # noqa: S101
        return kept

    def _insert_slot(
        self, connection: Connection, slot: int, part_1: Any, part_2: Any, nullified: bool, *, forfeited: bool
    ) -> None:
        connection.execute(
            slots.insert().values(
                stream=self._stream,
                slot=slot,
                charged=self._writer.clock(),
                forfeited=forfeited,
                nullified=nullified,
                part_1=squeeze(part_1),
                part_2=squeeze(part_2),
            )
        )

    def _insert_release(self, connection: Connection, release: Release) -> None:
        published, error = release.decision is Decision.PUBLISHED, release.error
        mine = releases.c.stream == self._stream
        newest = sa.select(sa.func.max(releases.c.slot)).where(mine, releases.c.decision == Decision.PUBLISHED.value)
        source = release.slot if published else connection.execute(newest).scalar() or 0
        connection.execute(
            releases.insert().values(
                stream=self._stream,
                slot=release.slot,
                released=self._writer.clock(),
                decision=release.decision.value,
                threshold=release.threshold,
                source=source,
                counts=squeeze(release.counts) if published else None,
                standard_error=squeeze(release.standard_error) if published else None,
                variance=None if error is None else error.variance,
                squared_bias=None if error is None else error.squared_bias,
                noise=None if error is None else error.noise,
            )
        )
        connection.execute(waiting.delete().where(waiting.c.stream == self._stream, waiting.c.slot <= release.slot))

    def _keep_wishes(self, connection: Connection, slot: int) -> None:
        """Mark wishes that cannot be met; who asked after this slot had begun is served from the next one on."""
        mine = requirements.c.stream == self._stream
        for first in range(0, len(self.refused), 500):
            some = requirements.c.number.in_(list(self.refused[first : first + 500]))
            connection.execute(requirements.update().where(mine, some).values(refused=True))
        if self.asked is not None:
            late = (requirements.c.number > self.asked) & (requirements.c.since <= slot)
            connection.execute(requirements.update().where(mine, late).values(since=slot + 1))

    def _keep_seats(self, connection: Connection, seating: Seating, slot: int) -> dict[int, int]:
        """Write down who changed rows since the last slot; return where everybody sits."""
        if self._seated is None:
            self._seated = read_seats(connection, self._stream)
        if seating.rows is self._last_rows:
            return self._seated
        now = dict(zip(seating.persons.tolist(), seating.rows.tolist(), strict=True))
        moved = [(person, row) for person, row in now.items() if self._seated.get(person, -1) != row]
        moved += [(person, -1) for person, row in self._seated.items() if row >= 0 and person not in now]
        if moved:
            mark = "?, ?, ?, ?" if self._writer.database.embedded else "%s, %s, %s, %s"
            words = f'INSERT INTO seats (stream, since, person, "row") VALUES ({mark})'  # noqa: S608
            connection.exec_driver_sql(words, [(self._stream, slot, person, row) for person, row in moved])
        return now


def read_seats(connection: Connection, stream: int) -> dict[int, int]:
    """The row in which everybody sits by the newest slot; without those who sit nowhere."""
    order = sa.select(seats.c.person, seats.c.row).where(seats.c.stream == stream).order_by(seats.c.since)
    found: dict[int, int] = dict(connection.execute(order).all())
    return {person: row for person, row in found.items() if row >= 0}


def read_release(connection: Connection, stream: int, slot: int, cells: int) -> Release | None:
    """The release of a slot, with the counts that it repeats; None if there is none."""
    return next(read_releases(connection, stream, cells, slot, slot), None)


def read_releases(
    connection: Connection, stream: int, cells: int, first: int, last: int
) -> Any:  # an iterator of releases, oldest first
    """Releases of a range of slots, each with the counts that it repeats."""
    wanted = sa.select(releases).where(releases.c.stream == stream, releases.c.slot.between(first, last))
    source, counts, error = -1, _NOBODY, np.empty(0)
    for kept in connection.execute(wanted.order_by(releases.c.slot)):
        if kept.source != source:
            source = kept.source
            counts, error = _published(connection, stream, source, cells, kept)
        parts = None if kept.noise is None else ExpectedError(kept.variance, kept.squared_bias, kept.noise)
        yield Release(kept.slot, counts, Decision(kept.decision), kept.threshold, error, parts)


def _published(
    connection: Connection, stream: int, source: int, cells: int, kept: Any
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    if source == 0:
        counts, error = np.zeros(cells, np.int64), np.full(cells, np.inf)
    else:
        if kept.slot != source:
            where = (releases.c.stream == stream) & (releases.c.slot == source)
            kept = connection.execute(sa.select(releases.c.counts, releases.c.standard_error).where(where)).one()
        counts, error = whole(kept.counts), real(kept.standard_error)
    counts.flags.writeable = error.flags.writeable = False
    return counts, error


def _lost(slot: int, cells: int) -> Release:
    return Release(slot, np.zeros(cells, np.int64), Decision.LOST, None, np.full(cells, np.inf), None)
