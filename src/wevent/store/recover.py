"""Brings a stream to where its store stands, after it was opened and after every error (SPEC §8).

A process may die, or an error may come, at any moment of a slot:

* Before its charge is committed, nothing has happened: the slot is released later.
* Between charge and release the slot is lost: `_lose_unreleased` settles it with the counts that were shown last. Its
  charge stays, and it is never drawn again.
* After its release is committed, the slot is over: the kept release is returned, and the publisher repeats what the
  store holds of it (`_replay`).

Slots that an older copy of the store cannot know, because they were shown after the copy was made, are given up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wevent.config.model import Config
from wevent.errors import BudgetError, CorruptState, WeventError
from wevent.releases.journal import Outcome
from wevent.store.arrays import decode_integers
from wevent.store.assignment import KeptAssignments
from wevent.store.damage import UNREADABLE
from wevent.store.journal import StoreJournal
from wevent.store.kept import KeptSlot, read_learned, read_slots, read_state
from wevent.store.requirements import newest_change_number, slots_with_changes
from wevent.store.running import RunningStream
from wevent.store.writer import Writer

GIVEN_UP_AT_ONCE = 5_000
"""How many slots are given up in one transaction."""


def recover(config: Config, writer: Writer, journal: StoreJournal, people: Mapping[str, int]) -> RunningStream:
    """The stream as its store holds it: the newest kept state, what was learned, and every slot since replayed.

    Guarantees:
        Nothing is drawn. Every charged slot has a release afterwards.
        A past that contradicts itself raises `CorruptState`.
    """
    try:
        return _recover(config, writer, journal, people)
    except UNREADABLE as error:
        if isinstance(error, WeventError):
            raise
        raise CorruptState(
            f"the stream cannot be brought back from what its store holds ({type(error).__name__}); "
            "`wevent audit` looks for damage. Restore it from a whole copy"
        ) from None


def _recover(config: Config, writer: Writer, journal: StoreJournal, people: Mapping[str, int]) -> RunningStream:
    stream, number = RunningStream(config, writer, journal), writer.stream.id
    with writer.database.read() as connection:
        kept = read_state(connection, number)
        learned = read_learned(connection, number, filtered=not stream.publisher.unfiltered)
        newest = newest_change_number(connection, number)
    if stream.carry is not None and kept.carried is not None:
        stream.carry.restore(decode_integers(kept.carried))
    if kept.publisher is None:
        stream.apply_requirement_changes(1)
    else:
        stream.publisher.restore(kept.publisher)
    stream.publisher.restore_learned(learned)
    _lose_unreleased(stream, kept.unreleased)
    _replay(stream)
    stream.listing(stream.next_slot - 1, newest, people)  # now, so that the next slot need not wait for it
    return stream


def _lose_unreleased(stream: RunningStream, unreleased: Iterable[int]) -> None:
    """Lose the slots between whose charge and release a process died."""
    for slot in unreleased:
        lost = stream.publisher.repeat(slot)
        stream.journal.settle(Outcome(lost, filtered=not stream.publisher.unfiltered))


def _replay(stream: RunningStream) -> None:
    """Repeat the slots since the kept state, with what was charged and released; compare the rows in each."""
    first, number = stream.next_slot, stream.writer.stream.id
    with stream.writer.database.read() as connection:
        past = read_slots(connection, number, len(stream.publisher.domain), first)
        assignments = KeptAssignments(connection, number, first)
    if first > 1:
        assignments.compare(first - 1, stream.assignment())
    for slot in past:
        stream.apply_requirement_changes(slot.number, replaying=True)
        stream.publisher.members.begin_slot()
        assignments.compare(slot.number, stream.assignment())
        _replay_slot(stream, slot)
    if stream.next_slot > 1:
        stream.charged = stream.assignment()


def _replay_slot(stream: RunningStream, slot: KeptSlot) -> None:
    if slot.charge is None:
        stream.publisher.forfeit(slot.hold)
        return
    try:
        stream.publisher.replay(slot.charge, slot.release)
    except BudgetError:
        raise CorruptState(
            f"the charge of slot {slot.number} is above what its windows left; the store's history is not whole, "
            "restore it from a whole copy"
        ) from None


def give_up_slots(stream: RunningStream) -> None:
    """Give up the next slots that may have been shown and that the store does not know, many in one transaction.

    Guarantees:
        A process that dies before the commit has given up nothing; the next one goes on from there.
    """
    writer, publisher, last = stream.writer, stream.publisher, stream.writer.opening.last
    with writer.transaction() as connection:  # which lets nobody store requirement changes meanwhile
        first, hold = stream.next_slot, writer.hold()
        changed = slots_with_changes(connection, writer.stream.id, first, last)
        outcomes = []
        for slot in range(first, min(first + GIVEN_UP_AT_ONCE, last + 1)):
            applied = stream.apply_requirement_changes(slot) if slot == first or slot in changed else None
            publisher = stream.publisher
            publisher.members.begin_slot()
            context = stream.context(applied)
            outcomes.append(Outcome(publisher.forfeit(hold), {}, not publisher.unfiltered, context))
            stream.charged = context.assignment
        stream.journal.forfeit(connection, outcomes, hold)
