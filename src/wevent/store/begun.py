"""Knows which slots have begun, so that requirement changes hold in later ones only.

Where the clock or the operator closes slots, a slot has begun once the clock reaches its start. Where files close
slots, the clock says nothing (files may be years old): a slot has begun once a run that releases files has taken its
events.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.config.model import Config
from wevent.errors import StoreError
from wevent.store.requirements import last_charged
from wevent.store.rows import update
from wevent.store.schema import streams
from wevent.store.writer import Writer


def begun_slot(connection: Connection, config: Config, stream: int, now: int) -> int:
    """The last slot that has begun: by the clock, or by the files that were handed over; 0 if there is none."""
    if config.slots.closing != "files":
        return max(0, config.slots.timeline.number(now))
    return int(connection.execute(sa.select(streams.c.handed).where(streams.c.id == stream)).scalar_one())


def current_slot(connection: Connection, config: Config, stream: int, now: int) -> int:
    """The newest slot that was charged or has begun: what is stored now holds after it."""
    return max(last_charged(connection, stream), begun_slot(connection, config, stream, now))


@contextmanager
def handing_over(writer: Writer, last: int) -> Iterator[None]:
    """Files are being released up to a slot: changes that are stored meanwhile hold after it.

    When it ends early, what was handed over and not released is gone; the next run hands it over anew, and changes
    stored in between hold for it. After a kill they hold after the last slot that was handed over.
    """
    mine = streams.c.id == writer.stream.id
    with writer.transaction() as connection:
        update(connection, streams, mine, handed=last)
    try:
        yield
    finally:
        with suppress(StoreError), writer.transaction() as connection:
            update(connection, streams, mine, handed=last_charged(connection, writer.stream.id))
