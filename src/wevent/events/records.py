"""Reads events that a Python program hands over: triples of user, time and place, or a DataFrame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from datetime import datetime
from typing import Any, cast

import numpy as np

from wevent.events.formats import Columns, RawEvent
from wevent.events.frames import DataFrame, read_column
from wevent.events.refusals import Refusal, RefusedEvent

Event = tuple[Hashable, datetime | str | float, Any]
"""User, time and place; the place is a pair of longitude and latitude where the cells are a grid."""


def read_records(
    events: Iterable[Event] | DataFrame, columns: Columns, refused: Counter[Refusal]
) -> Iterator[RawEvent]:
    """The events of a program; what is no event is counted in `refused` by its reason.

    Args:
        events: triples, or a frame with the columns that `columns` names.
        columns: the names of a frame's columns, and the unit of times that are numbers.
        refused: counts of refusals, which grow while the result is read.
    """
    for user, time, place in _rows(events, columns):
        parts = place if isinstance(place, tuple) else (place,)
        if len(parts) != len(columns.place):
            refused[Refusal.PLACELESS] += 1
            continue
        try:
            yield columns.event(_plain(user), _plain(time), tuple(map(_plain, parts)))
        except RefusedEvent as refusal:
            refused[refusal.kind] += 1


def _rows(events: Iterable[Event] | DataFrame, columns: Columns) -> Iterable[Event]:
    if not hasattr(events, "columns"):
        return events
    user, time, *place = (read_column(cast("DataFrame", events), name, optional=True) for name in columns.all)
    return zip(user, time, zip(*place, strict=True), strict=True)


def _plain(value: Any) -> Any:
    """A number of numpy as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
