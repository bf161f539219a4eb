"""A stream at work: a configuration and a store come in; slots go through, release after release.

Opening brings the publisher to where the store left it: the last kept state, what was learned until now, then every
slot since that state once more, without drawing anything. Slots that were charged and not released are lost; slots that
an older copy of the store cannot know are given up (SPEC §8).
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np
import sqlalchemy as sa

from wevent.budgets.ledger import Offer
from wevent.cohorts.requirement import Requirement
from wevent.config.model import Config
from wevent.errors import BudgetError, CorruptState, InvalidRequirement, SlotOutOfOrder
from wevent.events.gathering import SlotRows
from wevent.events.presence import Carry
from wevent.events.slot import Slot
from wevent.releases.keeping import forfeit, replay, restore, take_learned, to_bytes
from wevent.releases.publisher import Publisher
from wevent.releases.release import Release
from wevent.store.arrays import squeeze, whole
from wevent.store.database import Database
from wevent.store.founding import GROUP, found, widened
from wevent.store.intake import Intake
from wevent.store.journal import Seating, StoreJournal
from wevent.store.kept import read_releases, read_seats
from wevent.store.learning import read_learned
from wevent.store.requirements import Kept, count_people, newest_number, read_people, read_wishes
from wevent.store.schema import carried, releases, slots, states
from wevent.store.streams import open_stream
from wevent.store.witness import Witness
from wevent.store.writer import Clock, Writer

STATE_EVERY = 64
"""How many slots are replayed at most when a stream is opened."""


class Session:
    """One process publishing one stream.

    Guarantees:
        After any crash, opening again goes on with the first slot that was never charged.
        A charged slot without a release is lost: its charge stays and it is never drawn again.
        After an error from the store the session must be opened anew; nothing is half-written.
    """

    def __init__(
        self, database: Database, config: Config, witness: Witness, clock: Clock, *, shown: int | None = None
    ) -> None:
        self.config, self.timeline = config, config.slots.timeline
        self.cells = config.cells.declared()
        stream = open_stream(database, config.stream.name, config.fixed(), clock)
        self.writer = Writer(database, stream, witness, clock, shown=shown)
        try:
            self.journal = StoreJournal(self.writer, len(self.cells.names))
            self.intake = Intake(self.writer)
            self._carry = Carry(config.people.carry) if config.people.presence == "carry" else None
            with database.read() as connection:
                self.people = read_people(connection, stream.id)
            self._publisher = self._bring_back()
            self._where: tuple[int, np.ndarray[Any, np.dtype[np.int64]]] | None = None
            self.journal.seating = self._seating
            self._check_seats()
            while self.next_slot <= self.writer.restored:
                self._hear(self.next_slot, settled=False)
                self._publisher.members.begin_slot()
                self.journal.forfeit(self.next_slot)
                forfeit(self._publisher)
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
        return self._publisher.ledger.slot

    def release(self, rows: SlotRows) -> Release:
        """Charge, draw and keep the next slot; return what the store holds of it.

        Guarantees:
            Asked again for a slot that is over, the kept release is returned.
        """
        if rows.number < self.next_slot and (kept := self.journal.find(rows.number)) is not None:
            return kept
        if rows.number != self.next_slot:
            raise SlotOutOfOrder(
                f"slot {rows.number} came where slot {self.next_slot} was due; release the slots in between first, "
                "empty ones too. Nothing was spent.",
                slot=rows.number,
                expected=self.next_slot,
            )
        self._hear(rows.number, settled=False)
        seen = rows.cells if self._carry is None else self._carry.rows(rows.number, rows.cells)
        self.journal.carried = None if self._carry is None else squeeze(self._carry.state())
        publisher = self._publisher
        if publisher.ledger.all_sizes.any():
            release = publisher.step(self._slot(rows, seen))
        else:
            release = publisher.pass_over(rows.number)
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
        stream, slot = self.writer.stream.id, self.next_slot
        state = to_bytes(self._publisher)
        with self.writer.transaction() as connection:
            connection.execute(states.delete().where(states.c.stream == stream, states.c.slot <= slot))
            connection.execute(states.insert().values(stream=stream, slot=slot, state=state))

    # --- inside ----------------------------------------------------------------------------------

    def _slot(self, rows: SlotRows, seen: np.ndarray[Any, np.dtype[np.int64]]) -> Slot:
        """The rows by position of the register; whoever is not registered is not there."""
        register = self._publisher.members.register
        positions = self._positions()
        many = min(seen.size, positions.size)
        known = positions[:many]
        places = np.full(len(register), -1, np.int64)
        places[known[known >= 0]] = seen[:many][known >= 0]
        groups = None if self.config.people.group is None else {GROUP: rows.strangers}
        return Slot(rows.number, places, strangers=groups)

    def _positions(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The position of each person who is registered, -1 for the others (axes: person)."""
        members = self._publisher.members
        if self._where is None or self._where[0] != members.register.changes:
            seating = self._seating()
            positions = np.full(int(seating.persons.max(initial=-1)) + 1, -1, np.int64)
            there = np.flatnonzero(members.rows() >= 0)
            positions[seating.persons[: there.size]] = there
            self._where = (members.register.changes, positions)
        return self._where[1]

    def _seating(self) -> Seating:
        members = self._publisher.members
        rows = members.rows()
        if self._seated is None or self._seated[0] is not rows:
            there = np.flatnonzero(rows >= 0)
            users: Any = members.register.users
            persons = np.array(users, object)[there].astype(np.int64) if there.size else there
            seated = rows[there]
            if GROUP in members.groups:  # the last one, as person -1
                persons, seated = np.append(persons, -1), np.append(seated, members.groups[GROUP])
            self._seated = (rows, Seating(persons, seated))
        return self._seated[1]

    _seated: tuple[Any, Seating] | None = None

    def _hear(self, slot: int, *, settled: bool) -> None:
        """Let the wishes of a slot take effect; what cannot be met is refused, now or, if `settled`, back then."""
        stream = self.writer.stream.id
        with self.writer.database.read() as connection:
            wishes = list(read_wishes(connection, stream, slot)) if slot > 1 else []
            asked = newest_number(connection, stream)
        if slot == 1:
            if asked != self.journal.asked:  # somebody asked since the stream was opened
                self._publisher = self._build(first=True)
            return
        self.journal.asked = asked
        refused = [wish.number for wish in wishes if not wish.refused and not self._tell(wish)]
        if refused and settled:
            raise CorruptState(f"slot {slot} heard wishes that cannot be met now; the store's history is not whole")
        self.journal.refused = refused

    def _tell(self, wish: Kept) -> bool:
        """Pass a wish on; whether it could be met."""
        publisher, here = self._publisher, wish.person in self._publisher.members.register
        try:
            if wish.requirement is None:
                if here:
                    publisher.leave(wish.person)
            elif here:
                publisher.change(wish.person, self._widened(wish.requirement))
            else:
                publisher.join(wish.person, self._widened(wish.requirement))
        except (InvalidRequirement, BudgetError):
            return False
        return True

    def _widened(self, requirement: Requirement) -> Requirement:
        return widened(requirement, self.config.people.carry)

    def _bring_back(self) -> Publisher:
        stream, cells = self.writer.stream.id, len(self.cells.names)
        with self.writer.database.read() as connection:
            kept = connection.execute(
                sa.select(states.c.state).where(states.c.stream == stream).order_by(states.c.slot.desc())
            ).scalar()
            held = connection.execute(sa.select(carried.c.last).where(carried.c.stream == stream)).scalar()
            bare = [row.slot for row in connection.execute(_unreleased(stream))]
        if held is not None and self._carry is not None:
            self._carry.take(whole(held))
        self._publisher = self._build(first=kept is None)
        if kept is not None:
            restore(self._publisher, kept)
        with self.writer.database.read() as connection:
            take_learned(self._publisher, read_learned(connection, stream, plain=self.journal.plain))
        for slot in bare:
            self.journal.lose(slot)
        with self.writer.database.read() as connection:
            after = sa.select(slots).where(slots.c.stream == stream, slots.c.slot >= self.next_slot)
            charges = connection.execute(after.order_by(slots.c.slot)).all()
            released = list(read_releases(connection, stream, cells, self.next_slot, 2**62))
        if len(charges) != len(released):
            raise CorruptState("the store has charges without releases in its past; restore it from a whole copy")
        for charge, release in zip(charges, released, strict=True):
            if charge.slot != self.next_slot:
                raise CorruptState(f"slot {self.next_slot} is missing in the store; restore it from a whole copy")
            self._hear(charge.slot, settled=True)
            if charge.forfeited:
                forfeit(self._publisher)
            else:
                offer = Offer(charge.slot, whole(charge.part_1), whole(charge.part_2), charge.nullified)
                replay(self._publisher, offer, release)
        self.journal.refused = ()
        return self._publisher

    def _check_seats(self) -> None:
        """Whoever was replayed must sit where the store says, or the past is not what it was."""
        seating = self._seating()
        if self.next_slot == 1:
            return
        with self.writer.database.read() as connection:
            kept = read_seats(connection, self.writer.stream.id)
        if kept != dict(zip(seating.persons.tolist(), seating.rows.tolist(), strict=True)):
            raise CorruptState("people do not sit where the store says; its history is not whole, restore it")

    def _build(self, *, first: bool) -> Publisher:
        """A publisher with the people of the first slot, or one that is about to be restored."""
        asked: dict[int, Requirement] | None = None
        if first:
            asked = {}
            with self.writer.database.read() as connection:
                self.journal.asked = newest_number(connection, self.writer.stream.id)
                for wish in read_wishes(connection, self.writer.stream.id, 1):
                    if wish.requirement is None:
                        asked.pop(wish.person, None)
                    elif not wish.refused:
                        asked[wish.person] = wish.requirement
        publisher = found(self.config, self.journal, asked)
        self.journal.follow(publisher)
        return publisher


def _unreleased(stream: int) -> sa.Select[tuple[int]]:
    there = sa.exists().where(releases.c.stream == slots.c.stream, releases.c.slot == slots.c.slot)
    return sa.select(slots.c.slot).where(slots.c.stream == stream, ~there).order_by(slots.c.slot)
