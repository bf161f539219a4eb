"""Says when a slot is, from the settings that a stream began with."""

from __future__ import annotations

from typing import Any

from wevent.config.durations import to_microseconds
from wevent.events.timeline import LATEST, Timeline, show_instant, to_instant


class SlotTimes:
    """The calendar of one stream; without settings it knows slot numbers only."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.timeline: Timeline | None = None
        if "slots.width" in settings:
            origin, first = to_instant(settings["slots.origin"]), to_instant(settings["slots.first"])
            self.timeline = Timeline(origin, to_microseconds(settings["slots.width"]), first)

    def slot(self, slot: int) -> str:
        """A slot's number and when it begins: `5 (2024-05-01T01:00:00Z)`."""
        return self._with(str(slot), self._start(slot))

    def span(self, first: int, last: int) -> str:
        """Several slots, from the beginning of the first to the end of the last."""
        begin, end = self._start(first), self._start(last + 1)
        return self._with(f"{first} to {last}", begin and end and f"{begin} to {end}")

    def end(self, slot: int) -> str:
        """When a slot is over; nothing where that is not known."""
        return self._start(slot + 1)

    def _start(self, slot: int) -> str:
        if self.timeline is None or self.timeline.start(slot) > LATEST:
            return ""
        return show_instant(self.timeline.start(slot))

    def _with(self, slots: str, when: str) -> str:
        return f"{slots} ({when})" if when else slots
