"""Reads who requires what from which slot on, from the changes that `store.changes` stores.

A person's changes are numbered in the order of storing. Of several that take effect in the same slot, the last one
counts that is not refused; the others are superseded and were never in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.cohorts.requirement import Dynamic, Fixed, Requirement
from wevent.cohorts.requirement_change import RequirementChange
from wevent.events.gathering import Listing
from wevent.store.schema import people, requirement_changes, slots

AT_ONCE = 500
"""How many names or numbers go into one query."""

SET, IMPORT = "set", "import"
"""How a change came: stored for one person alone, or in a file with others."""

TERMS = ("kind", "epsilon", "window", "backward_epsilon", "backward_window")

_columns = requirement_changes.c


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A requirement change as it is stored.

    Attributes:
        number: in the order of storing, from 1.
        change: what is required and from which slot on; its user is the person's number, its slot is never None.
        stored: when it was stored, in microseconds since 1970.
        source: how it came, `SET` or `IMPORT`.
        refused: whether it could not be met when its slot came.
        charged_slot: the last charged slot when it was stored.
        begun_slot: the last slot that had begun by then.
    """

    number: int
    change: RequirementChange
    stored: int
    source: str
    refused: bool
    charged_slot: int
    begun_slot: int

    @property
    def person(self) -> int:
        """Whose it is."""
        return self.change.user  # type: ignore[return-value]

    @property
    def requirement(self) -> Requirement | None:
        """What is required; None if the person leaves."""
        return self.change.requirement

    @property
    def from_slot(self) -> int:
        """The first slot in which it is in force."""
        return self.change.slot  # type: ignore[return-value]


def read_people(connection: Connection, stream: int) -> dict[str, int]:
    """The number of everybody who was ever listed, by name."""
    order = sa.select(people.c.name, people.c.person).where(people.c.stream == stream).order_by(people.c.person)
    return dict(connection.execute(order).all())


def find_person(connection: Connection, stream: int, name: str) -> int | None:
    """The number of one person, None for a person who was never listed."""
    order = sa.select(people.c.person).where(people.c.stream == stream, people.c.name == name)
    return connection.execute(order).scalar()


def count_people(connection: Connection, stream: int) -> int:
    """How many were ever listed; they are numbered from 0 without gaps."""
    newest = connection.execute(sa.select(sa.func.max(people.c.person)).where(people.c.stream == stream)).scalar()
    return 0 if newest is None else newest + 1


def read_changes(
    connection: Connection, stream: int, slot: int | None = None, *, person: int | None = None
) -> Iterator[StoredChange]:
    """Changes in the order of storing: all, those that take effect in one slot, or those of one person."""
    order = sa.select(requirement_changes).where(_columns.stream == stream).order_by(_columns.number)
    if slot is not None:
        order = order.where(_columns.from_slot == slot)
    if person is not None:
        order = order.where(_columns.person == person)
    return map(to_stored_change, connection.execute(order))


def to_stored_change(row: Sequence[Any]) -> StoredChange:
    """A requirement change from a row of its table, all columns in their order."""
    _, number, person, from_slot, stored, charged_slot, begun_slot, *terms, refused, source, _ = row
    change = RequirementChange(person, to_requirement(*terms), from_slot)
    return StoredChange(number, change, stored, source, bool(refused), charged_slot, begun_slot)


@dataclass(frozen=True, slots=True)
class LatestChange:
    """One person's changes so far, refused ones left out.

    Attributes:
        requirement: the latest, None after leaving.
        from_slot: from which slot on it is in force.
        stored: when it was stored.
        number: of the latest change.
        source: how the latest change came.
        changed: whether another one was in force before, so that the person may need a row of their own.
    """

    requirement: Requirement | None
    from_slot: int
    stored: int
    number: int
    source: str
    changed: bool = False

    def after(self, before: LatestChange | None) -> LatestChange:
        """The same change, made after another one of the same person."""
        return self if before is None else replace(self, changed=before.changed or self.from_slot > before.from_slot)


def read_latest_changes(
    connection: Connection, stream: int, persons: Iterable[int] | None = None
) -> dict[int, LatestChange]:
    """The latest change of some people or of everybody, by person."""
    columns = [_columns[name] for name in ("person", "from_slot", "stored", "number", "source", *TERMS)]
    order = sa.select(*columns).where(_columns.stream == stream, ~_columns.refused)
    orders = [order.order_by(_columns.number)]
    if persons is not None:  # in the order of the index by person
        order = order.order_by(_columns.person, _columns.number)
        wanted = sorted(persons)
        parts = [wanted[first : first + AT_ONCE] for first in range(0, len(wanted), AT_ONCE)]
        orders = [order.where(_columns.person.in_(part)) for part in parts]
    latest_changes: dict[int, LatestChange] = {}
    for chosen in orders:
        for person, from_slot, stored, number, source, *terms in connection.execute(chosen):
            latest = LatestChange(to_requirement(*terms), from_slot, stored, number, source)
            latest_changes[person] = latest.after(latest_changes.get(person))
    return latest_changes


def group_by_person(changes: Iterable[StoredChange]) -> list[list[StoredChange]]:
    """Changes of each person, people in the order of their first one."""
    found: dict[int, list[StoredChange]] = {}
    for change in changes:
        found.setdefault(change.person, []).append(change)
    return list(found.values())


def change_statuses(changes: list[StoredChange], slot: int) -> list[str]:
    """What became of one person's changes, as seen in a slot: each is one of the words below.

    `refused` could not be met; `superseded` was overtaken before it took effect; `pending` waits for its slot;
    `in force` is in force; `over` was in force before another one.
    """
    effective = {change.from_slot: change.number for change in changes if not change.refused}
    past = [from_slot for from_slot in effective if from_slot <= slot]
    words = []
    for change in changes:
        if change.refused:
            words.append("refused")
        elif effective[change.from_slot] != change.number:
            words.append("superseded")
        elif change.from_slot > slot:
            words.append("pending")
        else:
            words.append("in force" if change.from_slot == max(past) else "over")
    return words


def last_charged(connection: Connection, stream: int) -> int:
    """The last charged slot, 0 if there is none."""
    return connection.execute(sa.select(sa.func.max(slots.c.slot)).where(slots.c.stream == stream)).scalar() or 0


def first_registered(connection: Connection, stream: int) -> int | None:
    """The first slot in which anybody is registered; None if nobody ever required anything."""
    first = sa.select(sa.func.min(_columns.from_slot)).where(_columns.stream == stream)
    found = connection.execute(first.where(_columns.kind != "leave", _columns.refused.is_(False))).scalar()
    return None if found is None else int(found)


def newest_change_number(connection: Connection, stream: int) -> int:
    """The number of the last change, 0 if there is none."""
    newest = sa.select(sa.func.max(_columns.number)).where(_columns.stream == stream)
    return connection.execute(newest).scalar() or 0


def slots_with_changes(connection: Connection, stream: int, first: int, last: int) -> set[int]:
    """The slots among `first` to `last` in which requirement changes take effect."""
    found = sa.select(_columns.from_slot).where(_columns.stream == stream, _columns.from_slot.between(first, last))
    return set(connection.execute(found.distinct()).scalars())


Terms = tuple[str, int | None, int | None, int | None, int | None]
"""Kind, epsilon, window, backward epsilon and backward window, as the tables hold them."""


def to_terms(requirement: Requirement | None) -> Terms:
    """A requirement as the tables hold it."""
    if requirement is None:
        return "leave", None, None, None, None
    if isinstance(requirement, Fixed):
        return "fixed", requirement.units, requirement.window, None, None
    forward, backward = requirement.forward, requirement.backward
    return "dynamic", forward.units, forward.window, backward.units, backward.window


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


class ListedPeople:
    """Decides who counts as listed in each slot of a stream, one slot after the other.

    A person counts as listed from the first slot in which a requirement change of theirs took effect, whether it could
    be met or not, and for ever: a person who left, or was refused, counts nowhere, never among the unlisted people.
    Before that slot the person is unlisted.

    Guarantees:
        A requirement change with a number above `newest` lists nobody: it takes effect in a later slot.
    """

    def __init__(self, stream: int) -> None:
        self._stream = stream
        self._until = 0  # changes that took effect up to this slot are in `_listed`
        self._listed = np.zeros(0, bool)  # axes: person

    def at(self, connection: Connection, slot: int, newest: int, people: Mapping[str, int]) -> Listing:
        """Who counts as listed in a slot, by the requirement changes up to number `newest`."""
        changes = sa.select(_columns.person).where(
            _columns.stream == self._stream,
            _columns.from_slot.between(self._until + 1, slot),
            _columns.number <= newest,
        )
        new = np.array(connection.execute(changes.distinct()).all(), np.int64).ravel()
        listed = np.zeros(max(len(people), self._listed.size, int(new.max(initial=-1)) + 1), bool)
        listed[: self._listed.size] = self._listed
        listed[new] = True
        self._listed, self._until = listed, slot
        return Listing(people, listed)


def longest_window(requirement: Requirement) -> int:
    """The longest window of a requirement, of either side."""
    if isinstance(requirement, Fixed):
        return requirement.window
    return max(requirement.forward.window, requirement.backward.window)
