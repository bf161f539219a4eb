"""Asks the operator before a command does something that is more likely a mistake."""

from __future__ import annotations

from wevent.cli.output import agrees, say
from wevent.config.model import Config
from wevent.errors import InvalidSetting
from wevent.events.timeline import Timeline, TimesSeen, show_instant
from wevent.settings import MANY_SLOTS

EMPTY_SLOTS = 24
"""So many slots without an event, before the first or behind the last one, are not worth a question."""


def _far(timeline: Timeline, first: int, last: int, seen: TimesSeen | None, until: int | None) -> bool:
    """Whether most of the due slots lie before the first or, without `until`, behind the last event."""
    if seen is None or seen.first is None or seen.last is None:
        return False
    begin, end = timeline.number(seen.first), timeline.number(seen.last)
    empty = max(begin - first, last - end if until is None else 0)
    return empty > max(EMPTY_SLOTS, end - begin + 1)


def check_until(config: Config, until: int | None, now: int) -> None:
    """Refuse an end before the first slot is over, by which no slot can ever be due; say what one in the future does.

    Guarantees:
        Nothing is read or stored.
    """
    if until is None:
        return
    timeline = config.slots.timeline
    if until < timeline.end(1):
        raise InvalidSetting(
            f"no slot can ever be due by --until {show_instant(until)}: the first one, which slots.first says, goes "
            f"from {show_instant(timeline.start(1))} to {show_instant(timeline.end(1))}. Correct slots.first or "
            "--until. Nothing was stored"
        )
    if until > now and config.slots.closing != "arrival":
        say(
            f"--until {show_instant(until)} is in the future: a slot that is not over cannot be released, so slots "
            "count as due up to now and no further"
        )


def confirm_many(
    config: Config,
    next_slot: int,
    last: int,
    seen: TimesSeen | None = None,
    *,
    until: int | None = None,
    asking: bool = True,
) -> None:
    """Ask before slots are released that no clock closes and that are more likely a wrong year or a forgotten end.

    Guarantees:
        Without a yes from a terminal, more than `MANY_SLOTS` slots raise `InvalidSetting`, and so do more than
        `EMPTY_SLOTS` slots before the first event, or behind the last one if `until` names no end, where they are
        more than the slots between the two; nothing was released.
    """
    due, timeline = last - next_slot + 1, config.slots.timeline
    if config.slots.closing == "arrival" or (due <= MANY_SLOTS and not _far(timeline, next_slot, last, seen, until)):
        return
    times = ""
    if seen is not None and seen.first is not None and seen.last is not None:
        times = f". The events have times from {show_instant(seen.first)} to {show_instant(seen.last)}"
    words = (
        f"{due:,} slots are due, from {show_instant(timeline.start(next_slot))} to {show_instant(timeline.end(last))}, "
        f"and each is released and charged, empty ones too{times}"
    )
    if not (asking and agrees(f"{words}.\nRelease them all?")):
        raise InvalidSetting(
            f"{words}. If that is meant, say `--yes`; otherwise compare slots.first, or say where to stop (`--until`). "
            "Nothing was released",
            due=due,
        )
