"""The durable journal: charges and releases come in, what was kept goes out (SPEC §8).

Two transactions make a slot. The first keeps the full charge of every row, before anything is drawn, and what the
schedule planned. The second keeps the release, what was learned from it, and drops the slot's events. A slot that has
the first and not the second is lost, and nothing is learned from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.budgets.ledger import Offer
from wevent.errors import CorruptState
from wevent.releases.publisher import Publisher
from wevent.releases.release import Decision, Release
from wevent.releases.state import learned, planned
from wevent.store.accounting import accept_with_charge, drop_events
from wevent.store.arrays import encode_array, encode_counts
from wevent.store.assignment import NOBODY, RowAssignment
from wevent.store.changes import postpone_changes, refuse_changes
from wevent.store.checksums import CHECKSUM, insert
from wevent.store.kept import read_release, read_seats
from wevent.store.learning import keep_learned
from wevent.store.schema import carried, releases, row_assignments, shown, slots
from wevent.store.writer import Writer

_NOTHING = np.empty(0, np.int64)


class StoreJournal:
    """Keeps the slots of one stream.

    Guarantees:
        Every slot is charged at most once and released at most once, whoever asks: the schema refuses more.
        `settle` returns what was read back from the store after the commit.
        The witness knows of a slot before its release can be read.
        A slot's events are deleted in the transaction that keeps its release, and counted as released or lost in it.
        What was learned is kept in the transaction of the charge or release that it belongs to.
    """

    durable = True

    # Set by whoever drives the publisher, before each step: `seating` tells who sits where, `refused` numbers the
    # wishes that could not be met, `asked` the last wish that was heard, `carried` is where people were last seen,
    # `arrivals` counts the slot's events that never waited in the store.

    def __init__(self, writer: Writer, cells: int) -> None:
        self._writer, self._cells = writer, cells
        self._stream = writer.stream.id
        self._publisher: Publisher | None = None
        self.seating: Callable[[], RowAssignment] = lambda: NOBODY
        self.forget_unkept()

    def forget_unkept(self) -> None:
        """Start from what the store holds: forget everything that was set or read for the next slot."""
        self._seated: dict[int, int] | None = None
        self._last_rows: object = None
        self._open: int | None = None  # charged, and not settled yet
        self._forfeited: list[Release] = []  # given up, and not written down yet
        self.newest_lost: int | None = None  # the newest slot of which it is known that it was kept as lost
        self.refused: Sequence[int] = ()
        self.asked: int | None = None
        self.carried: bytes | None = None
        self.arrivals = 0

    def follow(self, publisher: Publisher) -> None:
        """Keep what this publisher learns from now on, beside what it charges and releases."""
        self._publisher = publisher

    @property
    def plain(self) -> bool:
        """Whether the last published counts are all that the stream shows."""
        return self._publisher is None or self._publisher.unfiltered

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
        """Keep what every row is charged, what was planned, who sits where, and which wishes were refused."""
        if self._open is not None:  # an error left it behind; it cannot be lost later, when more is known
            self.lose(self._open)
        seating = self.seating()
        self._writer.check_witness()
        with self._writer.transaction() as connection:
            self._insert_slot(connection, offer.slot, offer.change_budget, offer.publish_budget, offer.nullified)
            if self._publisher is not None:
                keep_learned(connection, self._stream, offer.slot, planned(self._publisher))
            seated = self._keep_seats(connection, seating, offer.slot)
            self._keep_wishes(connection, offer.slot)
            accept_with_charge(connection, self._stream, self.arrivals)
        self._seated, self._last_rows, self.refused = seated, seating.rows, ()
        self._open, self.arrivals = offer.slot, 0

    def settle(self, release: Release) -> Release:
        """Keep a release and what was learned, drop the slot's events, and return what the store holds now."""
        self._writer.advance(release.slot)
        with self._writer.transaction() as connection:
            self._insert_release(connection, release)
            if self._publisher is not None:
                keep_learned(connection, self._stream, release.slot, learned(self._publisher, release.decision))
            if self.carried is not None:
                connection.execute(carried.delete().where(carried.c.stream == self._stream))
                connection.execute(carried.insert().values(stream=self._stream, slot=release.slot, last=self.carried))
        self.carried = self._open = None
        self.newest_lost = release.slot if release.decision is Decision.LOST else None
        return self._read_back(release.slot)

    def lose(self, slot: int) -> Release:
        """Give up a slot that was charged and never released: its charge stays, its events are lost."""
        self._writer.advance(slot)
        with self._writer.transaction() as connection:
            self._insert_release(connection, self._lost(slot))
        self._open, self.newest_lost = None, slot
        return self._read_back(slot)

    def forfeit(self, connection: Connection, slot: int, *, changed: bool) -> None:
        """Give up a slot that an older copy of this store may have shown; `keep_forfeited` writes down many at once."""
        seating = self.seating()
        self._seated = self._keep_seats(connection, seating, slot)
        if changed:
            self._keep_wishes(connection, slot)
        self._last_rows, self.refused = seating.rows, ()
        self._forfeited.append(self._lost(slot))

    def keep_forfeited(self, connection: Connection, hold: int) -> None:
        """Write down slots that were given up; nobody spends before the last of them plus `hold`."""
        given_up, self._forfeited = self._forfeited, []
        stream, now, nothing = self._stream, self._writer.clock(), encode_array(_NOTHING)
        self._check_before(connection, given_up[0].slot)
        source, lost = self._source(connection), Decision.LOST.value
        columns = ("stream", "slot", "charged", "forfeited", "hold", "nullified", "change_budget", "publish_budget")
        insert(
            connection, slots, columns, ((stream, r.slot, now, True, hold, False, nothing, nothing) for r in given_up)
        )
        insert(
            connection,
            releases,
            [column.name for column in releases.columns if column.name != CHECKSUM],
            ((stream, r.slot, now, lost, None, source, *[None] * 5) for r in given_up),
        )
        if not self.plain:
            insert(
                connection,
                shown,
                ("stream", "slot", "counts", "standard_error", "assumption"),
                (
                    (stream, r.slot, encode_counts(r.counts), encode_array(r.standard_error), r.assumption)
                    for r in given_up
                ),
            )
        drop_events(connection, stream, given_up[-1].slot, lost=True)

    def _lost(self, slot: int) -> Release:
        """What is shown in a slot of which nothing is known."""
        if self._publisher is not None:
            return self._publisher.repeat(slot)
        return Release(slot, np.zeros(self._cells, np.int64), Decision.LOST, None, np.full(self._cells, np.inf), None)

    def _read_back(self, slot: int) -> Release:
        with self._writer.database.read() as connection:
            kept = read_release(connection, self._stream, slot, self._cells)
        assert kept is not None  # noqa: S101
        return kept

    def _insert_slot(
        self, connection: Connection, slot: int, change_budget: Any, publish_budget: Any, nullified: bool
    ) -> None:
        self._check_before(connection, slot)
        connection.execute(
            slots.insert().values(
                stream=self._stream,
                slot=slot,
                charged=self._writer.clock(),
                forfeited=False,
                hold=0,
                nullified=nullified,
                change_budget=encode_array(change_budget),
                publish_budget=encode_array(publish_budget),
            )
        )

    def _check_before(self, connection: Connection, slot: int) -> None:
        """A slot follows the one before it, or the store is no longer the one that this process has written."""
        before = sa.select(slots.c.slot).where(slots.c.stream == self._stream, slots.c.slot == slot - 1)
        if slot > 1 and connection.execute(before).first() is None:
            raise CorruptState(
                f"slot {slot - 1} is no longer in the store: an older copy was put in its place while the stream was "
                "published. Nothing was drawn or written; run it again"
            )

    def _source(self, connection: Connection) -> int:
        """The newest published slot, 0 for none."""
        mine = releases.c.stream == self._stream
        newest = sa.select(sa.func.max(releases.c.slot)).where(mine, releases.c.decision == Decision.PUBLISHED.value)
        return connection.execute(newest).scalar() or 0

    def _insert_release(self, connection: Connection, release: Release) -> None:
        published, error = release.decision is Decision.PUBLISHED, release.error
        noisy = release if release.raw is None else release.raw
        source = release.slot if published else self._source(connection)
        connection.execute(
            releases.insert().values(
                stream=self._stream,
                slot=release.slot,
                released=self._writer.clock(),
                decision=release.decision.value,
                threshold=release.threshold,
                source=source,
                counts=encode_counts(noisy.counts) if published else None,
                standard_error=encode_array(noisy.standard_error) if published else None,
                variance=None if error is None else error.variance,
                squared_bias=None if error is None else error.squared_bias,
                noise=None if error is None else error.noise,
            )
        )
        if not self.plain:
            connection.execute(
                shown.insert().values(
                    stream=self._stream,
                    slot=release.slot,
                    counts=encode_counts(release.counts),
                    standard_error=encode_array(release.standard_error),
                    assumption=release.assumption,
                )
            )
        drop_events(connection, self._stream, release.slot, lost=release.decision is Decision.LOST)

    def _keep_wishes(self, connection: Connection, slot: int) -> None:
        """Mark changes that cannot be met; what was stored after they were read holds from the next slot on."""
        refuse_changes(connection, self._stream, self.refused)
        if self.asked is not None:
            postpone_changes(connection, self._stream, slot, self.asked)

    def _keep_seats(self, connection: Connection, seating: RowAssignment, slot: int) -> dict[int, int]:
        """Write down who changed rows since the last slot; return where everybody sits."""
        if self._seated is None:
            self._seated = read_seats(connection, self._stream)
        if seating.rows is self._last_rows:
            return self._seated
        now = dict(zip(seating.persons.tolist(), seating.rows.tolist(), strict=True))
        moved = [(person, row) for person, row in now.items() if self._seated.get(person, -1) != row]
        moved += [(person, -1) for person, row in self._seated.items() if row >= 0 and person not in now]
        if moved:
            places = ((self._stream, person, slot, row) for person, row in moved)
            insert(connection, row_assignments, ("stream", "person", "from_slot", "row"), places)
        return now
