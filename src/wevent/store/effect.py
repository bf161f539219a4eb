"""Decides from which slot on a requirement change is in force: `first_slot_in_force` is the only rule for it.

A change is in force after every slot that was charged or had begun when it was stored. Where the clock or the operator
closes slots, a slot has begun once the clock reaches its start. Where files close slots, the clock says nothing (files
may be years old): a slot has begun once a run that releases files has taken its events.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.config.model import Config
from wevent.errors import StoreError
from wevent.store.checksums import update
from wevent.store.requirements import last_charged
from wevent.store.schema import streams
from wevent.store.writer import Writer


def first_slot_in_force(charged_slot: int, begun_slot: int, latest_slot: int = 0) -> int:
    """The first slot in which a requirement change is in force.

    Args:
        charged_slot: the last charged slot.
        begun_slot: the last slot that has begun.
        latest_slot: from which slot on the person's latest change is in force, 0 if there is none.

    Guarantees:
        The slot lies after both of the first two and not before the third.
    """
    return max(charged_slot + 1, begun_slot + 1, latest_slot)


def slot_of_clock(config: Config, now: int) -> int:
    """The last slot that has begun by the clock, 0 before the first."""
    return max(0, config.slots.timeline.number(now))


def begun_slot(connection: Connection, config: Config, stream: int, now: int) -> int:
    """The last slot that has begun: by the clock, or by the files whose events were taken; 0 if there is none."""
    if config.slots.closing != "files":
        return slot_of_clock(config, now)
    return int(connection.execute(sa.select(streams.c.files_begun_slot).where(streams.c.id == stream)).scalar_one())


def current_slot(connection: Connection, config: Config, stream: int, now: int) -> int:
    """The newest slot that was charged or has begun: what is stored now is in force after it."""
    return max(last_charged(connection, stream), begun_slot(connection, config, stream, now))


@contextmanager
def slots_begun_by_files(writer: Writer, last: int) -> Iterator[None]:
    """Release files up to a slot: requirement changes that are stored meanwhile are in force after it.

    When this ends early, the events that were taken and not released are dropped. The next run takes them anew, and
    changes stored in between are in force for them. After a kill they are in force after the slot given here.
    """
    this_stream = streams.c.id == writer.stream.id
    with writer.transaction() as connection:
        update(connection, streams, this_stream, files_begun_slot=last)
    try:
        yield
    finally:
        with suppress(StoreError), writer.transaction() as connection:
            update(connection, streams, this_stream, files_begun_slot=last_charged(connection, writer.stream.id))
