"""Checks that requirement changes took effect only in slots that began after they were stored.

The store says of every change when it was stored, which slot had been charged and which had begun by then. Where slots
follow the clock, the time of storing is compared with the slots' own times as well.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wevent.config.durations import to_microseconds
from wevent.events.timeline import Timeline, to_instant
from wevent.reports.findings import Violation
from wevent.reports.history import StreamHistory


def early_changes(history: StreamHistory) -> Iterator[Violation]:
    """Every way in which changes took effect that no change may, once for each, with the first such slot.

    Guarantees:
        Nothing exactly if every change holds after the last charged slot and the last begun one, as they were when it
        was stored, and not before the same person's earlier changes.
    """
    changes = history.changes
    if changes is None or not changes.from_slot.size:
        return
    wrong = {
        "a requirement change took effect in a slot that was charged before it was stored": (
            changes.from_slot <= changes.charged_slot
        ),
        "a requirement change took effect in a slot that had begun before it was stored": (
            (changes.from_slot <= changes.begun_slot) | (changes.from_slot <= _clock_slot(history))
        ),
        "an older requirement change took effect after a newer one of the same person": _overtaken(history),
    }
    for what, found in wrong.items():
        if found.any():
            people = np.unique(changes.person[found]).size
            yield Violation(int(changes.from_slot[found].min()), what, people)


def _clock_slot(history: StreamHistory) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The slot that held the time of storing, 0 where files close slots (axes: change)."""
    settings, changes = history.settings, history.changes
    assert changes is not None  # noqa: S101
    if settings.get("slots.closing", "files") == "files" or "slots.width" not in settings:
        return np.zeros(changes.from_slot.size, np.int64)
    origin, first = to_instant(settings["slots.origin"]), to_instant(settings["slots.first"])
    timeline = Timeline(origin, to_microseconds(settings["slots.width"]), first)
    return (changes.stored - timeline.start(1)) // timeline.width + 1


def _overtaken(history: StreamHistory) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Changes that hold from an earlier slot on than a change of the same person that was stored before."""
    changes = history.changes
    assert changes is not None  # noqa: S101
    order = np.lexsort((changes.number, changes.person))
    person, from_slot = changes.person[order], changes.from_slot[order]
    earlier = np.zeros(from_slot.size, bool)
    earlier[1:] = (person[1:] == person[:-1]) & (from_slot[1:] < from_slot[:-1])
    found = np.zeros(from_slot.size, bool)
    found[order] = earlier
    return found & ~changes.refused
