"""Cuts time into slots: finds the slot of an instant, and the begin and end of a slot.

All instants are whole microseconds since 1970 in UTC. Slot 1 is the one that holds `first`; slots lie on the grid of
`origin` and `width`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from wevent.errors import InvalidSetting

EARLIEST, LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The years 1 to 9999."""

_LONGEST = 400 * 366 * 86_400_000_000


@dataclass(frozen=True, slots=True)
class Timeline:
    """Where slots begin and end.

    Guarantees:
        Every instant lies in exactly one slot: `start(n) <= t < end(n)` exactly if `number(t) == n`.
        Slot 1 holds `first`.
    """

    origin: int
    width: int
    first: int

    def __post_init__(self) -> None:
        if not 1 <= self.width <= _LONGEST:
            raise InvalidSetting(f"a slot's width must be from 1 microsecond to 400 years, got {self.width} µs")
        for name in ("origin", "first"):
            if not EARLIEST <= getattr(self, name) <= LATEST:
                raise InvalidSetting(f"{name} must lie in the years 1 to 9999")

    def number(self, instant: int) -> int:
        """The slot that holds an instant; 0 and below before the first one."""
        return (instant - self.start(1)) // self.width + 1

    def start(self, slot: int) -> int:
        """The first instant of a slot."""
        return self.origin + ((self.first - self.origin) // self.width + slot - 1) * self.width

    def end(self, slot: int) -> int:
        """The first instant after a slot."""
        return self.start(slot + 1)

    def closed(self, instant: int, lateness: int = 0) -> int:
        """The last slot that is over, with `lateness` to spare, at an instant; 0 for none."""
        return max(0, self.number(instant - lateness) - 1)


@dataclass(frozen=True, slots=True)
class TimesSeen:
    """The first and the last instant among some events, for the operator; None where there was none."""

    first: int | None = None
    last: int | None = None

    def and_also(self, other: TimesSeen) -> TimesSeen:
        """The first and the last of both."""
        firsts = [time for time in (self.first, other.first) if time is not None]
        lasts = [time for time in (self.last, other.last) if time is not None]
        return TimesSeen(min(firsts, default=None), max(lasts, default=None))


def to_instant(text: str) -> int:
    """Read a point in time in ISO 8601; without a zone it is UTC.

    Guarantees:
        Anything else, and years outside 1 to 9999 in UTC, raise `ValueError`.
    """
    moment = datetime.fromisoformat(text)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    apart = moment - _EPOCH
    instant = (apart.days * 86_400 + apart.seconds) * 1_000_000 + apart.microseconds
    if not EARLIEST <= instant <= LATEST:
        raise ValueError("outside the years 1 to 9999")
    return instant


def show_instant(instant: int) -> str:
    """An instant in ISO 8601, in UTC."""
    seconds, micros = divmod(instant, 1_000_000)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=micros)
    return moment.isoformat().replace("+00:00", "Z")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
