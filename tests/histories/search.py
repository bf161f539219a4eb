"""Runs histories of a profile until one fails, shrinks that one, and says what was reached on the way."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.histories.copies import Failure
from tests.histories.events import Ending, History, HistorySlot
from tests.histories.generate import Generator
from tests.histories.profiles import Profile
from tests.histories.reached import Kind, Reached
from tests.histories.run import Check, Run, promises


@dataclass(frozen=True, slots=True)
class Found:
    """A history that fails, and how it was found."""

    history: History
    failure: Failure
    tried: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.failure}\n{self.history}\n(after {self.tried} histories, {self.seconds:.1f} s)"


def search(
    profile: Profile,
    seed: int | str,
    histories: int,
    reached: Reached | None = None,
    *,
    check: Check = promises,
    seconds: float = math.inf,
    like: str = "",
    shrinking: float = 20.0,
) -> Found | None:
    """The first of so many histories that fails, with `like` in what it says, shrunk; None if none does."""
    generator, begun = Generator(profile, seed), time.perf_counter()
    for tried in range(1, histories + 1):
        if time.perf_counter() - begun > seconds:
            return None
        history = generator.history()
        failure, lives = check(history)
        if reached is not None:
            reached.count(lives)
        if failure is not None and like in str(failure):
            spent = time.perf_counter() - begun
            small = shrink(history, failure, check, like, shrinking)
            return Found(small, check(small)[0] or failure, tried, spent)
    return None


def same_spends(history: History) -> tuple[Failure | None, list[list[Kind]]]:
    """Whether compiled rows have everybody spend in every slot what numpy's rows have them spend."""
    slow, fast = Run(replace(history, fast=False)), Run(replace(history, fast=True))
    failure = slow.play() or fast.play()
    for user in slow.town:
        if failure is None and slow.judge.spends(user) != fast.judge.spends(user):
            pairs = zip(slow.judge.spends(user), fast.judge.spends(user), strict=True)
            slot, (numpy, numba) = next((slot, pair) for slot, pair in enumerate(pairs, start=1) if pair[0] != pair[1])
            failure = Failure("numba", f"{user} spends {numpy} with numpy and {numba} with numba in slot {slot}")
    return failure, list(slow.lives.values())


def shrink(history: History, failure: Failure, check: Check = promises, like: str = "", seconds: float = 20) -> History:
    """A shorter history that fails in the same way: parts are left out greedily, as long as any can be."""
    until, changed = time.perf_counter() + seconds, True
    while changed and time.perf_counter() < until:
        changed = False
        for smaller in _smaller(history):
            if time.perf_counter() > until:
                break
            found = check(smaller)[0]
            if found is not None and found.kind == failure.kind and like in str(found):
                history, changed = smaller, True
                break
    return history


def _smaller(history: History) -> Iterator[History]:
    """Histories with one thing less, the boldest first."""
    slots = history.slots
    for keep in (len(slots) // 2, len(slots) * 3 // 4, len(slots) - 1):
        if 0 < keep < len(slots):
            yield replace(history, slots=slots[:keep])
    for step in (8, 4, 2, 1):
        for place in range(0, len(slots) - step + 1):
            yield replace(history, slots=slots[:place] + slots[place + step :])
    for place, slot in enumerate(slots):
        if slot.events:
            yield _with_slot(history, place, replace(slot, events=()))
            for which in range(len(slot.events)):
                yield _with_slot(history, place, replace(slot, events=slot.events[:which] + slot.events[which + 1 :]))
    for place in range(len(history.founders)):
        if len(history.founders) > 1:
            yield replace(history, founders=history.founders[:place] + history.founders[place + 1 :])
    if history.group is not None:
        yield replace(history, group=None)
    for place in range(len(history.others)):
        yield replace(history, others=history.others[:place] + history.others[place + 1 :])
    for place, slot in enumerate(slots):
        if slot.ending is not Ending.PUBLISH:
            yield _with_slot(history, place, replace(slot, ending=Ending.PUBLISH))


def _with_slot(history: History, place: int, slot: HistorySlot) -> History:
    return replace(history, slots=(*history.slots[:place], slot, *history.slots[place + 1 :]))
