"""What the tests of requirement changes share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.store.scene import Town, config

from wevent import Fixed
from wevent.store.requirements import StoredChange, read_changes
from wevent.store.session import Session

STRICT, LENIENT = Fixed(0.1, 4), Fixed(50, 4)


def make(folder: Path, name: str = "town", **parts: Any) -> Town:
    """A town with a store of its own."""
    chosen = config(**parts)
    return Town(folder / f"{name}.db", folder / f"{name}-{chosen.stream.name}.json", chosen)


def stored_changes(town: Town, stream: int = 1) -> list[StoredChange]:
    """All requirement changes of a stream."""
    with town.database.read() as connection:
        return list(read_changes(connection, stream))


def in_force(session: Session, user: str) -> tuple[int, int]:
    """Epsilon in units and window of what a person requires in the next slot."""
    members = session._publisher.members
    row = int(members.rows()[members.register.position(session.people[user])])
    found = members.ledger.versions.in_force(row)
    assert found is not None
    return int(found[0]), int(found[1])
