"""Decides up to which slot a stream may be released now, and refuses slots in which nobody is registered."""

from __future__ import annotations

from wevent.config.model import Config
from wevent.errors import EmptyRegister, InvalidSetting
from wevent.events.timeline import Timeline, TimesSeen, show_instant
from wevent.settings import MANY_SLOTS
from wevent.store.requirements import first_registered
from wevent.store.session import Session

MOST_SLOTS = 1_000_000
"""More slots than this in one go are more likely a wrong year than an intention."""

EMPTY_SLOTS = 24
"""So many slots without an event, before the first or behind the last one, are not worth a question."""


def last_slot(session: Session, until: int | None, now: int | None = None) -> int:
    """The last slot of a session that may be released."""
    return last_due(session.config, session.next_slot, until, session.writer.clock() if now is None else now)


def last_due(config: Config, next_slot: int, until: int | None, now: int) -> int:
    """The last slot that may be released: by the operator's word, or by the clock; never by an event."""
    closed = _closed(config, until, now)
    if closed - next_slot >= MOST_SLOTS:
        raise InvalidSetting(
            f"{closed - next_slot + 1:,} slots are due, and at most {MOST_SLOTS:,} are released in one go; "
            "say where to stop (`--until`)"
        )
    return closed


def count_due(session: Session, until: int | None) -> int:
    """How many slots are due and not released."""
    return max(0, _closed(session.config, until, session.writer.clock()) - session.next_slot + 1)


def _closed(config: Config, until: int | None, now: int) -> int:
    slots, timeline = config.slots, config.slots.timeline
    if until is None and slots.closing == "operator":
        return 0
    closed = timeline.closed(now, slots.lateness if slots.closing == "arrival" else 0)
    return closed if until is None else min(closed, timeline.closed(until))


def worth_a_question(timeline: Timeline, first: int, last: int, seen: TimesSeen | None, until: int | None) -> bool:
    """Whether releasing these slots is more likely a wrong year or a forgotten end than meant.

    Guarantees:
        More than `MANY_SLOTS` slots are. So are more than `EMPTY_SLOTS` slots before the first event, or behind the
        last one if `until` names no end, where they are more than the slots between the two.
    """
    if last - first + 1 > MANY_SLOTS:
        return True
    if seen is None or seen.first is None or seen.last is None:
        return False
    begin, end = timeline.number(seen.first), timeline.number(seen.last)
    empty = max(begin - first, last - end if until is None else 0)
    return empty > max(EMPTY_SLOTS, end - begin + 1)


def check_served(session: Session, last: int) -> None:
    """Refuse slots that are all over before anybody's requirement is in force: each of them would be lost."""
    with session.writer.database.read() as connection:
        from_slot = first_registered(connection, session.writer.stream.id)
    if session.config.people.group is None and (from_slot is None or from_slot > last):
        raise nobody_served(session.config, session.next_slot, last, from_slot)


def nobody_served(config: Config, first: int, last: int, from_slot: int | None) -> EmptyRegister:
    """The error for slots in which nobody is registered."""
    when = (
        ""
        if from_slot is None
        else f": requirements hold from slot {from_slot:,} on ({show_instant(config.slots.timeline.start(from_slot))})"
    )
    return EmptyRegister(
        f"nobody is registered in slots {first:,} to {last:,}{when}, since a requirement holds in slots that begin "
        "after it was stored. Nothing was charged. Publish the past with closing = 'files'; `--allow-empty` gives "
        "these slots up"
    )
