"""A stream at work: a configuration and a store come in; slots go through, release after release.

Opening brings the publisher to where the store left it: the last kept state, what was learned until now, then every
slot since that state once more, without drawing anything. Slots that were charged and not released are lost; slots that
an older copy of the store cannot know are given up (SPEC §8).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType

from wevent.cohorts.requirement import Requirement
from wevent.config.model import Config
from wevent.errors import BudgetError, CorruptState, SlotOutOfOrder, WeventError
from wevent.events.gathering import Listing, SlotRows
from wevent.events.one_cell import Ints
from wevent.events.presence import Carry
from wevent.events.slot import Slot
from wevent.releases.publisher import Publisher
from wevent.releases.release import Release
from wevent.releases.state import forfeit, replay, restore, take_learned, to_bytes
from wevent.store.arrays import decode_integers, encode_array
from wevent.store.assignment import CurrentAssignment, KeptAssignments, RowAssignment
from wevent.store.build import GROUP, admit, found, terms_of
from wevent.store.damage import UNREADABLE, check_stream
from wevent.store.database import Database
from wevent.store.demand import check_history
from wevent.store.forfeiting import forfeit_next
from wevent.store.hearing import apply_changes
from wevent.store.intake import Intake
from wevent.store.journal import StoreJournal
from wevent.store.learning import read_learned
from wevent.store.recovery import KeptSlot, read_slots, read_state, write_state
from wevent.store.requirements import ListedPeople, count_people, newest_change_number, read_changes, read_people
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
        After an error the next call brings the publisher back from the store first, as opening anew does: whatever was
        heard or prepared for a charge that was not kept is forgotten. Nothing is half-written.
        In every slot each person's events go to the row that is charged for them, or nothing is charged.
        Changes of requirements are heard once for each slot, when it is closed (`begin`).
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
        terms = terms_of(config, clock(), shown)
        stream = open_stream(database, config.stream.name, config.fixed(), clock, witness, terms)
        self.writer = Writer(database, stream, witness, clock, terms)
        try:
            self.journal = StoreJournal(self.writer, len(self.cells.names))
            self.intake = Intake(self.writer)
            self._carry = Carry(config.people.carry) if config.people.presence == "carry" else None
            with database.read() as connection:
                check_stream(connection, stream.id, embedded=database.embedded)
                check_history(connection, config, stream.id)
                self.people = read_people(connection, stream.id)
            self.journal.seating = self._charged_seating
            self._bring_back()
            self._give_up()
            check_changes(self.writer, requirements_lost=requirements_lost)
        except BaseException:
            self.writer.close()
            raise

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
        if self._broken:
            self._bring_back()
        return self._publisher.ledger.slot

    def begin(self, slot: int) -> Listing:
        """Hear the changes of requirements of the slot that is closed next; return who counts as listed in it.

        Guarantees:
            Called again for the same slot it hears nothing more: later changes take effect in a later slot.
        """
        self._check_next(slot)
        if self._begun is None:
            with self._undone_by_errors():
                self._hear(slot, settled=False)
                self.refresh_people()
                with self.writer.database.read() as connection:
                    self._begun = self._listed_people.at(connection, slot, self.journal.asked or 0, self.people)
        return self._begun

    def release(self, rows: SlotRows) -> Release:
        """Charge, draw and keep the next slot; return what the store holds of it.

        Guarantees:
            Asked again for a slot that is over, the kept release is returned.
        """
        if rows.number < self.next_slot and (kept := self.journal.find(rows.number)) is not None:
            return kept
        self.begin(rows.number)
        with self._undone_by_errors():
            placed = self._seating()
            seen = rows.cells
            if self._carry is not None:
                seen = self._carry.rows(rows.number, rows.cells, placed.registered(rows.cells.size))
                self.journal.carried = encode_array(self._carry.state())
            self.journal.arrivals = rows.arrivals
            self._placed, publisher = placed, self._publisher
            if publisher.ledger.all_sizes.any():
                release = publisher.step(self._slot(rows, seen))
            else:
                release = publisher.skip_without_people(rows.number)
        self._begun = self._placed = None
        self._broken = publisher.ledger.slot != rows.number + 1  # somebody else released it: go on from the store
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
        slot, state = self.next_slot, to_bytes(self._publisher)
        with self.writer.transaction() as connection:
            write_state(connection, self.writer.stream.id, slot, state)

    # --- inside ----------------------------------------------------------------------------------

    _broken = False  # an error left the publisher where the store may not be
    _begun: Listing | None = None  # of the next slot, once its changes are heard
    _refused_at_first: Sequence[int] = ()  # changes of the first slot that cannot be met
    _placed: RowAssignment | None = None  # by which the events of the slot that is released were put at positions

    def _give_up(self) -> None:
        """Forfeit the slots that may have been shown and that this store does not know."""
        while self.next_slot <= self.writer.opening.last:
            hear = partial(self._hear, settled=False)
            forfeit_next(self.writer, self.journal, lambda: self._publisher, hear)
            self.keep_state()  # so that no later start replays them

    def _check_next(self, slot: int) -> None:
        if slot != self.next_slot:
            raise SlotOutOfOrder(
                f"slot {slot} came where slot {self.next_slot} was due; release the slots in between first, "
                "empty ones too. Nothing was spent.",
                slot=slot,
                expected=self.next_slot,
            )

    @contextmanager
    def _undone_by_errors(self) -> Iterator[None]:
        """Let the next call start from the store if this one fails, unless the slot was kept as lost, whole."""
        slot = self._publisher.ledger.slot
        try:
            yield
        except BaseException:
            ledger = self._publisher.ledger
            whole = self.journal.newest_lost == slot and ledger.slot == slot + 1 and not ledger.charged
            self._broken, self._begun, self._placed = not whole, None, None
            raise

    def _slot(self, rows: SlotRows, seen: Ints) -> Slot:
        """The rows by position of the register; whoever is not registered is not there."""
        places = self._seating().places(seen, len(self._publisher.members.register))
        groups = None if self.config.people.group is None else {GROUP: rows.unlisted}
        return Slot(rows.number, places, unlisted=groups)

    def _seating(self) -> RowAssignment:
        return self._seats.of(self._publisher.members)

    def _charged_seating(self) -> RowAssignment:
        """Who is charged in which row, for the journal, compared with where the slot's events were put."""
        return self._seats.checked(self._publisher.members, self._placed)

    def _hear(self, slot: int, *, settled: bool) -> None:
        """Apply the requirement changes of a slot; what cannot be met is refused, now or, if `settled`, back then."""
        stream = self.writer.stream.id
        with self.writer.database.read() as connection:
            changes = list(read_changes(connection, stream, slot)) if slot > 1 else []
            asked = newest_change_number(connection, stream)
        if slot == 1:
            if asked != self.journal.asked:  # something was stored since the stream was opened
                self._publisher = self._build(first=True)
            self.journal.refused = () if settled else self._refused_at_first
            return
        self.journal.asked = asked
        refused = apply_changes(self._publisher, changes, self.config.people.carry)
        if refused and settled:
            raise CorruptState(f"slot {slot} heard changes that cannot be met now; the store's history is not whole")
        self.journal.refused = refused

    def _bring_back(self) -> None:
        """Bring the publisher to where the store stands."""
        self._broken = False
        try:
            self._recover()
        except BaseException as error:
            self._broken = True
            if isinstance(error, UNREADABLE) and not isinstance(error, WeventError):
                raise CorruptState(
                    f"the stream cannot be brought back from what its store holds ({type(error).__name__}); "
                    "`wevent audit` looks for damage. Restore it from a whole copy"
                ) from None
            raise

    def _recover(self) -> None:
        stream, cells = self.writer.stream.id, len(self.cells.names)
        self.journal.forget_unkept()
        self._placed = self._begun = None
        self._seats, self._listed_people = CurrentAssignment(), ListedPeople(stream)
        with self.writer.database.read() as connection:
            kept = read_state(connection, stream)
        if self._carry is not None:
            self._carry = Carry(self.config.people.carry)
            if kept.carried is not None:
                self._carry.restore(decode_integers(kept.carried))
        self._publisher = self._build(first=kept.publisher is None)
        if kept.publisher is not None:
            restore(self._publisher, kept.publisher)
        with self.writer.database.read() as connection:
            take_learned(self._publisher, read_learned(connection, stream, plain=self.journal.plain))
        for number in kept.unreleased:
            self.journal.lose(number)
        first = self._publisher.ledger.slot
        with self.writer.database.read() as connection:
            past = read_slots(connection, stream, cells, first)
            row_assignments = KeptAssignments(connection, stream, first)
        if first > 1:
            row_assignments.compare(first - 1, self._seating())
        for slot in past:
            self._replay(slot, row_assignments)
        self.journal.refused = ()
        with self.writer.database.read() as connection:  # now, so that the next slot need not wait for it
            self._listed_people.at(
                connection, self.next_slot - 1, newest_change_number(connection, stream), self.people
            )

    def _replay(self, slot: KeptSlot, row_assignments: KeptAssignments) -> None:
        """Let the publisher live through a slot of the store; everybody must sit where they sat then."""
        self._hear(slot.number, settled=True)
        self._publisher.members.begin_slot()
        row_assignments.compare(slot.number, self._seating())
        if slot.charge is None:
            forfeit(self._publisher, slot.hold)
            return
        try:
            replay(self._publisher, slot.charge, slot.release)
        except BudgetError:
            raise CorruptState(
                f"the charge of slot {slot.number} is above what its windows left; the store's history is not whole, "
                "restore it from a whole copy"
            ) from None

    def _build(self, *, first: bool) -> Publisher:
        """A publisher with the people of the first slot, or one that is about to be restored."""
        asked: dict[int, Requirement] | None = None
        if first:
            with self.writer.database.read() as connection:
                self.journal.asked = newest_change_number(connection, self.writer.stream.id)
                changes = list(read_changes(connection, self.writer.stream.id, 1))
            asked, self._refused_at_first = admit(self.config, changes)
        publisher = found(self.config, self.journal, asked)
        self.journal.follow(publisher)
        return publisher
