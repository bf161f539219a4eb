"""Reads and writes what a store keeps of a stream's past: states of the publisher, charges and releases.

Of what the axes learned only the newest is kept, each in the transaction of the charge or release that it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.budgets.ledger import Offer
from wevent.errors import CorruptState
from wevent.releases.release import Decision, ExpectedError, RawCounts, Release
from wevent.store.arrays import decode_counts, decode_floats, decode_integers
from wevent.store.schema import carried, learned, releases, shown, slots, states

Arrays = tuple[npt.NDArray[np.int64] | npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""Counts and their standard errors (axes: cell)."""


@dataclass(frozen=True, slots=True)
class KeptState:
    """The newest kept state of a publisher, what people carry, and slots that were charged and never released."""

    publisher: bytes | None = field(repr=False)
    carried: bytes | None = field(repr=False)
    unreleased: list[int]


@dataclass(frozen=True, slots=True)
class KeptSlot:
    """A slot that is over: its charge, or None and how long it holds everybody back if it was given up; its release."""

    number: int
    hold: int
    charge: Offer | None = field(repr=False)
    release: Release = field(repr=False)


def read_state(connection: Connection, stream: int) -> KeptState:
    """The newest kept state."""
    newest = sa.select(states.c.state).where(states.c.stream == stream).order_by(states.c.slot.desc())
    last = sa.select(carried.c.last).where(carried.c.stream == stream)
    released = sa.exists().where(releases.c.stream == slots.c.stream, releases.c.slot == slots.c.slot)
    bare = sa.select(slots.c.slot).where(slots.c.stream == stream, ~released).order_by(slots.c.slot)
    return KeptState(
        connection.execute(newest).scalar(), connection.execute(last).scalar(), list(connection.execute(bare).scalars())
    )


def write_state(connection: Connection, stream: int, slot: int, state: bytes) -> None:
    """Keep the state of a publisher before a slot, instead of older ones."""
    connection.execute(states.delete().where(states.c.stream == stream, states.c.slot <= slot))
    connection.execute(states.insert().values(stream=stream, slot=slot, state=state))


def read_slots(connection: Connection, stream: int, cells: int, first: int) -> list[KeptSlot]:
    """Every slot from `first` on.

    Guarantees:
        A gap, or a charge without a release, raises `CorruptState`.
    """
    after = sa.select(slots).where(slots.c.stream == stream, slots.c.slot >= first).order_by(slots.c.slot)
    charges = connection.execute(after).all()
    released = list(read_releases(connection, stream, cells, first, 2**62))
    if len(charges) != len(released):
        raise CorruptState("the store has charges without releases in its past; restore it from a whole copy")
    found = []
    for number, (charge, release) in enumerate(zip(charges, released, strict=True), start=first):
        if (charge.slot, release.slot) != (number, number):
            raise CorruptState(f"slot {number} is missing in the store; restore it from a whole copy")
        found.append(KeptSlot(number, charge.hold, None if charge.forfeited else _offer(charge), release))
    return found


def keep_learned(connection: Connection, stream: int, slot: int, parts: Mapping[str, bytes]) -> None:
    """Keep what was learned by a slot, instead of what was learned before."""
    for axis, state in parts.items():
        before = (learned.c.stream == stream) & (learned.c.axis == axis)
        connection.execute(learned.delete().where(before))
        connection.execute(learned.insert().values(stream=stream, axis=axis, slot=slot, state=state))


def read_learned(connection: Connection, stream: int, *, filtered: bool) -> dict[str, bytes]:
    """The newest of each part.

    Args:
        connection: to the store.
        stream: whose.
        filtered: whether the stream has a filter that learns from every publication.

    Guarantees:
        A filter state that does not end with the last publication raises `CorruptState`.
    """
    found = connection.execute(sa.select(learned).where(learned.c.stream == stream)).all()
    last = sa.select(sa.func.max(releases.c.slot)).where(
        releases.c.stream == stream, releases.c.decision == Decision.PUBLISHED.value
    )
    seen = next((row.slot for row in found if row.axis == "filter"), None)
    if filtered and seen != connection.execute(last).scalar():
        raise CorruptState("what was learned does not end with the last publication; restore the store from a copy")
    return {row.axis: row.state for row in found}


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
    wanted = wanted.where(releases.c.stream == stream, releases.c.slot.between(first, last))
    source, noisy = -1, _frozen(np.empty(0, np.int64), np.empty(0))
    for kept in connection.execute(wanted.order_by(releases.c.slot)):
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
            RawCounts(*noisy) if published else None,
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


def _offer(charge: Any) -> Offer:
    return Offer(
        charge.slot, decode_integers(charge.change_budget), decode_integers(charge.publish_budget), charge.nullified
    )
