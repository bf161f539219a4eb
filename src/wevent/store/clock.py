"""Notices when the clock that closes slots was set: compares it with one that only ever runs.

A clock that jumps ahead would close slots early and make punctual events late. So no slot is closed while the two
clocks are further apart than a limit. Small steps, as time servers make them, are followed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from wevent.store.writer import Clock

_CLOSE = 10_000
"""Microseconds between two readings that count as one moment."""


@dataclass(frozen=True, slots=True)
class ClockReading:
    """What time it is, in microseconds since 1970 UTC; `jump` is how far the clock is off, 0 if it can be trusted."""

    now: int
    jump: int


class GuardedClock:
    """A clock that is watched by a steady one.

    Guarantees:
        While the clock is off by more than `limit` microseconds, `read` says so and tells the time it should be.
        A clock that comes back is trusted again.
    """

    def __init__(self, clock: Clock, limit: int, steady: Clock | None = None) -> None:
        self._clock, self._limit, self._steady = clock, limit, steady or running_time
        now, ran = self._both()
        self._start = now - ran

    def read(self) -> ClockReading:
        """The time, and whether it can be believed."""
        now, ran = self._both()
        jump = now - ran - self._start
        if abs(jump) > self._limit:
            return ClockReading(self._start + ran, jump)
        self._start += jump
        return ClockReading(now, 0)

    def _both(self) -> tuple[int, int]:
        """Both clocks at one moment; tried again if the process was held up in between."""
        for _ in range(5):
            before, now = self._steady(), self._clock()
            if self._steady() - before < _CLOSE:
                break
        return now, before


def running_time() -> int:
    """Microseconds since the machine started, the time it slept included; nobody can set it."""
    kind = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(kind) // 1_000
