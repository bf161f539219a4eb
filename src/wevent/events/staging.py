"""Keeps the tables of people, cells and events inside DuckDB while files are grouped."""

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
"""The tally of events that were taken."""

REFUSALS = {-1 - k: kind.value for k, kind in enumerate(Refusal)}
"""In the table, a refused event has a negative slot that tells why."""


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
            "CREATE TABLE staged (slot BIGINT, person INTEGER, stranger VARCHAR, k BIGINT, cell INTEGER)"
        )

    @property
    def select(self) -> str:
        """The events that were inserted."""
        return "SELECT slot, person, stranger, k, cell FROM staged"

    def insert(self, events: AcceptedEvents) -> None:
        """Hand over events that were sorted elsewhere."""
        if not events.slot.size:
            return
        unlisted = [events.unlisted[-1 - person] if person < 0 else None for person in events.person.tolist()]
        batch = {
            "slot": events.slot - self.acceptance_window.first,
            "person": np.maximum(events.person, -1).astype(np.int32),
            "stranger": _words(unlisted),
            "k": events.offset,
            "cell": events.cell.astype(np.int32),
        }
        self._connection.register("batch", batch)
        self._connection.execute("INSERT INTO staged SELECT * FROM batch")
        self._connection.unregister("batch")

    def ordering(self, selects: Sequence[str]) -> list[str]:
        """Statements that put all events into the table `events`, slot after slot, refused ones first."""
        columns = "slot, person, k, cell" + (", stranger" if self.validator.group else "")
        return [f"CREATE TABLE events AS SELECT {columns} FROM ({' UNION ALL '.join(selects)}) ORDER BY slot"]  # noqa: S608

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
