"""Refuses a second stream over the same people, unless its configuration says that they are shared.

Every stream spends a budget of its own: a person who is listed in two loses what both promise together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.errors import SharedPeople
from wevent.store.requirements import AT_ONCE
from wevent.store.schema import people, streams


def one_at_a_time(connection: Connection) -> None:
    """Let no other transaction list people, or begin a stream, until this one ends; otherwise neither sees the other.

    SQLite has one writer at a time anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7084)")


def refuse_shared_people(connection: Connection, stream: int, newcomers: Mapping[str, int | None]) -> None:
    """Raise `SharedPeople` if a newcomer was ever listed in another stream; newcomers come with their lines."""
    names = list(newcomers)
    others = connection.execute(sa.select(streams.c.id, streams.c.name).where(streams.c.id != stream)).all()
    for other in others:
        for first in range(0, len(names), AT_ONCE):
            same_name = people.c.name.in_(names[first : first + AT_ONCE])
            in_other = sa.select(people.c.name).where(people.c.stream == other.id, same_name)
            found = connection.execute(in_other).scalar()
            if found is not None:
                line = newcomers[found]
                who = "a person" if line is None else f"line {line}: a person"
                raise _shared(f"{who} is or was listed in stream {other.name!r} of the same store as well")


def refuse_shared_group(connection: Connection, name: str, settings: Mapping[str, Any]) -> None:
    """Raise `SharedPeople` if a new stream counts unlisted people beside another stream, or another one does.

    Nobody can know whether an unlisted person of this stream is listed, or unlisted, in the other.
    """
    if settings.get("people.shared"):
        return
    others = connection.execute(sa.select(streams.c.name, streams.c.settings).where(streams.c.name != name)).all()
    grouped = [other.name for other in others if json.loads(other.settings).get("people.group") is not None]
    if grouped:
        raise _shared(f"stream {grouped[0]!r} of the same store counts unlisted people, who may be people of this one")
    if others and settings.get("people.group") is not None:
        raise _shared("this stream counts unlisted people, and the same store has other streams that may list them")


def _shared(what: str) -> SharedPeople:
    return SharedPeople(
        f"{what}. Each stream spends a budget of its own, so they would lose what both promise together. If that is "
        "meant, say `shared = true` under [people]; otherwise keep the streams' people apart. Nothing was stored"
    )
