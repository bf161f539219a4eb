"""What the tests of the store share: a small configuration, people, events by chance, and a session over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from wevent.cohorts.requirement import Fixed, Requirement
from wevent.cohorts.requirement_change import RequirementChange
from wevent.config.model import Config
from wevent.config.read import to_config
from wevent.events.formats import RawEvent
from wevent.events.gathering import SlotCells, gather
from wevent.events.timeline import show_instant
from wevent.events.validation import AcceptanceWindow, AcceptedEvents, EventValidator
from wevent.releases.release import Release
from wevent.store.changes import store_changes
from wevent.store.database import Database, open_database
from wevent.store.requirements import last_charged
from wevent.store.session import Session
from wevent.store.streams import open_stream
from wevent.store.witness import Witness

START = 1_714_521_600_000_000
WIDTH = 60_000_000
CELLS = ("north", "south", "east")
LEVELS: list[Requirement] = [Fixed(1, 4), Fixed(2, 4), Fixed(0.5, 6)]


def settings(**parts: dict[str, Any]) -> dict[str, Any]:
    """The tree of a small configuration, parts of it replaced."""
    tree: dict[str, Any] = {
        "stream": {"name": "town"},
        "slots": {"width": "1 min", "first": show_instant(START), "closing": "operator"},
        "cells": {"names": list(CELLS)},
        "privacy": {"mechanism": "pbd", "history_slots": 8},
    }
    for name, part in parts.items():
        tree[name] = {**tree.get(name, {}), **part}
    return tree


def config(**parts: dict[str, Any]) -> Config:
    """A small configuration, parts of it replaced."""
    return to_config(settings(**parts))


def clock() -> int:
    """A clock that stands still, long after the tests' events."""
    return START + 10**6 * WIDTH


class Town:
    """A store on the disk or on a server, and sessions over it."""

    def __init__(
        self, where: str | Path, witness: Path, chosen: Config | None = None, quick: bool = True, **more: Any
    ) -> None:
        self.config = chosen or config()
        self._witness, self._first = witness, self.config.stream.name
        self.where = where
        self.database: Database = open_database(where, create=True, **more)
        if self.database.embedded and quick:
            self.database.close()
            sa.event.listen(self.database.engine, "connect", _without_waiting)

    @property
    def witness(self) -> Witness:
        """The witness of the configured stream; each has one of its own."""
        name = self.config.stream.name
        return Witness(self._witness if name == self._first else self._witness.with_suffix(f".{name}.json"))

    def require(self, requirements: dict[str, Requirement | None], now: int | None = None, **more: Any) -> int:
        """Store what people require; without a time right before the first slot that was not charged."""
        stream = open_stream(self.database, self.config.stream.name, self.config.fixed(), clock, self.witness)
        with self.database.read() as connection:
            next_slot = last_charged(connection, stream.id) + 1
        moment = self.config.slots.timeline.start(next_slot) - 1 if now is None else now
        changes = [RequirementChange(user, asked) for user, asked in requirements.items()]
        return store_changes(self.database, self.config, stream, changes, lambda: moment, **more).total

    def people(self, many: int) -> None:
        """Register people with levels in turn."""
        self.require({f"person-{k}": LEVELS[k % len(LEVELS)] for k in range(many)})

    def session(self, now: Callable[[], int] = clock, **more: Any) -> Session:
        """Open the stream."""
        return Session(self.database, self.config, self.witness, now, **more)


def _without_waiting(connection: Any, _: Any) -> None:
    """Let the system write when it likes: tests end no machine, only processes."""
    connection.execute("PRAGMA synchronous = OFF")


def spy(target: Any, name: str, note: Callable[[Any], None]) -> None:
    """Let a function see the first argument of a method."""
    method = getattr(target, name)

    def call(given: Any, *more: Any) -> Any:
        note(given)
        return method(given, *more)

    setattr(target, name, call)


def sorted_events(session: Session, events: Iterable[tuple[str, int, str]]) -> AcceptedEvents:
    """Events given as user, microseconds since the first slot began, and place, sorted for a session."""
    chosen = session.config
    validator = EventValidator(session.timeline, session.cells, session.people, chosen.people.group is not None)
    return validator.validate(
        (RawEvent(user, START + since, (place,)) for user, since, place in events),
        AcceptanceWindow(session.next_slot, clock()),
    )


def waiting_rows(session: Session, slot: int) -> SlotCells:
    """The rows of a slot from the events that wait in the store."""
    policy = session.config.people.one_cell
    batches = session.intake.batches(slot)
    return gather(slot, batches, policy, session.begin(slot), len(session.cells.names))


def random_rows(session: Session, slot: int, seed: int = 0) -> SlotCells:
    """Rows by chance, from a seed."""
    walk = np.random.default_rng([seed, slot])
    cells = walk.integers(-1, len(session.cells.names), len(session.people))
    return SlotCells(slot, cells, np.zeros(len(session.cells.names), np.int64))


def same(first: Release, second: Release) -> bool:
    """Whether two releases are equal in everything."""
    parts = (first.slot, first.decision, first.threshold, first.error) == (
        second.slot,
        second.decision,
        second.threshold,
        second.error,
    )
    if not parts or first.assumption != second.assumption or (first.raw is None) != (second.raw is None):
        return False
    pairs = [(first.counts, second.counts), (first.standard_error, second.standard_error)]
    if first.raw is not None and second.raw is not None:
        pairs += [(first.raw.counts, second.raw.counts), (first.raw.standard_error, second.raw.standard_error)]
    return all(left.dtype == right.dtype and np.array_equal(left, right) for left, right in pairs)
