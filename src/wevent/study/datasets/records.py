"""Makes a stream out of records, in any order, of who was where in which slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from wevent.errors import InvalidInput
from wevent.study.datasets.stream import DataOptions, RecordedStream


def recorded(
    name: str,
    options: DataOptions,
    *,
    people: Sequence[str],
    cells: Sequence[str],
    slots: int,
    user: npt.ArrayLike,
    slot: npt.ArrayLike,
    cell: npt.ArrayLike,
    plane: tuple[int, int] | None = None,
    dropped: Mapping[str, int] | None = None,
) -> RecordedStream:
    """Sort records, keep one per user and slot, and cut the stream to the number of slots in `options`.

    Args:
        name: of the data set.
        options: `slots` and `presence` are applied.
        people: names of the users.
        cells: names of the cells.
        slots: how many slots the records span.
        user: index of the user of each record (axes: record).
        slot: its slot, from 0 on (axes: record).
        cell: index of its cell (axes: record).
        plane: for grids, (rows, columns) of the cells.
        dropped: reason → how many lines or records were left out before.

    Guarantees:
        Of several records of one user in one slot the last one given counts.
        A shorter stream is the beginning of the whole one.
        No records, or an index out of range, raise `InvalidInput`.
    """
    who, when, where = (np.asarray(given, np.int64) for given in (user, slot, cell))
    if not who.size:
        raise InvalidInput(f"{name}: not one usable record was found; check that the files have the expected format")
    for given, end, what in ((who, len(people), "users"), (when, slots, "slots"), (where, len(cells), "cells")):
        if given.shape != who.shape or given.min() < 0 or given.max() >= end:
            raise InvalidInput(f"{name}: every record needs one of {end} {what}, counted from 0")
    order = np.lexsort((when, who))  # stable: what was given later stays later
    who, when, where = who[order], when[order], where[order]
    last = np.append((np.diff(who) != 0) | (np.diff(when) != 0), True)
    who, when, where = who[last], when[last], where[last]
    if options.presence == "carry":  # a user who stays in a cell is carried on without a record
        moved = np.insert((np.diff(who) != 0) | (np.diff(where) != 0), 0, True)
        who, when, where = who[moved], when[moved], where[moved]
    return RecordedStream(
        name,
        tuple(cells),
        len(people),
        min(slots, options.slots or slots),
        options.presence,
        np.searchsorted(who, np.arange(len(people) + 1)),
        when,
        where,
        plane,
        tuple(people),
        dict(dropped or {}),
    )
