"""What a store holds of a stream's past: a range of slots comes in; releases, and who sits where, go out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.releases.release import Decision, ExpectedError, Raw, Release
from wevent.store.arrays import decode_counts, decode_floats
from wevent.store.schema import releases, row_assignments, shown

Arrays = tuple[npt.NDArray[np.int64] | npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""Counts and their standard errors (axes: cell)."""


def read_seats(connection: Connection, stream: int) -> dict[int, int]:
    """The row in which everybody sits by the newest slot; without those who sit nowhere."""
    order = (
        sa.select(row_assignments.c.person, row_assignments.c.row)
        .where(row_assignments.c.stream == stream)
        .order_by(row_assignments.c.from_slot)
    )
    found: dict[int, int] = dict(connection.execute(order).all())
    return {person: row for person, row in found.items() if row >= 0}


def read_release(connection: Connection, stream: int, slot: int, cells: int) -> Release | None:
    """The release of a slot, with the counts that it shows; None if there is none."""
    return next(read_releases(connection, stream, cells, slot, slot), None)


def read_releases(connection: Connection, stream: int, cells: int, first: int, last: int) -> Iterator[Release]:
    """Releases of a range of slots, oldest first, each with the counts that it shows.

    Guarantees:
        Counts, standard errors and raw counts are those that were kept, to the last bit.
    """
    both = releases.outerjoin(shown, (shown.c.stream == releases.c.stream) & (shown.c.slot == releases.c.slot))
    filtered = (shown.c.counts.label("view"), shown.c.standard_error.label("view_error"), shown.c.assumption)
    wanted = sa.select(releases, *filtered).select_from(both)
    mine = wanted.where(releases.c.stream == stream, releases.c.slot.between(first, last))
    source, noisy = -1, _frozen(np.empty(0, np.int64), np.empty(0))
    for kept in connection.execute(mine.order_by(releases.c.slot)):
        published = kept.decision == Decision.PUBLISHED.value
        if kept.source != source and (published or kept.view is None):
            source, noisy = kept.source, _published(connection, stream, cells, kept)
        seen = noisy if kept.view is None else _frozen(decode_counts(kept.view), decode_floats(kept.view_error))
        parts = None if kept.noise is None else ExpectedError(kept.variance, kept.squared_bias, kept.noise)
        yield Release(
            kept.slot,
            seen[0],
            Decision(kept.decision),
            kept.threshold,
            seen[1],
            parts,
            Raw(*noisy) if published else None,
            kept.assumption,
        )


def _published(connection: Connection, stream: int, cells: int, kept: Any) -> Arrays:
    """The noisy counts of the publication that a release comes from."""
    if kept.source == 0:
        return _frozen(np.zeros(cells, np.int64), np.full(cells, np.inf))
    if kept.slot != kept.source:
        where = (releases.c.stream == stream) & (releases.c.slot == kept.source)
        kept = connection.execute(sa.select(releases.c.counts, releases.c.standard_error).where(where)).one()
    return _frozen(decode_counts(kept.counts), decode_floats(kept.standard_error))


def _frozen(values: npt.NDArray[Any], error: npt.NDArray[np.float64]) -> Arrays:
    values.flags.writeable = error.flags.writeable = False
    return values, error
