"""Names the reasons for which an event is not accepted, and says what an operator can do about each.

A reason names the setting or the part of the source that is wrong, never what the event holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Refusal(StrEnum):
    """Why an event is not accepted; in this order, the first that holds."""

    MALFORMED = "malformed"
    """No line of its format: broken quotes, another number of fields, no JSON object, not UTF-8, too long."""
    UNFINISHED = "without an end of line"
    """The last line of a file that may have been cut off in the middle of a word."""
    INCOMPLETE = "without a declared column"
    """A field that the settings name is missing or null."""
    USERLESS = "with an unusable user"
    PLACELESS = "with an unusable place"
    UNTIMED = "with an unreadable time"
    IN_WORDS = "with a time in ISO 8601 where a number is declared"
    SECONDS = "with a time that looks like seconds since 1970"
    MILLISECONDS = "with a time that looks like milliseconds since 1970"
    MICROSECONDS = "with a time that looks like microseconds since 1970"
    NANOSECONDS = "with a time that looks like nanoseconds since 1970"
    EARLY = "before the first slot"
    LATE = "late"
    """Its slot is closed."""
    FUTURE = "in the future"
    """Later than the clock, or the operator, allows."""
    UNLISTED = "of unlisted people"
    OUTSIDE = "outside the cells"


_NAMES = "text of 1 to 512 characters, or a whole number"
HINTS: dict[Refusal, str] = {
    Refusal.MALFORMED: "look at the file: is it CSV or NDJSON in UTF-8, one event a line, with sources.delimiter?",
    Refusal.UNFINISHED: "end the file with a newline, or set sources.unterminated = 'accept' if its writer never does",
    Refusal.INCOMPLETE: "sources.user, .time and .place name fields at the top level of each object",
    Refusal.USERLESS: f"a user is {_NAMES}",
    Refusal.PLACELESS: f"a place is {_NAMES}; with cells.grid, two finite numbers of degrees",
    Refusal.UNTIMED: "times must be in ISO 8601, such as 2024-05-01T12:00:00Z, or numbers with sources.time_unit",
    Refusal.IN_WORDS: "set sources.time_unit = 'iso'",
    Refusal.SECONDS: "set sources.time_unit = 's'",
    Refusal.MILLISECONDS: "set sources.time_unit = 'ms'",
    Refusal.MICROSECONDS: "set sources.time_unit = 'us'",
    Refusal.NANOSECONDS: "write times in ISO 8601 or in microseconds, with sources.time_unit = 'us'",
    Refusal.EARLY: "compare slots.first with the first and last time that were seen",
    Refusal.LATE: "their slots are closed; slots.lateness says how long a slot waits",
    Refusal.FUTURE: "compare the clock, --until and slots.ahead with the last time that was seen",
    Refusal.UNLISTED: "import their requirements, or declare people.group",
    Refusal.OUTSIDE: "add the place to the cells of a new stream, or declare cells.other",
}
"""What to do about each reason."""


class RefusedEvent(ValueError):
    """One event cannot be accepted; `kind` says why. Its words hold nothing of the event."""

    def __init__(self, kind: Refusal) -> None:
        super().__init__(kind.value)
        self.kind = kind


def advise(tallies: Mapping[str, int]) -> list[str]:
    """A line for every reason among tallies of events, the most frequent first: how many, why, and what to do."""
    counted = sorted(((kind, tallies.get(kind.value, 0)) for kind in Refusal), key=lambda pair: -pair[1])
    return [f"{number:,} {kind.value}: {HINTS[kind]}" for kind, number in counted if number]


def likely_unit(number: float) -> Refusal:
    """Which unit a number has if it counts from 1970 to some time between 1973 and 5138."""
    size = abs(number)
    for least, kind in (
        (1e8, Refusal.SECONDS),
        (1e11, Refusal.MILLISECONDS),
        (1e14, Refusal.MICROSECONDS),
        (1e17, Refusal.NANOSECONDS),
    ):
        if least <= size < least * 1_000:
            return kind
    return Refusal.UNTIMED
