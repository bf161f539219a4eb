"""Asks the operator before a command does something that is more likely a mistake."""

from __future__ import annotations

from wevent.cli.output import agrees, say
from wevent.config.model import Config
from wevent.errors import InvalidSetting
from wevent.events.timeline import TimesSeen, show_instant
from wevent.store.due_slots import worth_a_question


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
        Without a yes from a terminal, slots that are `worth_a_question` raise `InvalidSetting`; nothing was released.
    """
    due, timeline = last - next_slot + 1, config.slots.timeline
    if config.slots.closing == "arrival" or not worth_a_question(timeline, next_slot, last, seen, until):
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
