"""The rows of one slot: accepted events come in, batch by batch, one cell per person goes out.

People who are not listed get numbers of their own for the slot, behind those of the listed ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from wevent.events.bounding import Ints, OneCell, bounding


@dataclass(frozen=True, slots=True)
class SlotRows:
    """Who is where in one slot; private, so its repr shows the number alone.

    Attributes:
        number: the slot's.
        cells: of each listed person, -1 for who was not seen (axes: person).
        strangers: how many unlisted people are in each cell (axes: cell).
    """

    number: int
    cells: Ints = field(repr=False)
    strangers: Ints = field(repr=False)


@dataclass(frozen=True, slots=True)
class Portion:
    """Some events of one slot (axes: event); person -1 - k is the k-th of `strangers`."""

    person: Ints = field(repr=False)
    offset: Ints = field(repr=False)
    cell: Ints = field(repr=False)
    strangers: Sequence[str] = field(repr=False)


def gather(number: int, portions: Iterable[Portion], policy: OneCell, people: int, domain: int) -> SlotRows:
    """One cell for everybody in a slot.

    Guarantees:
        The result does not depend on the order of events, on portions, or on an event being there twice.
        Somebody's cell does not depend on others' events.
    """
    listed = bounding(policy, people, domain)
    others: dict[str, int] = {}
    apart: list[tuple[Ints, Ints, Ints]] = []
    for portion in portions:
        known = portion.person >= 0
        listed.take(portion.person[known], portion.offset[known], portion.cell[known])
        if not known.all():
            places = np.array([others.setdefault(name, len(others)) for name in portion.strangers], np.int64)
            apart.append((places[-1 - portion.person[~known]], portion.offset[~known], portion.cell[~known]))
    rest = bounding(policy, len(others), domain)
    for person, offset, cell in apart:
        rest.take(person, offset, cell)
    strangers = rest.cells() if others else np.empty(0, np.int64)
    return SlotRows(number, listed.cells(), np.bincount(strangers[strangers >= 0], minlength=domain))
