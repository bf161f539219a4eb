"""Keeps the charge and the outcome of every slot in the store, in two transactions (SPEC §8).

The first keeps the full charge of every row, before anything is drawn, and what the schedule planned. The second keeps
the release and what was learned from it, and drops the slot's events. A slot that has the first and not the second is
lost: `store.recover` settles it so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.errors import CorruptState, RowMismatch
from wevent.releases.journal import Charge, Outcome
from wevent.releases.release import Decision, Release
from wevent.store.accounting import accept_with_charge, drop_events
from wevent.store.arrays import encode_array, encode_counts
from wevent.store.assignment import NOBODY, RowAssignment, assign_rows
from wevent.store.changes import postpone_changes, refuse_changes
from wevent.store.checksums import CHECKSUM, insert
from wevent.store.kept import keep_learned, read_release
from wevent.store.schema import carried, releases, row_assignments, shown, slots
from wevent.store.writer import Writer

_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, repr=False)
class SlotContext:
    """What a session wants kept with a slot, besides what the publisher knows.

    Attributes:
        assignment: who is in which row; the slot's events were put at positions by it.
        moves: people whose row is another one than in the last charged slot, with the new row, -1 for none.
        refused: numbers of the requirement changes that cannot be met in this slot.
        newest_change: the newest requirement change that was considered for this slot; later ones wait for the next
            slot. None if no change was looked for.
        arrivals: how many events of the slot never waited in the store.
        carried: where people were last seen, as bytes; None if nobody is carried.
    """

    assignment: RowAssignment = NOBODY
    moves: Sequence[tuple[int, int]] = ()
    refused: Sequence[int] = ()
    newest_change: int | None = None
    arrivals: int = 0
    carried: bytes | None = None


class StoreJournal:
    """Keeps the slots of one stream; it holds nothing but the right to write.

    Guarantees:
        Every slot is charged at most once and released at most once: the schema refuses more.
        Nothing is charged if events were put into other rows than those that are charged for their people.
        `settle` returns what was read back from the store after the commit.
        The witness knows of a slot before its release can be read.
        A slot's events are deleted in the transaction that keeps its release, and counted as released or lost in it.
        What was learned is kept in the transaction of the charge or release that it belongs to.
    """

    durable = True

    def __init__(self, writer: Writer, cells: int) -> None:
        self._writer, self._cells = writer, cells
        self._stream = writer.stream.id

    def find(self, slot: int) -> Release | None:
        """The kept release of a slot; None if there is none."""
        with self._writer.database.read() as connection:
            return read_release(connection, self._stream, slot, self._cells)

    def charge(self, charge: Charge) -> None:
        """Keep what every row is charged, what was planned, who is in which row, and which changes were refused."""
        context, offer = _context(charge.context), charge.offer
        if not context.assignment.same(assign_rows(charge.users, charge.rows, charge.groups)):
            raise RowMismatch(
                f"in slot {offer.slot} events were put into other rows than those that are charged for their people. "
                "Nothing was charged or released; open the stream anew, and report this",
                slot=offer.slot,
            )
        self._writer.check_witness()
        with self._writer.transaction() as connection:
            self._check_before(connection, offer.slot)
            connection.execute(
                slots.insert().values(
                    stream=self._stream,
                    slot=offer.slot,
                    charged=self._writer.clock(),
                    forfeited=False,
                    hold=0,
                    nullified=offer.nullified,
                    change_budget=encode_array(offer.change_budget),
                    publish_budget=encode_array(offer.publish_budget),
                )
            )
            keep_learned(connection, self._stream, offer.slot, charge.plan)
            self._keep_context(connection, offer.slot, context)
            accept_with_charge(connection, self._stream, context.arrivals)

    def settle(self, outcome: Outcome) -> Release:
        """Keep a release and what was learned, drop the slot's events, and return what the store holds now."""
        slot, last_seen = outcome.slot, _context(outcome.context).carried
        self._writer.advance(slot)
        with self._writer.transaction() as connection:
            self._insert_release(connection, outcome)
            keep_learned(connection, self._stream, slot, outcome.learned)
            if last_seen is not None:
                connection.execute(carried.delete().where(carried.c.stream == self._stream))
                connection.execute(carried.insert().values(stream=self._stream, slot=slot, last=last_seen))
        kept = self.find(slot)
        assert kept is not None  # noqa: S101
        return kept

    def forfeit(self, connection: Connection, outcomes: Sequence[Outcome], hold: int) -> None:
        """Keep slots in a row that are given up; nobody spends before the last of them plus `hold`."""
        for outcome in outcomes:
            self._keep_context(connection, outcome.slot, _context(outcome.context))
        given_up = [outcome.release for outcome in outcomes]
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
        filtered = (outcome.release for outcome in outcomes if outcome.filtered)
        insert(
            connection,
            shown,
            ("stream", "slot", "counts", "standard_error", "assumption"),
            ((stream, r.slot, encode_counts(r.counts), encode_array(r.standard_error), r.assumption) for r in filtered),
        )
        drop_events(connection, stream, given_up[-1].slot, lost=True)

    def _check_before(self, connection: Connection, slot: int) -> None:
        """A slot follows the one before it, or the store is no longer the one that this process has written."""
        before = sa.select(slots.c.slot).where(slots.c.stream == self._stream, slots.c.slot == slot - 1)
        if slot > 1 and connection.execute(before).first() is None:
            raise CorruptState(
                f"slot {slot - 1} is no longer in the store: an older copy was put in its place while the stream was "
                "published. Nothing was drawn or written; run it again"
            )

    def _keep_context(self, connection: Connection, slot: int, context: SlotContext) -> None:
        """Keep new rows, mark changes that cannot be met, and postpone changes that were stored since."""
        moves = ((self._stream, person, slot, row) for person, row in context.moves)
        insert(connection, row_assignments, ("stream", "person", "from_slot", "row"), moves)
        refuse_changes(connection, self._stream, context.refused)
        if context.newest_change is not None:
            postpone_changes(connection, self._stream, slot, context.newest_change)

    def _source(self, connection: Connection) -> int:
        """The newest published slot, 0 for none."""
        published = (releases.c.stream == self._stream) & (releases.c.decision == Decision.PUBLISHED.value)
        return connection.execute(sa.select(sa.func.max(releases.c.slot)).where(published)).scalar() or 0

    def _insert_release(self, connection: Connection, outcome: Outcome) -> None:
        release = outcome.release
        published, error = release.decision is Decision.PUBLISHED, release.error
        noisy = release if release.raw is None else release.raw
        connection.execute(
            releases.insert().values(
                stream=self._stream,
                slot=release.slot,
                released=self._writer.clock(),
                decision=release.decision.value,
                threshold=release.threshold,
                source=release.slot if published else self._source(connection),
                counts=encode_counts(noisy.counts) if published else None,
                standard_error=encode_array(noisy.standard_error) if published else None,
                variance=None if error is None else error.variance,
                squared_bias=None if error is None else error.squared_bias,
                noise=None if error is None else error.noise,
            )
        )
        if outcome.filtered:
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


def _context(given: object) -> SlotContext:
    if given is not None and not isinstance(given, SlotContext):
        raise TypeError("a stored stream takes a SlotContext, or none")
    return given or SlotContext()
