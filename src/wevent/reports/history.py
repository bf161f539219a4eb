"""Reads the whole history of a stream as it stands in the tables.

It knows no ledger, schedule or mechanism: the audit builds on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.cohorts.requirement import Fixed
from wevent.cohorts.requirement_change import RequirementChange
from wevent.errors import CorruptState
from wevent.store.arrays import decode_integers
from wevent.store.checksums import check_table, checked
from wevent.store.database import Database
from wevent.store.requirements import StoredChange, to_stored_change
from wevent.store.schema import UNLISTED, releases, requirement_changes, row_assignments, shown, slots, waiting
from wevent.store.streams import find_stream


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
        change_budget: charged to every row for measuring change (axes: row).
        publish_budget: charged to every row for publishing (axes: row).
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
        """What every row spent: the publish budget is refunded where nothing was published (axes: row)."""
        refunded = self.decision in ("skipped", "nullified")
        return self.change_budget if refunded else self.change_budget + self.publish_budget


@dataclass(frozen=True, slots=True)
class StreamHistory:
    """A stream's whole past.

    Attributes:
        name: the stream's.
        settings: those that it began with.
        slots: all of them, in order.
        requirements: the changes that took effect, by person and in the order of storing: without refused ones, and
            without those that another one of the same slot has overtaken.
        row_assignments: pairs of first slot and row, by person and in order; row -1 for none.
        stale: how many batches of events wait for slots that are over; there must be none.
        assumptions: what must be true for the shown counts to be right in the mean, in words; often nothing.
        unshown: slots of a filtered stream that ended without filtered counts; there must be none.
        changes: every requirement change in the order of storing, refused ones too.
        listed: the slot from which on each person counts as listed; before it they may be among the unlisted.
    """

    name: str
    settings: dict[str, Any]
    slots: list[SlotRecord] = field(repr=False)
    requirements: dict[int, list[RequirementChange]] = field(repr=False)
    row_assignments: dict[int, list[tuple[int, int]]] = field(repr=False)
    stale: int = 0
    assumptions: tuple[str, ...] = ()
    unshown: tuple[int, ...] = ()
    changes: list[StoredChange] = field(default_factory=list, repr=False)
    listed: dict[int, int] = field(default_factory=dict, repr=False)

    @property
    def held_until(self) -> int:
        """The first slot in which anything may be spent after slots were given up; 0 if none were."""
        return max((record.slot + record.hold for record in self.slots if record.forfeited), default=0)

    @property
    def carry(self) -> int:
        """In how many slots one event counts."""
        return int(self.settings.get("people.carry", 1))


def read_history(database: Database, name: str | None = None) -> StreamHistory:
    """Read a stream's past at one moment.

    Guarantees:
        Every row that is read bears its checksum, or `CorruptState` is raised.
    """
    stream, settings = find_stream(database, name)
    with database.read() as connection:
        past = list(_slots(connection, stream.id))
        changes = list(_changes(connection, stream.id))
        assigned: dict[int, list[tuple[int, int]]] = {}
        this_stream = row_assignments.c.stream == stream.id
        order = (row_assignments.c.person, row_assignments.c.from_slot)
        for _, person, from_slot, row, *_ in checked(connection, row_assignments, this_stream, order_by=order):
            assigned.setdefault(person, []).append((from_slot, row))
        last = sa.select(sa.func.max(releases.c.slot)).where(releases.c.stream == stream.id).scalar_subquery()
        stale = sa.select(sa.func.count()).where(waiting.c.stream == stream.id, waiting.c.slot <= last)
        stale_batches = connection.execute(stale).scalar_one()
        check_table(connection, waiting, waiting.c.stream == stream.id)
        place = list(shown.c.keys()).index("assumption")
        filtered_slots = checked(connection, shown, shown.c.stream == stream.id)
        assumptions: dict[int, str | None] = {row[1]: row[place] for row in filtered_slots}
    requirements, listed = _requirements(changes)
    group = settings.get("people.group")
    if group is not None:  # the declared group requires the same from the first slot on
        required = Fixed(f"{int(group['epsilon_units'])}e-9", int(group["window"]))
        requirements[UNLISTED] = [RequirementChange(UNLISTED, required, 1)]
    filtered = bool(assumptions) or "privacy.estimator" in settings
    unshown = tuple(record.slot for record in past if filtered and record.decision and record.slot not in assumptions)
    words = tuple(sorted({words for words in assumptions.values() if words is not None}))
    return StreamHistory(
        stream.name, settings, past, requirements, assigned, stale_batches, words, unshown, changes, listed
    )


def _slots(connection: Connection, stream: int) -> Iterator[SlotRecord]:
    ends: dict[int, tuple[Any, ...]] = {}
    wanted = [releases.c.keys().index(name) for name in ("released", "decision", "threshold", "source")]
    for row in checked(connection, releases, releases.c.stream == stream):
        ends[row[1]] = tuple(row[place] for place in wanted)
    columns = slots.c.keys()
    for row in checked(connection, slots, slots.c.stream == stream, order_by=(slots.c.slot,)):
        kept = dict(zip(columns, row, strict=True))
        released, decision, threshold, source = ends.pop(kept["slot"], (None, None, None, None))
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
    if ends:
        raise CorruptState("a release in the store has no charge; restore the store from a whole copy")


def _changes(connection: Connection, stream: int) -> Iterator[StoredChange]:
    this_stream, order = requirement_changes.c.stream == stream, (requirement_changes.c.number,)
    return map(to_stored_change, checked(connection, requirement_changes, this_stream, order_by=order))


def _requirements(changes: list[StoredChange]) -> tuple[dict[int, list[RequirementChange]], dict[int, int]]:
    """The changes that took effect, and the slot from which on each person counts as listed."""
    requirements: dict[int, list[RequirementChange]] = {}
    listed: dict[int, int] = {}
    for stored in changes:
        person, from_slot = stored.person, stored.from_slot
        listed[person] = min(listed.get(person, from_slot), from_slot)
        if stored.refused:
            continue
        own = requirements.setdefault(person, [])
        if own and own[-1].slot == from_slot:  # overtaken before it took effect
            own.pop()
        own.append(stored.change)
    return requirements, listed
