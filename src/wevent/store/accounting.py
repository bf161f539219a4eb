"""Accounts for every accepted event: it waits for its slot, was released with it, or was lost with it.

An event is *released* with its slot if the slot's release was drawn and kept, whatever it decided, and *lost* with it
if the slot is lost: charged without a release, given up after a restore, or without anybody registered. In `files`
streams an event counts as accepted when its slot is charged; until then it is only in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.events.staging import ACCEPTED
from wevent.store.checksums import update
from wevent.store.schema import tallies, waiting

RELEASED = "released with their slot"
LOST = "lost with their slot"
CHARGED = "in a charged slot"
WITH_THEIR_SLOT = (RELEASED, LOST, CHARGED)
"""Kinds of tallies that say what became of accepted events; the others say which events were accepted or refused."""


@dataclass(frozen=True, slots=True)
class EventAccount:
    """Where the accepted events of a stream are.

    Attributes:
        accepted: all of them, counted when they were accepted.
        released: were in slots whose release was kept.
        waiting: are in slots that are not over, the one that is being released included.
        lost: were in slots that are lost.
    """

    accepted: int
    released: int
    waiting: int
    lost: int

    @property
    def balanced(self) -> bool:
        """Whether every accepted event is released, waiting or lost."""
        return self.accepted == self.released + self.waiting + self.lost


def read_account(connection: Connection, stream: int) -> EventAccount:
    """Where the accepted events of a stream are.

    Guarantees:
        Outside a writer's transaction the account is balanced, whenever the writer was killed.
    """
    counted = sa.select(tallies.c.kind, tallies.c.number).where(tallies.c.stream == stream)
    waits = sa.select(sa.literal("waiting"), sa.func.sum(waiting.c.number)).where(waiting.c.stream == stream)
    both = connection.execute(counted.union_all(waits))  # one statement, so that both are of one moment
    number = {kind: int(many or 0) for kind, many in both}
    still = number["waiting"] + number.get(CHARGED, 0)
    return EventAccount(number.get(ACCEPTED, 0), number.get(RELEASED, 0), still, number.get(LOST, 0))


def accept_with_charge(connection: Connection, stream: int, number: int) -> None:
    """Count events that never waited as accepted, in the transaction that charges their slot."""
    add_tallies(connection, stream, {ACCEPTED: number, CHARGED: number})


def drop_events(connection: Connection, stream: int, slot: int, *, lost: bool) -> None:
    """Delete the events that wait for slots up to this one, and count what became of them.

    Must run in the transaction that keeps the slot's release.
    """
    over = (waiting.c.stream == stream) & (waiting.c.slot <= slot)
    waited = connection.execute(sa.select(sa.func.sum(waiting.c.number)).where(over)).scalar() or 0
    connection.execute(waiting.delete().where(over))
    charged = (tallies.c.stream == stream) & (tallies.c.kind == CHARGED)
    came = connection.execute(sa.select(tallies.c.number).where(charged)).scalar() or 0
    if came:
        connection.execute(tallies.delete().where(charged))
    add_tallies(connection, stream, {LOST if lost else RELEASED: int(waited) + came})


def add_tallies(connection: Connection, stream: int, numbers: Mapping[str, int]) -> None:
    """Count more events, by kind."""
    for kind, number in numbers.items():
        if not number:
            continue
        this_kind = (tallies.c.stream == stream) & (tallies.c.kind == kind)
        if update(connection, tallies, this_kind, number=lambda before, more=number: before + more) == 0:
            connection.execute(tallies.insert().values(stream=stream, kind=kind, number=number))


def replace_refused(connection: Connection, stream: int, numbers: Mapping[str, int]) -> None:
    """Count the refused events of a run that reads whole files, in place of those of the run before.

    The next run may read the same files again, and would count the same events again.
    """
    kept = (ACCEPTED, *WITH_THEIR_SLOT)
    connection.execute(tallies.delete().where(tallies.c.stream == stream, tallies.c.kind.not_in(kept)))
    add_tallies(connection, stream, numbers)


def read_tallies(connection: Connection, stream: int) -> dict[str, int]:
    """How many events were accepted and refused so far, by kind; `read_account` says where the accepted ones are."""
    order = sa.select(tallies.c.kind, tallies.c.number).where(tallies.c.stream == stream).order_by(tallies.c.kind)
    return {kind: number for kind, number in connection.execute(order) if kind not in WITH_THEIR_SLOT}
