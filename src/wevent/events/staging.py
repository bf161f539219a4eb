"""Stages validated events in tables inside DuckDB, whatever the format they came in, and orders them by slot.

A refused event is staged too, with a negative slot that says why, so that every event is counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wevent.events.cells import GridCells
from wevent.events.refusals import Refusal
from wevent.events.validation import AcceptanceWindow, AcceptedEvents, EventValidator

if TYPE_CHECKING:
    import duckdb

ACCEPTED = "accepted"
"""The tally of accepted events."""

REFUSED_SLOTS = {kind: -1 - k for k, kind in enumerate(Refusal)}
"""The negative slot that a refused event has in the table, by reason."""


class Staging:
    """Tables of people, cells and events inside DuckDB."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, validator: EventValidator, acceptance_window: AcceptanceWindow
    ) -> None:
        self.validator, self.acceptance_window = validator, acceptance_window
        self._connection = connection
        ids = np.array(list(validator.people.values()), np.int32)
        self._fill("people", "name VARCHAR, id INTEGER", {"name": _words(list(validator.people)), "id": ids})
        cells = [] if isinstance(validator.cells, GridCells) else list(validator.cells.names)
        self._fill(
            "cells", "name VARCHAR, id INTEGER", {"name": _words(cells), "id": np.arange(len(cells), dtype=np.int32)}
        )
        connection.execute(
            "CREATE TABLE staged (slot BIGINT, person INTEGER, unlisted VARCHAR, k BIGINT, cell INTEGER)"
        )

    @property
    def select(self) -> str:
        """The select of the events that were inserted."""
        return "SELECT slot, person, unlisted, k, cell FROM staged"

    def insert(self, events: AcceptedEvents) -> None:
        """Insert events that were validated in Python; their slots are counted from the first one that is open."""
        if not events.slot.size:
            return
        names = [events.unlisted[-1 - person] if person < 0 else None for person in events.person.tolist()]
        batch = {
            "slot": events.slot - self.acceptance_window.first,
            "person": np.maximum(events.person, -1).astype(np.int32),
            "unlisted": _words(names),
            "k": events.offset,
            "cell": events.cell.astype(np.int32),
        }
        self._connection.register("batch", batch)
        self._connection.execute("INSERT INTO staged SELECT * FROM batch")
        self._connection.unregister("batch")

    def order(self, selects: Sequence[str]) -> list[tuple[int, int, int, int]]:
        """Put all events into the table `events` by slot; return each slot, its first and last row, and how many."""
        columns = "slot, person, k, cell" + (", unlisted" if self.validator.group else "")
        everything = " UNION ALL ".join(selects)
        self._connection.execute(f"CREATE TABLE events AS SELECT {columns} FROM ({everything}) ORDER BY slot")  # noqa: S608
        ranges = "SELECT slot, min(rowid), max(rowid), count(*) FROM events GROUP BY slot"
        return self._connection.execute(ranges).fetchall()

    def _fill(self, table: str, columns: str, batch: dict[str, npt.NDArray[Any]]) -> None:
        self._connection.execute(f"CREATE TABLE {table} ({columns})")
        if len(batch["id"]):
            self._connection.register("batch", batch)
            self._connection.execute(f"INSERT INTO {table} SELECT * FROM batch")  # noqa: S608
            self._connection.unregister("batch")


def _words(words: Sequence[str | None]) -> npt.NDArray[Any]:
    column = np.empty(len(words), object)
    column[:] = words
    return column
