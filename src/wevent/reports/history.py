"""What happened to a stream: a store comes in, its whole history goes out, as it stands in the tables.

Nothing here knows ledgers, schedules or mechanisms; the audit builds on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.errors import CorruptState
from wevent.store.arrays import decode_counts, decode_floats, decode_integers
from wevent.store.checksums import check, check_table, checked
from wevent.store.database import Database
from wevent.store.schema import releases, requirement_changes, row_assignments, shown, slots, waiting
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
        hold: if it was forfeited, nobody spends anything before the slot `slot + hold`.
    """

    slot: int
    charged: int
    released: int | None
    forfeited: bool
    decision: str | None
    threshold: float | None
    source: int | None
    change_budget: npt.NDArray[np.int64] = field(repr=False)
    publish_budget: npt.NDArray[np.int64] = field(repr=False)
    hold: int = 0

    @property
    def spent(self) -> npt.NDArray[np.int64]:
        """What every row spent: part 2 is refunded where nothing was published (axes: row)."""
        return (
            self.change_budget
            if self.decision in ("skipped", "nullified")
            else self.change_budget + self.publish_budget
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody asked for since a slot, in units; `kind` is fixed, dynamic or leave."""

    from_slot: int
    kind: str
    epsilon: int
    window: int
    backward_epsilon: int
    backward_window: int


@dataclass(frozen=True, slots=True)
class Changes:
    """Every requirement change as it was stored, refused ones too (axes of all arrays: change).

    Attributes:
        number: in the order of storing.
        person: whose it is.
        since: the slot from which on it holds.
        stored: when it was stored, in microseconds since 1970.
        charged_slot: the last charged slot when it was stored.
        begun_slot: the last slot that had begun by then, or whose files had been handed over.
        refused: whether it could not be met when its slot came.
    """

    number: npt.NDArray[np.int64]
    person: npt.NDArray[np.int64]
    from_slot: npt.NDArray[np.int64]
    stored: npt.NDArray[np.int64]
    charged_slot: npt.NDArray[np.int64]
    begun_slot: npt.NDArray[np.int64]
    refused: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class StreamHistory:
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
        changes: every requirement change as it was stored; None if that is not known.
        listed: per person the slot since which they count as listed; before it they may be among the unlisted.
    """

    name: str
    settings: dict[str, Any]
    slots: list[SlotRecord] = field(repr=False)
    asked: dict[int, list[Asked]] = field(repr=False)
    row_assignments: dict[int, list[tuple[int, int]]] = field(repr=False)
    stale: int = 0
    assumptions: tuple[str, ...] = ()
    unshown: tuple[int, ...] = ()
    changes: Changes | None = field(default=None, repr=False)
    listed: dict[int, int] = field(default_factory=dict, repr=False)

    @property
    def held_until(self) -> int:
        """The first slot in which anything may be spent after slots were given up; 0 if none were."""
        return max((record.slot + record.hold for record in self.slots if record.forfeited), default=0)


def read_history(database: Database, name: str | None = None) -> StreamHistory:
    """Read a stream's past at one moment.

    Guarantees:
        Every row that is read bears its checksum, or `CorruptState` is raised.
    """
    stream, settings = find_stream(database, name)
    with database.read() as connection:
        past = list(_slots(connection, stream.id))
        asked, listed, changes = _asked(connection, stream.id)
        _add_group(asked, settings)
        sat: dict[int, list[tuple[int, int]]] = {}
        order = (row_assignments.c.person, row_assignments.c.from_slot)
        for _, person, from_slot, row, *_ in checked(
            connection, row_assignments, row_assignments.c.stream == stream.id, order_by=order
        ):
            sat.setdefault(person, []).append((from_slot, row))
        over = sa.select(sa.func.max(releases.c.slot)).where(releases.c.stream == stream.id).scalar_subquery()
        stale = sa.select(sa.func.count()).select_from(waiting).where(waiting.c.stream == stream.id)
        left = connection.execute(stale.where(waiting.c.slot <= over)).scalar_one()
        check_table(connection, waiting, waiting.c.stream == stream.id)
        views = checked(connection, shown, shown.c.stream == stream.id)
        place = list(shown.c.keys()).index("assumption")
        said: dict[int, str | None] = {row[1]: row[place] for row in views}
    filtered = bool(said) or "privacy.estimator" in settings
    unshown = tuple(record.slot for record in past if filtered and record.decision and record.slot not in said)
    words = tuple(sorted({words for words in said.values() if words is not None}))
    return StreamHistory(stream.name, settings, past, asked, sat, left, words, unshown, changes, listed)


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
        for table in (releases, shown):
            check_table(connection, table, table.c.stream == stream, table.c.slot.between(first, last))
        for row in connection.execute(mine.order_by(releases.c.slot)):
            if row.source not in (source, 0):
                kept = row
                if row.source != row.slot:
                    there = (releases.c.stream == stream) & (releases.c.slot == row.source)
                    kept = connection.execute(sa.select(releases).where(there)).one()
                    check(releases, [kept])
                noisy, error = decode_counts(kept.counts), decode_floats(kept.standard_error)
            source = row.source
            seen = (noisy, error) if row.view is None else (decode_counts(row.view), decode_floats(row.view_error))
            raw = (noisy, error) if row.decision == "published" else (None, None)
            yield PublicRelease(row.slot, row.decision, row.threshold, *seen, *raw)


def _slots(connection: Connection, stream: int) -> Iterator[SlotRecord]:
    ended: dict[int, tuple[Any, ...]] = {}
    wanted = [releases.c.keys().index(name) for name in ("released", "decision", "threshold", "source")]
    for row in checked(connection, releases, releases.c.stream == stream):
        ended[row[1]] = tuple(row[place] for place in wanted)
    columns = slots.c.keys()
    for row in checked(connection, slots, slots.c.stream == stream, order_by=(slots.c.slot,)):
        kept = dict(zip(columns, row, strict=True))
        released, decision, threshold, source = ended.pop(kept["slot"], (None, None, None, None))
        yield SlotRecord(
            kept["slot"],
            kept["charged"],
            released,
            bool(kept["forfeited"]),
            decision,
            threshold,
            source,
            decode_integers(kept["change_budget"]),
            decode_integers(kept["publish_budget"]),
            kept["hold"],
        )
    if ended:
        raise CorruptState("a release in the store has no charge; restore the store from a whole copy")


_FACTS = ("number", "person", "from_slot", "stored", "charged_slot", "begun_slot", "refused")
_TERMS = ("kind", "epsilon", "window", "backward_epsilon", "backward_window")


def _asked(connection: Connection, stream: int) -> tuple[dict[int, list[Asked]], dict[int, int], Changes]:
    """What everybody asked for, since when they count as listed, and every change as it was stored."""
    columns = requirement_changes.c.keys()
    facts_of = itemgetter(*(columns.index(name) for name in _FACTS))
    terms_of = itemgetter(columns.index("from_slot"), *(columns.index(name) for name in _TERMS))
    facts: list[tuple[int, ...]] = []
    asked: dict[int, list[Asked]] = {}
    listed: dict[int, int] = {}
    known: dict[tuple[Any, ...], Asked] = {}  # many people ask for the same: one object for all of them
    order = (requirement_changes.c.number,)
    for row in checked(connection, requirement_changes, requirement_changes.c.stream == stream, order_by=order):
        fact, terms = facts_of(row), terms_of(row)
        facts.append(fact)
        person, from_slot = fact[1], fact[2]
        listed[person] = min(listed.get(person, from_slot), from_slot)
        if fact[-1]:
            continue
        if terms not in known:
            known[terms] = Asked(terms[0], terms[1], *(number or 0 for number in terms[2:]))
        own = asked.setdefault(person, [])
        if own and own[-1].from_slot == from_slot:  # overtaken before it took effect
            own.pop()
        own.append(known[terms])
    number, person_of, since_of, stored, charged, begun, refused = np.array(facts, np.int64).reshape(-1, len(_FACTS)).T
    return asked, listed, Changes(number, person_of, since_of, stored, charged, begun, refused.astype(bool))


def _add_group(asked: dict[int, list[Asked]], settings: dict[str, Any]) -> None:
    """The declared group asks for the same from the first slot on."""
    group = settings.get("people.group")
    if group is not None:
        asked[GROUP] = [Asked(1, "fixed", int(group["epsilon_units"]), int(group["window"]), 0, 0)]
