"""Gathers the accepted events of one slot into one cell per person, when the slot is closed.

An event names its person by number, if the person was known when the event was accepted, or by name. This module
resolves names and decides who counts as listed, for all events of the slot at once: nobody counts both as listed and
as unlisted, whenever their events were accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wevent.events.one_cell import Ints, OneCell, choose_one_cell


@dataclass(frozen=True, slots=True)
class SlotCells:
    """Who is where in one slot; private, so its repr shows the number alone.

    Attributes:
        number: the slot's.
        cells: of each listed person, -1 for a person without events (axes: person).
        unlisted: how many unlisted people are in each cell (axes: cell).
        arrivals: how many events come with these rows and never waited in a store.
    """

    number: int
    cells: Ints = field(repr=False)
    unlisted: Ints = field(repr=False)
    arrivals: int = field(default=0, repr=False)


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events of one slot (axes: event); person -1 - k is the k-th of `unlisted`."""

    person: Ints = field(repr=False)
    offset: Ints = field(repr=False)
    cell: Ints = field(repr=False)
    unlisted: Sequence[str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Listing:
    """Who counts as listed in one slot.

    Attributes:
        people: the number of each person whose name is known, by name; some may be listed only later.
        listed: whether a requirement of theirs took effect at or before the slot (axes: person). A person who left
            stays listed. People with numbers beyond its end are not listed.
    """

    people: Mapping[str, int] = field(repr=False)
    listed: npt.NDArray[np.bool_] = field(repr=False)

    @classmethod
    def of_all(cls, people: Mapping[str, int]) -> Listing:
        """All known people count as listed; they are numbered from 0 without gaps."""
        return cls(people, np.ones(len(people), bool))


def gather(number: int, batches: Iterable[EventBatch], policy: OneCell, listing: Listing, domain: int) -> SlotCells:
    """One cell for each person in a slot.

    Guarantees:
        The result does not depend on the order of events, on batches, or on an event being delivered twice.
        It does not depend on whether an event named its person by number or by name.
        Each person counts at most once: in `cells` if they are listed in this slot, otherwise in `unlisted`.
        A person's cell does not depend on others' events.
    """
    many = listing.listed.size
    listed = choose_one_cell(policy, many, domain)
    others: dict[str | int, int] = {}  # an index for each unlisted person: by number where it is known, else by name
    apart: list[tuple[Ints, Ints, Ints]] = []
    for batch in batches:
        person = _numbered(batch, listing.people)
        known = (person >= 0) & (person < many)
        known[known] = listing.listed[person[known]]
        listed.add(person[known], batch.offset[known], batch.cell[known])
        if not known.all():
            numbers, which = np.unique(person[~known], return_inverse=True)
            keys = [batch.unlisted[-1 - k] if k < 0 else k for k in numbers.tolist()]
            indices = np.array([others.setdefault(key, len(others)) for key in keys], np.int64)
            apart.append((indices[which], batch.offset[~known], batch.cell[~known]))
    rest = choose_one_cell(policy, len(others), domain)
    for index, offset, cell in apart:
        rest.add(index, offset, cell)
    unlisted = rest.cells() if others else np.empty(0, np.int64)
    return SlotCells(number, listed.cells(), np.bincount(unlisted[unlisted >= 0], minlength=domain))


def _numbered(batch: EventBatch, people: Mapping[str, int]) -> Ints:
    """The person of each event: a number where there is one by now, -1 - k for the k-th of `unlisted` otherwise."""
    if not batch.unlisted:
        return batch.person
    numbers = np.array([people.get(name, -1 - k) for k, name in enumerate(batch.unlisted)], np.int64)
    unnamed = batch.person < 0
    person = batch.person.copy()
    person[unnamed] = numbers[-1 - batch.person[unnamed]]
    return person
