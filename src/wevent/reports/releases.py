"""Reads what anybody may see of a stream's releases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from wevent.releases.release import Release
from wevent.store.checksums import check_table
from wevent.store.database import Database
from wevent.store.kept import read_releases
from wevent.store.schema import releases, shown

Counts = npt.NDArray[np.int64] | npt.NDArray[np.float64]
"""Whole or fractional (axes: cell)."""


@dataclass(frozen=True, slots=True)
class PublicRelease:
    """The public part of a release: without the parts of its error, which are the operator's (axes of arrays: cell).

    Attributes:
        slot: its number.
        decision: how it ended.
        threshold: the budget that set the noise of a publication in it.
        counts: whole, or fractional if a filter made them.
        standard_error: infinite before the first publication.
        raw: the noisy counts of a publication before any filter; None if nothing was published.
        raw_standard_error: theirs.
    """

    slot: int
    decision: str
    threshold: float | None
    counts: Counts = field(repr=False)
    standard_error: npt.NDArray[np.float64] = field(repr=False)
    raw: Counts | None = field(repr=False)
    raw_standard_error: npt.NDArray[np.float64] | None = field(repr=False)


def public_releases(database: Database, stream: int, cells: int, first: int, last: int) -> Iterator[PublicRelease]:
    """The public part of `checked_releases`."""
    for release in checked_releases(database, stream, cells, first, last):
        raw = (None, None) if release.raw is None else (release.raw.counts, release.raw.standard_error)
        shown_arrays = (release.counts, release.standard_error)
        yield PublicRelease(release.slot, release.decision.value, release.threshold, *shown_arrays, *raw)


def checked_releases(database: Database, stream: int, cells: int, first: int, last: int) -> Iterator[Release]:
    """The releases of a range of slots, each with the counts that it shows.

    Guarantees:
        Every row that is read bears its checksum, or `CorruptState` is raised.
    """
    with database.read() as connection:
        chosen = releases.c.slot.between(first, last)
        sources = sa.select(releases.c.source).where(releases.c.stream == stream, chosen)
        check_table(connection, releases, releases.c.stream == stream, chosen | releases.c.slot.in_(sources))
        check_table(connection, shown, shown.c.stream == stream, shown.c.slot.between(first, last))
        yield from read_releases(connection, stream, cells, first, last)
