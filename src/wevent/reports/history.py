"""What happened to a stream: a store comes in, its whole history goes out, as it stands in the tables.

Nothing here knows ledgers, schedules or mechanisms; the audit builds on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.store.arrays import counts, real, whole
from wevent.store.database import Database
from wevent.store.schema import releases, requirements, seats, shown, slots, waiting
from wevent.store.streams import find_stream

Counts = npt.NDArray[np.int64] | npt.NDArray[np.float64]
"""Whole or fractional (axes: cell)."""

GROUP = -1
"""The person number of the row of unlisted people."""


@dataclass(frozen=True, slots=True)
class SlotRecord:
    """One slot as it was kept.

    Attributes:
        slot: its number.
        charged: when it was charged, in microseconds since 1970.
        released: when its release was kept; None if it never was.
        forfeited: whether it was given up after a restore.
        decision: how it ended; None if it has no release.
        threshold: of the release.
        source: the slot whose counts it shows, 0 for none; None if it has no release.
        part_1: charged to every row for measuring change (axes: row).
        part_2: charged to every row for publishing (axes: row).
    """

    slot: int
    charged: int
    released: int | None
    forfeited: bool
    decision: str | None
    threshold: float | None
    source: int | None
    part_1: npt.NDArray[np.int64] = field(repr=False)
    part_2: npt.NDArray[np.int64] = field(repr=False)

    @property
    def spent(self) -> npt.NDArray[np.int64]:
        """What every row spent: part 2 is refunded where nothing was published (axes: row)."""
        return self.part_1 if self.decision in ("skipped", "nullified") else self.part_1 + self.part_2


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody asked for since a slot, in units; `kind` is fixed, dynamic or leave."""

    since: int
    kind: str
    epsilon: int
    window: int
    backward_epsilon: int
    backward_window: int


@dataclass(frozen=True, slots=True)
class History:
    """A stream's whole past.

    Attributes:
        name: the stream's.
        settings: what it began with.
        slots: all of them, in order.
        asked: per person what they asked for, in the order of asking, refused wishes left out.
        seats: per person (since, row), in order; row -1 for none.
        stale: how many batches of events wait for slots that are over; there must be none.
        assumptions: what must be true for the shown counts to be right in the mean, in words; often nothing.
        unshown: slots that ended without a view of their own in a stream that has views; there must be none.
    """

    name: str
    settings: dict[str, Any]
    slots: list[SlotRecord] = field(repr=False)
    asked: dict[int, list[Asked]] = field(repr=False)
    seats: dict[int, list[tuple[int, int]]] = field(repr=False)
    stale: int = 0
    assumptions: tuple[str, ...] = ()
    unshown: tuple[int, ...] = ()


def read_history(database: Database, name: str | None = None) -> History:
    """Read a stream's past at one moment."""
    stream, settings = find_stream(database, name)
    with database.read() as connection:
        past = list(_slots(connection, stream.id))
        asked = _asked(connection, stream.id)
        _add_group(asked, settings)
        sat: dict[int, list[tuple[int, int]]] = {}
        order = sa.select(seats.c.person, seats.c.since, seats.c.row).where(seats.c.stream == stream.id)
        for person, since, row in connection.execute(order.order_by(seats.c.since)):
            sat.setdefault(person, []).append((since, row))
        over = sa.select(sa.func.max(releases.c.slot)).where(releases.c.stream == stream.id).scalar_subquery()
        stale = sa.select(sa.func.count()).select_from(waiting).where(waiting.c.stream == stream.id)
        left = connection.execute(stale.where(waiting.c.slot <= over)).scalar_one()
        views = sa.select(shown.c.slot, shown.c.assumption).where(shown.c.stream == stream.id)
        said: dict[int, str | None] = dict(connection.execute(views).all())
    filtered = bool(said) or "privacy.estimator" in settings
    unshown = tuple(record.slot for record in past if filtered and record.decision and record.slot not in said)
    words = tuple(sorted({words for words in said.values() if words is not None}))
    return History(stream.name, settings, past, asked, sat, left, words, unshown)


@dataclass(frozen=True, slots=True)
class PublicRelease:
    """What anybody may see of a slot (axes of the arrays: cell).

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
    """The releases of a range of slots, each with the counts that it shows."""
    both = releases.outerjoin(shown, (shown.c.stream == releases.c.stream) & (shown.c.slot == releases.c.slot))
    filtered = (shown.c.counts.label("view"), shown.c.standard_error.label("view_error"))
    wanted = sa.select(releases, *filtered).select_from(both)
    mine = wanted.where(releases.c.stream == stream, releases.c.slot.between(first, last))
    source, error = -1, np.full(cells, np.inf)
    noisy: Counts = np.zeros(cells, np.int64)
    with database.read() as connection:
        for row in connection.execute(mine.order_by(releases.c.slot)):
            if row.source not in (source, 0):
                kept = row
                if row.source != row.slot:
                    there = (releases.c.stream == stream) & (releases.c.slot == row.source)
                    kept = connection.execute(sa.select(releases).where(there)).one()
                noisy, error = counts(kept.counts), real(kept.standard_error)
            source = row.source
            seen = (noisy, error) if row.view is None else (counts(row.view), real(row.view_error))
            raw = (noisy, error) if row.decision == "published" else (None, None)
            yield PublicRelease(row.slot, row.decision, row.threshold, *seen, *raw)


def _slots(connection: Connection, stream: int) -> Iterator[SlotRecord]:
    both = slots.outerjoin(releases, (releases.c.stream == slots.c.stream) & (releases.c.slot == slots.c.slot))
    chosen = sa.select(
        slots, releases.c.released, releases.c.decision, releases.c.threshold, releases.c.source
    ).select_from(both)
    for row in connection.execute(chosen.where(slots.c.stream == stream).order_by(slots.c.slot)):
        yield SlotRecord(
            row.slot,
            row.charged,
            row.released,
            row.forfeited,
            row.decision,
            row.threshold,
            row.source,
            whole(row.part_1),
            whole(row.part_2),
        )


def _asked(connection: Connection, stream: int) -> dict[int, list[Asked]]:
    order = sa.select(requirements).where(requirements.c.stream == stream, ~requirements.c.refused)
    asked: dict[int, list[Asked]] = {}
    for row in connection.execute(order.order_by(requirements.c.number)):
        terms = (row.epsilon or 0, row.window or 0, row.backward_epsilon or 0, row.backward_window or 0)
        asked.setdefault(row.person, []).append(Asked(row.since, row.kind, *terms))
    return asked


def _add_group(asked: dict[int, list[Asked]], settings: dict[str, Any]) -> None:
    """The declared group asks for the same from the first slot on."""
    group = settings.get("people.group")
    if group is not None:
        epsilon = settings["levels.budgets"].get(str(group["epsilon"]), group["epsilon"])
        window = settings["levels.windows"].get(str(group["window"]), group["window"])
        from wevent.units import to_units

        asked[GROUP] = [Asked(1, "fixed", to_units(epsilon), int(window), 0, 0)]
