"""Stores requirement changes, each from the first slot on that begins after it is stored.

`store.effect` says which slot that is. The clock is read while the transaction holds the right to write.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.cohorts.requirement_change import RequirementChange
from wevent.config.model import Config
from wevent.errors import InvalidRequirement
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

MOST_AT_ONCE = 20_000
"""So many changes go into one transaction, so that it holds the right to write for about a second."""


def store_changes(
    database: Database,
    config: Config,
    stream: StreamRow,
    changes: Iterable[RequirementChange],
    clock: Clock,
    policy: ChangePolicy | None = None,
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
        policy: whether they come from a file, and whom they may change; by default each is the person's own.
        sync: whether everybody who is listed and not among the changes leaves.
        preview: count only, store nothing.

    Guarantees:
        If one change is refused, none is stored. A crash leaves all or nothing of up to `MOST_AT_ONCE` changes; what it
        leaves of more is completed by storing them again.
        Requiring again what is in force or pending changes nothing, but counts as the person's own from then on if it
        is set.
        A file changes nobody who has set their own requirement, unless it is to overwrite it; a line that lets a person
        leave always does.
        No change is in force in a slot that was charged or had begun before it was stored, nor before the same
        person's latest one.
        The witness counts the changes before they are committed; if it cannot, none is stored.
        A change that names a slot, or that the limits refuse, raises `InvalidRequirement`; the stream is as before.
    """
    policy, changes = ChangePolicy() if policy is None else policy, list(changes)
    if any(change.slot is not None for change in changes):
        raise InvalidRequirement("a store decides from which slot on a change is in force; leave `slot` out")
    named = [replace(change, user=to_name(change.user)) for change in changes]
    if not (sync or preview or len(named) > MOST_AT_ONCE):
        return _store(database, config, stream, named, clock, policy)
    with database.read() as connection:  # what takes long is done without the right to write
        known = KnownPeople(connection, stream.id)
        plan = ChangePlan(connection, config, stream.id, known, clock(), policy)
        if sync:
            kept = {change.user for change in named}
            absent = [name for name in known.numbers if name not in kept]
            spared = {name for name in absent if (latest := known.latest_of(name)) and policy.spares(latest)}
            plan.counts.own += len(spared)
            named += [RequirementChange(name, None) for name in absent if name not in spared]
        for change in named:
            plan.add(change)
        plan.check(connection)
    counts = plan.counts
    again = plan.new + plan.confirmed
    if preview or not again:
        return counts
    counts.joined = counts.changed = counts.left = counts.returned = 0
    counts.unchanged -= len(plan.confirmed)
    counts.from_slot = 0
    for first in range(0, len(again), MOST_AT_ONCE):
        counts.add(_store(database, config, stream, again[first : first + MOST_AT_ONCE], clock, policy))
    return counts


def _store(
    database: Database,
    config: Config,
    stream: StreamRow,
    changes: list[RequirementChange],
    clock: Clock,
    policy: ChangePolicy,
) -> ChangeCounts:
    """Store changes in one transaction."""
    with database.write() as connection:
        connection.execute(streams.update().where(streams.c.id == stream.id).values(name=stream.name))  # one at a time
        one_at_a_time(connection)
        known = KnownPeople(connection, stream.id, [str(change.user) for change in changes])
        plan = ChangePlan(connection, config, stream.id, known, clock(), policy)
        for change in changes:
            plan.add(change)
        plan.check(connection)
        plan.save(connection)
        # last: the witness knows of changes before they are committed
        count_changes(connection, stream, plan.counts.total, plan.longest, plan.fingerprints)
    return plan.counts


def postpone_changes(connection: Connection, stream: int, slot: int, newest: int) -> None:
    """Let changes that were stored after those up to number `newest` were applied to a slot wait for the next slot."""
    late = (requirement_changes.c.number > newest) & (requirement_changes.c.from_slot <= slot)
    from_slot = first_slot_in_force(charged_slot=slot, begun_slot=slot)
    update(connection, requirement_changes, (requirement_changes.c.stream == stream) & late, from_slot=from_slot)


def refuse_changes(connection: Connection, stream: int, numbers: Iterable[int]) -> None:
    """Mark changes that could not be met when their slot came; the changes before them count again."""
    wanted = sorted(numbers)
    for first in range(0, len(wanted), AT_ONCE):
        chosen = requirement_changes.c.number.in_(wanted[first : first + AT_ONCE])
        refused = (requirement_changes.c.stream == stream) & chosen
        persons = set(connection.execute(sa.select(requirement_changes.c.person).where(refused)).scalars())
        before = read_latest_changes(connection, stream, persons)
        update(connection, requirement_changes, refused, refused=True)
        after = read_latest_changes(connection, stream, persons)
        old = read_demand(connection, stream)
        new = old.copy()
        for person in persons:
            move(new, before.get(person), after.get(person))
        gone = {key for key, number in new.items() if number < 1 and old[key] > 0}
        save_demand(connection, stream, old, {key: number for key, number in new.items() if key not in gone})
