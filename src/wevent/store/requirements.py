"""Reads who requires what since which slot, from the changes that `store.changes` keeps.

A person's changes are numbered in the order of storing. Of several that hold from the same slot on, the last one counts
that is not refused; the others are superseded and were never in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.cohorts.requirement import Dynamic, Fixed, Requirement
from wevent.store.schema import people, requirements, slots

AT_ONCE = 500
"""How many names or numbers go into one query."""

SET, IMPORT = "set", "import"
"""How a change came: stored for one person alone, or in a file with others."""

TERMS = ("kind", "epsilon", "window", "backward_epsilon", "backward_window")


@dataclass(frozen=True, slots=True)
class Kept:
    """A requirement change as it is kept; a requirement of None is to leave.

    Attributes:
        number: in the order of storing, from 1.
        person: whose it is.
        since: the slot from which on it holds.
        stored: when it was stored, in microseconds since 1970.
        requirement: what is required.
        refused: whether it could not be met when its slot came.
        charged_slot: the last charged slot when it was stored.
        begun_slot: the last slot that had begun by then, or whose files had been handed over.
        source: how it came, `SET` or `IMPORT`.
    """

    number: int
    person: int
    since: int
    stored: int
    requirement: Requirement | None
    refused: bool
    charged_slot: int
    begun_slot: int
    source: str


def read_people(connection: Connection, stream: int) -> dict[str, int]:
    """The number of everybody who was ever listed, by name."""
    order = sa.select(people.c.name, people.c.person).where(people.c.stream == stream).order_by(people.c.person)
    return dict(connection.execute(order).all())


def find_person(connection: Connection, stream: int, name: str) -> int | None:
    """The number of one person, None for somebody who was never listed."""
    order = sa.select(people.c.person).where(people.c.stream == stream, people.c.name == name)
    return connection.execute(order).scalar()


def count_people(connection: Connection, stream: int) -> int:
    """How many were ever listed; they are numbered from 0 without gaps."""
    newest = connection.execute(sa.select(sa.func.max(people.c.person)).where(people.c.stream == stream)).scalar()
    return 0 if newest is None else newest + 1


def read_changes(
    connection: Connection, stream: int, slot: int | None = None, *, person: int | None = None
) -> Iterator[Kept]:
    """Changes in the order of storing: all, those that take effect in one slot, or those of one person."""
    order = sa.select(requirements).where(requirements.c.stream == stream).order_by(requirements.c.number)
    if slot is not None:
        order = order.where(requirements.c.since == slot)
    if person is not None:
        order = order.where(requirements.c.person == person)
    for row in connection.execute(order):
        required = to_requirement(row.kind, row.epsilon, row.window, row.backward_epsilon, row.backward_window)
        before = (row.charged_slot, row.begun_slot, row.source)
        yield Kept(row.number, row.person, row.since, row.stored, required, row.refused, *before)


@dataclass(frozen=True, slots=True)
class Past:
    """One person's changes so far, refused ones left out.

    Attributes:
        requirement: the latest, None after leaving.
        since: from which slot on it holds.
        stored: when it was stored.
        number: of the latest change.
        source: how the latest change came.
        changed: whether another one was in force before, so that the person may need a row of their own.
    """

    requirement: Requirement | None
    since: int
    stored: int
    number: int
    source: str
    changed: bool = False

    def after(self, before: Past | None) -> Past:
        """The same change, made after those of another past."""
        return self if before is None else replace(self, changed=before.changed or self.since > before.since)


def read_pasts(connection: Connection, stream: int, persons: Iterable[int] | None = None) -> dict[int, Past]:
    """The pasts of some people or of everybody."""
    columns = [requirements.c[name] for name in ("person", "since", "stored", "number", "source", *TERMS)]
    order = sa.select(*columns).where(requirements.c.stream == stream, ~requirements.c.refused)
    orders = [order.order_by(requirements.c.number)]
    if persons is not None:  # in the order of the index by person
        order = order.order_by(requirements.c.person, requirements.c.number)
        wanted = sorted(persons)
        parts = [wanted[first : first + AT_ONCE] for first in range(0, len(wanted), AT_ONCE)]
        orders = [order.where(requirements.c.person.in_(part)) for part in parts]
    pasts: dict[int, Past] = {}
    for chosen in orders:
        for person, since, stored, number, source, *terms in connection.execute(chosen):
            latest = Past(to_requirement(*terms), since, stored, number, source)
            pasts[person] = latest.after(pasts.get(person))
    return pasts


def per_person(changes: Iterable[Kept]) -> list[list[Kept]]:
    """Changes of each person, people in the order of their first one."""
    found: dict[int, list[Kept]] = {}
    for change in changes:
        found.setdefault(change.person, []).append(change)
    return list(found.values())


def standing(changes: list[Kept], slot: int) -> list[str]:
    """What became of one person's changes, as seen in a slot: each is one of the words below.

    `refused` could not be met; `superseded` was overtaken before it took effect; `pending` waits for its slot;
    `in force` holds; `over` held before another one.
    """
    effective = {change.since: change.number for change in changes if not change.refused}
    past = [since for since in effective if since <= slot]
    words = []
    for change in changes:
        if change.refused:
            words.append("refused")
        elif effective[change.since] != change.number:
            words.append("superseded")
        elif change.since > slot:
            words.append("pending")
        else:
            words.append("in force" if change.since == max(past) else "over")
    return words


def last_charged(connection: Connection, stream: int) -> int:
    """The last charged slot, 0 if there is none."""
    return connection.execute(sa.select(sa.func.max(slots.c.slot)).where(slots.c.stream == stream)).scalar() or 0


def first_registered(connection: Connection, stream: int) -> int | None:
    """The first slot in which anybody is registered; None if nobody ever required anything."""
    order = sa.select(sa.func.min(requirements.c.since)).where(
        requirements.c.stream == stream, requirements.c.kind != "leave", requirements.c.refused.is_(False)
    )
    found = connection.execute(order).scalar()
    return None if found is None else int(found)


def newest_number(connection: Connection, stream: int) -> int:
    """The number of the last change, 0 if there is none."""
    newest = sa.select(sa.func.max(requirements.c.number)).where(requirements.c.stream == stream)
    return connection.execute(newest).scalar() or 0


Terms = tuple[str, int | None, int | None, int | None, int | None]
"""Kind, epsilon, window, backward epsilon and backward window, as the tables hold them."""


def to_terms(requirement: Requirement | None) -> Terms:
    """A requirement as the tables hold it."""
    if requirement is None:
        return "leave", None, None, None, None
    if isinstance(requirement, Fixed):
        return "fixed", requirement.units, requirement.window, None, None
    ahead, back = requirement.forward, requirement.backward
    return "dynamic", ahead.units, ahead.window, back.units, back.window


@lru_cache(maxsize=4096)
def to_requirement(
    kind: str, epsilon: int, window: int, backward_epsilon: int, backward_window: int
) -> Requirement | None:
    """A requirement from what the tables hold."""
    if kind == "leave":
        return None
    if kind == "fixed":
        return Fixed(f"{epsilon}e-9", window)
    return Dynamic((f"{epsilon}e-9", window), (f"{backward_epsilon}e-9", backward_window))
