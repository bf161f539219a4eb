"""Releases the slots of a stream in a store, one after the other.

`store.recover` brings a stream back when it is opened and after every error; `store.running` applies requirement
changes; the publisher charges and draws; `store.journal` keeps what it hands over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from wevent.config.model import Config
from wevent.errors import SlotOutOfOrder
from wevent.events.gathering import Listing, SlotCells
from wevent.events.slot import Slot
from wevent.releases.publisher import Publisher
from wevent.releases.release import Release
from wevent.store.arrays import encode_array
from wevent.store.build import GROUP, opening_terms
from wevent.store.damage import check_stream
from wevent.store.database import Database
from wevent.store.demand import check_history
from wevent.store.intake import Intake
from wevent.store.journal import StoreJournal
from wevent.store.kept import write_state
from wevent.store.recover import give_up_slots, recover
from wevent.store.requirements import count_people, read_people
from wevent.store.running import RunningStream
from wevent.store.streams import open_stream
from wevent.store.witness import Witness
from wevent.store.witnessed_changes import check_changes
from wevent.store.writer import Clock, Writer

STATE_EVERY = 64
"""How many slots are replayed at most when a stream is opened."""


class Session:
    """One process publishing one stream.

    Guarantees:
        After any crash, opening again goes on with the first slot that was never charged.
        A charged slot without a release is lost: its charge stays and it is never drawn again.
        After an error the next call recovers the stream from the store, as opening does: what was applied or prepared
        for a charge that was not kept has no effect. Nothing is half-written.
        In every slot each person's events go to the row that is charged for them, or nothing is charged.
        Requirement changes are applied once for each slot, when it is closed (`begin`).
    """

    def __init__(
        self,
        database: Database,
        config: Config,
        witness: Witness,
        clock: Clock,
        *,
        shown: int | None = None,
        requirements_lost: bool = False,
    ) -> None:
        self.config, self.timeline = config, config.slots.timeline
        self.cells = config.cells.declared()
        terms = opening_terms(config, clock(), shown)
        stream = open_stream(database, config.stream.name, config.fixed(), clock, witness, terms)
        self.writer = Writer(database, stream, witness, clock, terms)
        try:
            self.journal, self.intake = StoreJournal(self.writer, len(self.cells.names)), Intake(self.writer)
            with database.read() as connection:
                check_stream(connection, stream.id, embedded=database.embedded)
                check_history(connection, config, stream.id)
                self.people = read_people(connection, stream.id)
            while self.next_slot <= self.writer.opening.last:
                give_up_slots(self._recovered())
                self.keep_state()  # so that no later start replays them
            check_changes(self.writer, requirements_lost=requirements_lost)
        except BaseException:
            self.writer.close()
            raise

    _stream: RunningStream | None = None  # None until it is recovered from the store: at first, and after an error

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let other processes in."""
        self.writer.close()

    @property
    def next_slot(self) -> int:
        """The slot that is released next."""
        return self._recovered().next_slot

    def begin(self, slot: int) -> Listing:
        """Apply the requirement changes of the slot that is closed next; return who counts as listed in it.

        Guarantees:
            Called again for the same slot it applies nothing more: later changes take effect in a later slot.
        """
        if slot != self.next_slot:
            raise SlotOutOfOrder(
                f"slot {slot} came where slot {self.next_slot} was due; release the slots in between first, "
                "empty ones too. Nothing was spent.",
                slot=slot,
                expected=self.next_slot,
            )
        begun = self._recovered().begun
        if begun is None or begun[0] != slot:
            with self._recovered_after_errors() as stream:
                applied = stream.apply_requirement_changes(slot)
                self.refresh_people()
                begun = stream.begun = slot, applied, stream.listing(slot, applied.newest, self.people)
        return begun[2]

    def release(self, rows: SlotCells) -> Release:
        """Charge, draw and keep the next slot; return what the store holds of it.

        Guarantees:
            The second call for a slot returns the kept release.
        """
        if rows.number < self.next_slot and (kept := self.journal.find(rows.number)) is not None:
            return kept
        self.begin(rows.number)
        with self._recovered_after_errors() as stream:
            release = self._release(stream, rows)
        if stream.next_slot != rows.number + 1:  # another process released it: continue from the store
            self._stream = None
        if rows.number % STATE_EVERY == 0:
            self.keep_state()
        return release

    def refresh_people(self) -> None:
        """Learn of people who were listed since the session began."""
        with self.writer.database.read() as connection:
            if count_people(connection, self.writer.stream.id) != len(self.people):
                self.people.update(read_people(connection, self.writer.stream.id))

    def keep_state(self) -> None:
        """Keep the publisher as it stands, so that fewer slots have to be replayed."""
        slot, state = self.next_slot, self._publisher.to_bytes()
        with self.writer.transaction() as connection:
            write_state(connection, self.writer.stream.id, slot, state)

    def _release(self, stream: RunningStream, rows: SlotCells) -> Release:
        publisher, cells, carried = stream.publisher, rows.cells, None
        publisher.members.begin_slot()  # merges rows, so that the assignment is the one that is charged
        assignment = stream.assignment()
        if stream.carry is not None:
            cells = stream.carry.cells(rows.number, rows.cells, assignment.registered(rows.cells.size))
            carried = encode_array(stream.carry.state())
        applied = None if stream.begun is None else stream.begun[1]
        context = stream.context(applied, rows.arrivals, carried)
        if publisher.ledger.all_sizes.any():
            places = assignment.places(cells, len(publisher.members.register))
            unlisted = None if self.config.people.group is None else {GROUP: rows.unlisted}
            release = publisher.step(Slot(rows.number, places, unlisted=unlisted), context)
        else:
            release = publisher.skip_without_people(rows.number, context)
        stream.charged = assignment
        return release

    @property
    def _publisher(self) -> Publisher:
        return self._recovered().publisher

    def _recovered(self) -> RunningStream:
        """The stream in memory, brought back from the store if it is not there."""
        if self._stream is None:
            self._stream = recover(self.config, self.writer, self.journal, self.people)
        return self._stream

    @contextmanager
    def _recovered_after_errors(self) -> Iterator[RunningStream]:
        """Let the next call recover the stream from the store if this one fails."""
        stream, self._stream = self._recovered(), None  # back only if nothing interrupts, wherever it comes
        yield stream
        self._stream = stream
