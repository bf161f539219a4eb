"""Holds the publisher of a stream in memory, and applies the requirement changes of each slot to it.

A running stream is a function of what the store holds: `store.recover` makes it, and after any error it is thrown away
and made again. So whatever was applied or prepared for a charge that was not kept has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from wevent.budgets.admission import Admission
from wevent.cohorts.requirement import Requirement
from wevent.config.model import Config
from wevent.config.requirement_files import serves_dynamic
from wevent.errors import BudgetError, CorruptState, InvalidRequirement
from wevent.events.gathering import Listing
from wevent.events.presence import Carry
from wevent.releases.publisher import Publisher
from wevent.store.assignment import NOBODY, CurrentAssignment, RowAssignment
from wevent.store.build import build_publisher, widened
from wevent.store.journal import SlotContext, StoreJournal
from wevent.store.requirements import ListedPeople, StoredChange, group_by_person, newest_change_number, read_changes
from wevent.store.writer import Writer


@dataclass(frozen=True, slots=True)
class AppliedChanges:
    """How the requirement changes of a slot were applied.

    Attributes:
        newest: the newest change that was stored when they were read; later ones wait for the next slot.
        refused: numbers of the changes that cannot be met.
    """

    newest: int
    refused: tuple[int, ...] = ()


class RunningStream:
    """The publisher of a stream, and what a session must remember beside it from slot to slot.

    Attributes:
        publisher: the publisher, before the slot that is released next.
        carry: where people were last seen; None if they count in the slots of their events alone.
        charged: who was in which row in the last charged slot; what the store keeps of rows ends with it.
        begun: the slot whose requirement changes were applied last, which these are, and who is listed in it.
    """

    def __init__(self, config: Config, writer: Writer, journal: StoreJournal) -> None:
        self.config, self.writer, self.journal = config, writer, journal
        self.publisher: Publisher = build_publisher(config, journal, None)
        self.carry = Carry(config.people.carry) if config.people.presence == "carry" else None
        self.charged = NOBODY
        self.begun: tuple[int, AppliedChanges, Listing] | None = None
        self._first: AppliedChanges | None = None  # of the first slot, once its register was built
        self._assignment, self._listed = CurrentAssignment(), ListedPeople(writer.stream.id)

    @property
    def next_slot(self) -> int:
        """The slot that is released next."""
        return self.publisher.ledger.slot

    def assignment(self) -> RowAssignment:
        """Who is in which row now."""
        return self._assignment.of(self.publisher.members)

    def listing(self, slot: int, newest: int, people: Mapping[str, int]) -> Listing:
        """Who counts as listed in a slot, by the requirement changes up to number `newest`."""
        with self.writer.database.read() as connection:
            return self._listed.at(connection, slot, newest, people)

    def context(self, applied: AppliedChanges | None, arrivals: int = 0, carried: bytes | None = None) -> SlotContext:
        """What is kept with the next slot, after its changes were applied and its rows merged."""
        now = self.assignment()
        refused, newest = ((), None) if applied is None else (applied.refused, applied.newest)
        return SlotContext(now, now.moves_since(self.charged), refused, newest, arrivals, carried)

    def apply_requirement_changes(self, slot: int, *, replaying: bool = False) -> AppliedChanges:
        """Let the requirement changes that are in force from the next slot on take effect.

        Opening, replaying, giving up and releasing a slot all come through here. Of one person's changes the last one
        that can be met counts. The changes of the first slot make the register: if more are stored before its charge,
        it is made anew.

        Guarantees:
            A slot that was charged met all changes that are not marked as refused; if one cannot be met when it is
            replayed, this raises `CorruptState`.
        """
        with self.writer.database.read() as connection:
            newest = newest_change_number(connection, self.writer.stream.id)
            if slot == 1 and self._first is not None and self._first.newest == newest:
                return self._first
            changes = list(read_changes(connection, self.writer.stream.id, slot))
        if slot == 1:
            people, refused = first_requirements(self.config, changes)
            self.publisher = build_publisher(self.config, self.journal, people)
        else:
            refused = _last_that_can_be_met(changes, self._apply)
        if refused and replaying:
            raise CorruptState(f"slot {slot} met changes that cannot be met now; the store's history is not whole")
        applied = AppliedChanges(newest, refused)
        if slot == 1:
            self._first = applied
        return applied

    def _apply(self, stored: StoredChange) -> bool:
        """Apply one change; whether it can be met."""
        required = stored.requirement
        if required is not None:
            required = widened(required, self.config.people.carry)
        elif stored.person not in self.publisher.members.register:
            return True
        try:
            self.publisher.apply(replace(stored.change, requirement=required))
        except (InvalidRequirement, BudgetError):
            return False
        return True


def first_requirements(
    config: Config, changes: Iterable[StoredChange]
) -> tuple[dict[int, Requirement], tuple[int, ...]]:
    """What each person requires in the first slot, and the numbers of the changes that the limits refuse.

    Guarantees:
        A publisher built for the first raises for no requirement; the order of storing decides who is refused.
    """
    admission = Admission(config.protection, dynamic=serves_dynamic(config))
    if config.group is not None:
        admission.accept([widened(config.group.requirement, config.people.carry)])
    people: dict[int, Requirement] = {}

    def admit(stored: StoredChange) -> bool:
        if stored.requirement is None:
            return True
        wide = [widened(stored.requirement, config.people.carry)]
        try:
            admission.check(wide)
        except InvalidRequirement:
            return False
        admission.accept(wide)
        people[stored.person] = stored.requirement
        return True

    refused = _last_that_can_be_met(changes, admit)
    return people, refused


def _last_that_can_be_met(changes: Iterable[StoredChange], apply: Callable[[StoredChange], bool]) -> tuple[int, ...]:
    """Apply each person's last change that can be met; return the numbers of the later ones, which cannot."""
    refused: list[int] = []
    for own in group_by_person(changes):
        for change in reversed([change for change in own if not change.refused]):
            if apply(change):
                break
            refused.append(change.number)
    return tuple(refused)
