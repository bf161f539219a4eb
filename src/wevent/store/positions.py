"""Keeps how far each file of a stream was read, beside the events that were read from it."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.events.following import ReadPosition
from wevent.store.schema import sources


def keep_position(connection: Connection, stream: int, position: ReadPosition) -> None:
    """Keep how far a file was read, in place of what was known of it."""
    forget_position(connection, stream, position)
    connection.execute(
        sources.insert().values(
            stream=stream,
            name=position.name,
            file=position.file,
            place=position.place,
            line=position.line,
            fingerprint=position.fingerprint,
        )
    )


def forget_position(connection: Connection, stream: int, position: ReadPosition) -> None:
    """Forget a file that was read to its end and has lost its name."""
    same = (sources.c.name == position.name) & (sources.c.file == position.file)
    connection.execute(sources.delete().where(sources.c.stream == stream, same))


def read_positions(
    connection: Connection, stream: int, *, name: str | None = None, file: str | None = None
) -> list[ReadPosition]:
    """The positions in files that were given under a name, or in files of one inode under any name."""
    order = sa.select(sources).where(sources.c.stream == stream)
    if name is not None:
        order = order.where(sources.c.name == name)
    if file is not None:
        order = order.where(sources.c.file == file)
    found = connection.execute(order.order_by(sources.c.name, sources.c.file))
    return [ReadPosition(row.name, row.file, row.place, row.line, row.fingerprint) for row in found]
