"""Judges whether every promise that was ever made to a person was kept, from what that person really spent.

It knows people by name, slot by slot, and nothing of rows, cohorts, ledgers or copies of a store: what a row was
charged for a person, in whichever copy, is that person's spend. Whole numbers and plain loops, from the specification
alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from tests.histories.events import Req, show
from tests.oracle import FixedReq


@dataclass(frozen=True, slots=True)
class Window:
    """One window of one promise: what it holds and what it may hold."""

    user: str
    promise: str
    first: int
    last: int
    spent: int
    allowed: int

    @property
    def broken(self) -> bool:
        """Whether it holds too much."""
        return self.spent > self.allowed

    def __str__(self) -> str:
        what = f"{self.user}: {self.promise}, slots {self.first} to {self.last}"
        return f"{what} hold {self.spent / 1e9:g} of {self.allowed / 1e9:g}"


class Judge:
    """What each person was promised and spent, slot by slot."""

    def __init__(self) -> None:
        self._promised: dict[str, list[Req | None]] = {}
        self._spent: dict[str, list[int]] = {}

    def note(self, user: str, slot: int, requirement: Req | None, spent: int) -> None:
        """What was in force for a person in a slot, None for nothing, and what they spent in all."""
        promised, spends = self._promised.setdefault(user, []), self._spent.setdefault(user, [])
        if slot <= len(spends):
            raise ValueError(f"slot {slot} was judged before: a slot is drawn once")
        missing = slot - 1 - len(spends)
        promised += [*[None] * missing, requirement]
        spends += [*[0] * missing, spent]

    def spends(self, user: str) -> list[int]:
        """What a person spent, slot by slot from 1 on."""
        return list(self._spent.get(user, []))

    def promises(self, user: str) -> list[Req | None]:
        """What was in force for a person, slot by slot from 1 on."""
        return list(self._promised.get(user, []))

    def broken(self) -> list[Window]:
        """Every window that holds more than was promised."""
        return [window for window in self.windows() if window.broken]

    def windows(self) -> Iterator[Window]:
        """Every window of every promise, those left out that the promise excuses."""
        for user in self._spent:
            yield from self._windows(user)

    def _windows(self, user: str) -> Iterator[Window]:
        spends, promised = self._spent[user], self._promised[user]
        total, end = [0, *accumulate(spends)], len(spends)

        def spent(first: int, last: int) -> int:
            return total[min(last, end)] - total[min(max(first, 1) - 1, end)] if first <= last else 0

        begin = 0
        for slot in range(1, end + 1):
            required = promised[slot - 1]
            if isinstance(required, FixedReq):
                # In force without a break from slot `begin` on. Every window of w slots that touches a slot in force
                # holds at most E, or only what it held before `begin`.
                begin = begin if slot > 1 and promised[slot - 2] == required else slot
                since = slot - required.window + 1 if slot == begin else slot
                for first in range(since, slot + 1):
                    last = first + required.window - 1
                    if spent(max(first, begin), last):
                        held = spent(first, last)
                        yield Window(user, f"{show(required)} from slot {begin}", first, last, held, required.epsilon)
            elif required is not None:
                # Declared in every slot anew: forward from here on; backward, unless this slot adds nothing.
                name, ahead = f"{show(required)} at slot {slot}", slot + required.forward_window - 1
                yield Window(user, f"forward {name}", slot, ahead, spent(slot, ahead), required.forward_epsilon)
                back = slot - required.back_window + 1
                if spends[slot - 1]:
                    yield Window(user, f"backward {name}", back, slot, spent(back, slot), required.back_epsilon)
