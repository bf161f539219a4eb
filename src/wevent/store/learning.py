"""What a publisher learned, kept in the transaction of the charge or release that it belongs to; bytes in, bytes out.

Only the newest of each part is kept: who opens the stream goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.errors import CorruptState
from wevent.releases.release import Decision
from wevent.store.schema import learned, releases

Parts = Mapping[str, bytes]
"""What `releases.keeping.planned` and `learned` give: the state of each part by its name."""


def keep_learned(connection: Connection, stream: int, slot: int, parts: Parts) -> None:
    """Keep what was learned by a slot, instead of what was learned before."""
    for part, state in parts.items():
        mine = (learned.c.stream == stream) & (learned.c.part == part)
        connection.execute(learned.delete().where(mine))
        connection.execute(learned.insert().values(stream=stream, part=part, slot=slot, state=state))


def read_learned(connection: Connection, stream: int, *, plain: bool) -> dict[str, bytes]:
    """The newest of each part.

    Args:
        connection: to the store.
        stream: whose.
        plain: whether the stream's view has nothing to learn.

    Guarantees:
        What a view learned that does not end with the last publication raises `CorruptState`.
    """
    found = connection.execute(sa.select(learned).where(learned.c.stream == stream)).all()
    last = sa.select(sa.func.max(releases.c.slot)).where(
        releases.c.stream == stream, releases.c.decision == Decision.PUBLISHED.value
    )
    seen = next((row.slot for row in found if row.part == "filter"), None)
    if not plain and seen != connection.execute(last).scalar():
        raise CorruptState("what was learned does not end with the last publication; restore the store from a copy")
    return {row.part: row.state for row in found}
