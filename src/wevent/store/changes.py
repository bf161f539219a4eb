"""Stores requirement changes, each from the first slot on that begins after it is stored.

`store.effect` says which slot that is. The clock is read while the transaction holds the right to write.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.cohorts.requirement_change import RequirementChange
from wevent.config.model import Config
from wevent.events.names import to_name
from wevent.store.checksums import update
from wevent.store.database import Database
from wevent.store.demand import move, read_demand, save_demand
from wevent.store.effect import first_slot_in_force
from wevent.store.planning import ChangeCounts, ChangePlan, ChangePolicy, KnownPeople
from wevent.store.requirements import AT_ONCE, read_latest_changes
from wevent.store.schema import requirement_changes, streams
from wevent.store.sharing import one_at_a_time
from wevent.store.witnessed_changes import count_changes
from wevent.store.writer import Clock, StreamRow

OWN = ChangePolicy()
"""What somebody sets themselves."""

MOST_AT_ONCE = 20_000
"""So many changes go into one transaction, so that it holds the right to write for about a second."""


def store_changes(
    database: Database,
    config: Config,
    stream: StreamRow,
    changes: Iterable[RequirementChange],
    clock: Clock,
    how: ChangePolicy = OWN,
    *,
    sync: bool = False,
    preview: bool = False,
) -> ChangeCounts:
    """Store what is new among changes; return how many of each kind.

    Args:
        database: the store.
        config: of the stream.
        stream: whose people they are.
        changes: in the order of storing.
        clock: read while the transaction holds the right to write.
        how: whether they come from a file, and whom they may change; who stays as they are is counted.
        sync: whether everybody who is listed and not among the changes leaves.
        preview: count only, store nothing.

    Guarantees:
        If one change is refused, none is stored. A crash leaves all or nothing of up to `MOST_AT_ONCE` changes; what it
        leaves of more is completed by storing them again.
        Requiring again what is in force or pending changes nothing, but is remembered as somebody's own if it is set.
        A file changes nobody who has set their own requirement, unless it is to overwrite it; a line that lets somebody
        leave always does.
        No change holds in a slot that was charged or had begun before it was stored, nor before the same person's
        latest one.
        The witness counts the changes before they are committed; if it cannot, none is stored.
        A change that the limits refuse raises `InvalidRequirement`, and the stream goes on as it was.
    """
    named = [(to_name(change.user), change) for change in changes]
    if not (sync or preview or len(named) > MOST_AT_ONCE):
        return _store(database, config, stream, named, clock, how)
    with database.read() as connection:  # what takes long is done without the right to write
        known = KnownPeople(connection, stream.id)
        plan = ChangePlan(connection, config, stream.id, known, clock(), how)
        if sync:
            kept = {name for name, _ in named}
            absent = [name for name in known.names if name not in kept]
            own = {name for name in absent if (past := known.pasts.get(known.names[name])) and how.leaves(past)}
            plan.stored.own += len(own)
            named += [(name, RequirementChange(name, None)) for name in absent if name not in own]
        for name, change in named:
            plan.add(name, change)
        plan.check(connection)
    stored = plan.stored
    again = plan.new + plan.confirmed
    if preview or not again:
        return stored
    stored.joined = stored.changed = stored.left = stored.returned = 0
    stored.unchanged -= len(plan.confirmed)
    for first in range(0, len(again), MOST_AT_ONCE):
        part = again[first : first + MOST_AT_ONCE]
        more = _store(database, config, stream, part, clock, how)
        stored.from_slot = (
            min(stored.from_slot or more.from_slot, more.from_slot or stored.from_slot) if first else more.from_slot
        )
        stored.add(more)
    return stored


def _store(
    database: Database,
    config: Config,
    stream: StreamRow,
    named: list[tuple[str, RequirementChange]],
    clock: Clock,
    how: ChangePolicy,
) -> ChangeCounts:
    """Store changes in one transaction."""
    with database.write() as connection:
        connection.execute(streams.update().where(streams.c.id == stream.id).values(name=stream.name))  # one at a time
        one_at_a_time(connection)
        known = KnownPeople(connection, stream.id, [name for name, _ in named])
        plan = ChangePlan(connection, config, stream.id, known, clock(), how)
        for name, change in named:
            plan.add(name, change)
        plan.check(connection)
        plan.save(connection)
        # last: the witness knows of changes before they are committed
        count_changes(connection, stream, plan.stored.total, plan.longest, plan.fingerprints)
    return plan.stored


def postpone_changes(connection: Connection, stream: int, slot: int, newest: int) -> None:
    """Let changes that were stored after those up to number `newest` were applied to a slot wait for the next slot."""
    late = (requirement_changes.c.number > newest) & (requirement_changes.c.from_slot <= slot)
    from_slot = first_slot_in_force(charged_slot=slot, begun_slot=slot)
    update(connection, requirement_changes, (requirement_changes.c.stream == stream) & late, from_slot=from_slot)


def refuse_changes(connection: Connection, stream: int, numbers: Iterable[int]) -> None:
    """Mark changes that could not be met when their slot came; the changes before them count again."""
    wanted = sorted(numbers)
    if not wanted:
        return
    for first in range(0, len(wanted), AT_ONCE):
        some = (requirement_changes.c.stream == stream) & requirement_changes.c.number.in_(
            wanted[first : first + AT_ONCE]
        )
        persons = connection.execute(sa.select(requirement_changes.c.person).where(some)).scalars().all()
        before = read_latest_changes(connection, stream, set(persons))
        update(connection, requirement_changes, some, refused=True)
        after = read_latest_changes(connection, stream, set(persons))
        old = read_demand(connection, stream)
        new = old.copy()
        for person in set(persons):
            move(new, before.get(person), after.get(person))
        gone = {key for key, number in new.items() if number < 1 and old[key] > 0}
        save_demand(connection, stream, old, {key: number for key, number in new.items() if key not in gone})
