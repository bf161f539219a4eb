"""Reports to one person what a stream keeps of their requirements, what was spent on them and what is left.

It reads the tables alone. Nothing of where or when the person was is in it: every listed row is charged, seen or not.
What is in force is what was in force in the newest charged slot; what is in force from a later slot on is pending.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.cohorts.requirement import BudgetWindow, Fixed
from wevent.config.model import Config
from wevent.reports.times import SlotTimes
from wevent.store.arrays import decode_integers
from wevent.store.database import Database
from wevent.store.requirements import StoredChange, change_statuses, find_person, last_charged, read_changes
from wevent.store.schema import UNLISTED, releases, row_assignments, slots
from wevent.store.streams import find_stream
from wevent.units import show


@dataclass(frozen=True, slots=True)
class WindowAccount:
    """What one side of a requirement that was in force leaves for the next slot.

    Attributes:
        what: the requirement, in words.
        from_slot: the slot from which on it is in force.
        first: the first slot of its window.
        last: the next slot, which ends it.
        units: what the window may hold.
        spent: what it holds so far.
        inherited: what of it was spent before the requirement held.
        free: the first slot in which it allows to spend anything.
        given_up: whether slots in it were given up after a restore, so that nothing is left.
    """

    what: str
    from_slot: int
    first: int
    last: int
    units: int
    spent: int
    inherited: int
    free: int
    given_up: bool

    @property
    def left(self) -> int:
        """What may still be spent in the next slot."""
        return 0 if self.free > self.last else max(0, self.units - self.spent)

    def sentence(self, times: SlotTimes) -> str:
        """What it says to the person."""
        until = f"nothing more is spent until slot {times.slot(self.free)}"
        if self.spent > self.units:
            account = f"its window already held {show(self.inherited)} before it began; {until}"
        else:
            account = f"spent {show(self.spent)} of {show(self.units)}"
            account += f" ({show(self.inherited)} of it before it began)" if self.inherited else ""
            account += f", left {show(self.left)}" if self.free <= self.last else f", left 0; {until}"
        given_up = ", with slots that were given up after a restore" if self.given_up else ""
        return f"{self.what}, slots {times.span(self.first, self.last)}: {account}{given_up}"


@dataclass(frozen=True, slots=True)
class PersonReport:
    """Everything that is kept of one person's requirements; each change with what became of it.

    Attributes:
        charged: the newest charged slot, 0 if there is none.
        listed: the slot from which on they were first listed.
        total: all that was spent on them since then.
        changes: with one of the words of `change_statuses`, as seen in the newest charged slot.
        windows: of what is in force and of older requirements whose windows are not over.
        times: when slots are.
    """

    charged: int
    listed: int
    total: int
    changes: list[tuple[StoredChange, str]]
    windows: list[WindowAccount]
    times: SlotTimes


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a requirement that binds in the next slot; its window, carried slots included."""

    what: str
    units: int
    window: int
    from_slot: int
    forward: bool

    def begin(self, last: int) -> int:
        """The first slot of the window that ends in a slot."""
        return max(last - self.window + 1, self.from_slot if self.forward else 1)


def read_person_report(database: Database, config: Config, name: str) -> PersonReport | None:
    """What is kept of one person, None for a person who was never listed."""
    stream, settings = find_stream(database, config.stream.name)
    with database.read() as connection:
        person = find_person(connection, stream.id, name)
        if person is None:
            return None
        changes = list(read_changes(connection, stream.id, person=person))
        listed = min((change.from_slot for change in changes), default=1)
        charged = last_charged(connection, stream.id)
        words = change_statuses(changes, charged)
        effective = [change for change, word in zip(changes, words, strict=True) if word in ("in force", "over")]
        sides = _alive(effective, charged, _end(changes, words, charged), config.people.carry)
        first = min((side.begin(charged + 1) for side in sides), default=listed)
        spends, given_up, held = _spends(connection, stream.id, person, min(first, listed), listed)
    return PersonReport(
        charged,
        listed,
        sum(units for number, units in spends.items() if number >= listed),
        list(zip(changes, words, strict=True)),
        [_window(side, charged + 1, spends, given_up, held) for side in sides],
        SlotTimes(settings),
    )


def _window(side: _Side, last: int, spends: dict[int, int], given_up: list[int], held: int) -> WindowAccount:
    begin = side.begin(last)
    inside = {number: units for number, units in spends.items() if number >= begin}
    free = max(last, held, *(number + side.window for number in given_up if number >= begin))
    rest = sum(inside.values())
    for number in sorted(inside):  # they leave the window in this order
        if rest < side.units:
            break
        rest -= inside[number]
        free = max(free, number + side.window)
    inherited = sum(units for number, units in inside.items() if number < side.from_slot)
    lost = any(number >= begin for number in given_up)
    return WindowAccount(
        side.what, side.from_slot, begin, last, side.units, sum(inside.values()), inherited, free, given_up=lost
    )


def _end(changes: list[StoredChange], words: list[str], charged: int) -> int:
    """The last slot in which what is in force now holds, as far as it is known: before the first pending change."""
    pending = [change.from_slot for change, word in zip(changes, words, strict=True) if word == "pending"]
    return min(pending, default=charged + 2) - 1


def _alive(changes: list[StoredChange], charged: int, end_of_last: int, carry: int) -> list[_Side]:
    """Sides that bind in the slot after the newest charged one."""
    found: list[_Side] = []
    slot = charged + 1
    ends = [change.from_slot - 1 for change in changes[1:]] + [end_of_last]
    for change, end in zip(changes, ends, strict=False):
        required = change.requirement
        if required is None:
            continue
        when = "in force" if end >= charged else f"until slot {end}"
        sides: list[tuple[str, BudgetWindow]]
        if isinstance(required, Fixed):
            sides = [("", required)]
        else:
            sides = [("backward ", required.backward)] if end >= slot else []
            sides.append(("forward ", required.forward))
        for name, side in sides:
            window = side.window + carry - 1
            if slot <= end + window - 1 or end >= charged:
                what = f"{name}epsilon over {side.window} slots ({when})"
                found.append(_Side(what, side.units, window, change.from_slot, name == "forward "))
    return found


def _spends(
    connection: Connection, stream: int, person: int, first: int, listed: int
) -> tuple[dict[int, int], list[int], int]:
    """What was spent on a person in each slot from the first on, the slots that were given up, and until when to wait.

    Before a person was listed they may have been counted with the unlisted people.
    """
    rows: dict[int, list[tuple[int, int]]] = {person: [], UNLISTED: []}
    table = row_assignments.c
    order = sa.select(table.person, table.from_slot, table.row).where(table.stream == stream, table.person.in_(rows))
    for number, from_slot, row in connection.execute(order.order_by(table.from_slot)):
        rows[number].append((from_slot, row))
    both = slots.outerjoin(releases, (releases.c.stream == slots.c.stream) & (releases.c.slot == slots.c.slot))
    chosen = sa.select(slots, releases.c.decision).select_from(both)
    spends: dict[int, int] = {}
    given_up: list[int] = []
    held = 0
    for record in connection.execute(chosen.where(slots.c.stream == stream, slots.c.slot >= first)):
        if record.forfeited:
            given_up.append(record.slot)
            held = max(held, record.slot + record.hold)
            continue
        row = _row(rows[UNLISTED if record.slot < listed else person], record.slot)
        if row >= 0:
            spends[record.slot] = int(decode_integers(record.change_budget)[row])
            if record.decision not in ("skipped", "nullified"):  # otherwise it was refunded
                spends[record.slot] += int(decode_integers(record.publish_budget)[row])
    return spends, given_up, held


def _row(assignments: list[tuple[int, int]], slot: int) -> int:
    """The row of a slot, -1 for none."""
    return next((row for from_slot, row in reversed(assignments) if from_slot <= slot), -1)
