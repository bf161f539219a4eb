"""Who asks for what since which slot: wishes come in and are kept with their history; the ones of a slot go out.

A wish takes effect in the first slot that begins after it was stored (SPEC §2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.cohorts.requirement import Dynamic, Fixed, Requirement
from wevent.store.database import Database
from wevent.store.schema import people, requirements, slots, streams
from wevent.store.writer import StreamRow


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody asks for; None is to leave. Its repr does not show the user."""

    user: str = field(repr=False)
    requirement: Requirement | None


@dataclass(frozen=True, slots=True)
class Kept:
    """A wish as it is kept; `refused` if it could not be met when its slot came."""

    number: int
    person: int
    since: int
    stored: int
    requirement: Requirement | None
    refused: bool


def keep_wishes(database: Database, stream: StreamRow, wishes: Iterable[Wish], now: int, begun_slot: int) -> int:
    """Keep what is new among wishes; return how many took effect.

    Args:
        database: the store.
        stream: whose people they are.
        wishes: in the order of asking.
        now: the time of asking.
        begun_slot: the newest slot that has begun by the clock; 0 where slots wait for the operator.

    Guarantees:
        All wishes are kept, or none; asking again for what is in force changes nothing.
        No wish changes a slot that is charged already, or that began before it was stored.
    """
    with database.write() as connection:
        connection.execute(streams.update().where(streams.c.id == stream.id).values(name=stream.name))  # one at a time
        charged = connection.execute(sa.select(sa.func.max(slots.c.slot)).where(slots.c.stream == stream.id)).scalar()
        since = 1 if charged is None else max(charged + 1, begun_slot + 1)
        known = read_people(connection, stream.id)
        asked = latest_wishes(connection, stream.id)
        number = _next_number(connection, stream.id)
        newcomers: list[dict[str, object]] = []
        rows: list[dict[str, object]] = []
        for wish in wishes:
            person = known.get(wish.user)
            if person is None:
                if wish.requirement is None:
                    continue
                person = known[wish.user] = len(known)
                newcomers.append({"stream": stream.id, "person": person, "name": wish.user})
            if asked.get(person) == wish.requirement:
                continue
            asked[person] = wish.requirement
            place = {"stream": stream.id, "number": number + len(rows), "person": person}
            rows.append({**place, "since": since, "stored": now, "refused": False, **_columns(wish.requirement)})
        for table, values in ((people, newcomers), (requirements, rows)):
            for first in range(0, len(values), 20_000):
                connection.execute(table.insert(), values[first : first + 20_000])
    return len(rows)


def read_people(connection: Connection, stream: int) -> dict[str, int]:
    """The number of everybody who was ever listed, by name."""
    order = sa.select(people.c.name, people.c.person).where(people.c.stream == stream).order_by(people.c.person)
    return dict(connection.execute(order).all())


def count_people(connection: Connection, stream: int) -> int:
    """How many were ever listed; they are numbered from 0 without gaps."""
    newest = connection.execute(sa.select(sa.func.max(people.c.person)).where(people.c.stream == stream)).scalar()
    return 0 if newest is None else newest + 1


def read_wishes(connection: Connection, stream: int, slot: int | None = None) -> Iterator[Kept]:
    """Wishes in the order of asking: all, or those that take effect in one slot."""
    order = sa.select(requirements).where(requirements.c.stream == stream).order_by(requirements.c.number)
    if slot is not None:
        order = order.where(requirements.c.since == slot)
    for row in connection.execute(order):
        terms = (row.epsilon, row.window, row.backward_epsilon, row.backward_window)
        yield Kept(row.number, row.person, row.since, row.stored, _requirement(row.kind, *terms), row.refused)


def latest_wishes(connection: Connection, stream: int) -> dict[int, Requirement | None]:
    """What everybody asked for last, refused wishes left out."""
    return {wish.person: wish.requirement for wish in read_wishes(connection, stream) if not wish.refused}


def newest_number(connection: Connection, stream: int) -> int:
    """The number of the last wish, 0 if there is none."""
    return _next_number(connection, stream) - 1


def _next_number(connection: Connection, stream: int) -> int:
    newest = sa.select(sa.func.max(requirements.c.number)).where(requirements.c.stream == stream)
    return (connection.execute(newest).scalar() or 0) + 1


def _columns(requirement: Requirement | None) -> dict[str, object]:
    none: dict[str, object] = dict.fromkeys(("epsilon", "window", "backward_epsilon", "backward_window"))
    if requirement is None:
        return {**none, "kind": "leave"}
    if isinstance(requirement, Fixed):
        return {**none, "kind": "fixed", "epsilon": requirement.units, "window": requirement.window}
    ahead, back = requirement.forward, requirement.backward
    sides = {"epsilon": ahead.units, "window": ahead.window}
    return {**sides, "backward_epsilon": back.units, "backward_window": back.window, "kind": "dynamic"}


@lru_cache(maxsize=4096)
def _requirement(
    kind: str, epsilon: int, window: int, backward_epsilon: int, backward_window: int
) -> Requirement | None:
    if kind == "leave":
        return None
    if kind == "fixed":
        return Fixed(f"{epsilon}e-9", window)
    return Dynamic((f"{epsilon}e-9", window), (f"{backward_epsilon}e-9", backward_window))
