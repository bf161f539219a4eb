"""Gathers the accepted events of one slot into one cell per person, when the slot is closed.

Events name people by number, if they were known when the event was accepted, or by name. Who that is, and whether they
count as listed, is decided here and for all of the slot's events at once: nobody counts twice, as listed and as
unlisted, whenever their events were accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wevent.events.bounding import Ints, OneCell, bounding


@dataclass(frozen=True, slots=True)
class SlotRows:
    """Who is where in one slot; private, so its repr shows the number alone.

    Attributes:
        number: the slot's.
        cells: of each listed person, -1 for who was not seen (axes: person).
        strangers: how many unlisted people are in each cell (axes: cell).
        arrivals: how many events come with these rows and never waited in a store.
    """

    number: int
    cells: Ints = field(repr=False)
    unlisted: Ints = field(repr=False)
    arrivals: int = field(default=0, repr=False)


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Some events of one slot (axes: event); person -1 - k is the k-th of `unlisted`."""

    person: Ints = field(repr=False)
    offset: Ints = field(repr=False)
    cell: Ints = field(repr=False)
    unlisted: Sequence[str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Listing:
    """Who counts as listed in one slot.

    Attributes:
        people: the number of everybody whose name is known, by name; some may be listed only later.
        listed: whether a requirement of theirs took effect at or before the slot (axes: person). Somebody who left
            stays listed. People with numbers beyond its end are not listed.
    """

    people: Mapping[str, int] = field(repr=False)
    listed: npt.NDArray[np.bool_] = field(repr=False)

    @classmethod
    def of_all(cls, people: Mapping[str, int]) -> Listing:
        """Everybody who is known counts as listed; they are numbered from 0 without gaps."""
        return cls(people, np.ones(len(people), bool))


def gather(number: int, portions: Iterable[EventBatch], policy: OneCell, listing: Listing, domain: int) -> SlotRows:
    """One cell for everybody in a slot.

    Guarantees:
        The result does not depend on the order of events, on portions, or on an event being there twice.
        It does not depend on whether an event named its person by number or by name.
        Everybody counts at most once: in `cells` if they are listed in this slot, otherwise in `unlisted`.
        Somebody's cell does not depend on others' events.
    """
    many = listing.listed.size
    listed = bounding(policy, many, domain)
    others: dict[str | int, int] = {}  # a place for each unlisted person: by number where it is known, else by name
    apart: list[tuple[Ints, Ints, Ints]] = []
    for portion in portions:
        person = _numbered(portion, listing.people)
        known = (person >= 0) & (person < many)
        known[known] = listing.listed[person[known]]
        listed.take(person[known], portion.offset[known], portion.cell[known])
        if not known.all():
            numbers, which = np.unique(person[~known], return_inverse=True)
            keys = [portion.unlisted[-1 - k] if k < 0 else k for k in numbers.tolist()]
            places = np.array([others.setdefault(key, len(others)) for key in keys], np.int64)
            apart.append((places[which], portion.offset[~known], portion.cell[~known]))
    rest = bounding(policy, len(others), domain)
    for place, offset, cell in apart:
        rest.take(place, offset, cell)
    unlisted = rest.cells() if others else np.empty(0, np.int64)
    return SlotRows(number, listed.cells(), np.bincount(unlisted[unlisted >= 0], minlength=domain))


def _numbered(portion: EventBatch, people: Mapping[str, int]) -> Ints:
    """The person of each event: a number where there is one by now, -1 - k for the k-th of `unlisted` otherwise."""
    if not portion.unlisted:
        return portion.person
    numbers = np.array([people.get(name, -1 - k) for k, name in enumerate(portion.unlisted)], np.int64)
    unnamed = portion.person < 0
    person = portion.person.copy()
    person[unnamed] = numbers[-1 - portion.person[unnamed]]
    return person
