"""Was every promise kept? A stream's history comes in, every promise with its worst window goes out.

The judge is `budgets.feasibility`, plain loops over whole numbers; nothing here is shared with the ledger that
decided what to spend, and the import linter watches over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wevent.budgets.feasibility import DynamicPromise, FixedPromise, Promise, Use, uses
from wevent.reports.history import GROUP, Asked, History, SlotRecord
from wevent.units import show

Progress = Callable[[int, int], None]
"""Called with how many classes of people are done, and how many there are."""

_EVERYTHING = 10**15


@dataclass(frozen=True, slots=True)
class Terms:
    """What was promised, in units and slots as people asked for it; the backward side is 0 for a fixed requirement."""

    kind: str
    epsilon: int
    window: int
    backward_epsilon: int = 0
    backward_window: int = 0

    def __str__(self) -> str:
        ahead = f"epsilon={show(self.epsilon)} over {self.window} slots"
        if self.kind == "fixed":
            return ahead
        return f"forward {ahead}, backward epsilon={show(self.backward_epsilon)} over {self.backward_window} slots"


@dataclass(frozen=True, slots=True)
class Line:
    """A promise, how many people it was made to, and its worst window.

    Attributes:
        terms: what was promised.
        people: how many; the declared group counts as one row of its declared size.
        windows: how many windows of classes of people were looked at.
        worst: the window of the largest spent over allowed; None if nothing was spent in any.
    """

    terms: Terms
    people: int
    windows: int
    worst: Use | None


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken promise, or a history that cannot be trusted.

    Attributes:
        slot: the exact slot in which it happened.
        what: what is wrong, in words that name no user.
        people: how many people it concerns; 0 for the history itself.
    """

    slot: int
    what: str
    people: int


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found.

    Attributes:
        stream: its name.
        slots: how many slots were looked at.
        people: how many people were ever promised anything.
        classes: how many different pasts they have.
        lines: every promise with its worst window.
        violations: in the order of slots; empty if every promise was kept.
        decisions: how many slots ended how.
        forfeited: slots given up after a restore.
    """

    stream: str
    slots: int
    people: int
    classes: int
    lines: list[Line]
    violations: list[Violation]
    decisions: dict[str, int]
    forfeited: list[int] = field(default_factory=list)

    @property
    def kept(self) -> bool:
        """Whether every promise was kept."""
        return not self.violations


def audit(history: History, progress: Progress | None = None) -> Audit:
    """Prove from the stored history that no window of anybody's ever held more than was promised.

    Guarantees:
        `kept` exactly if every slot was charged and ended once and in order, everybody with a requirement in force was
        charged, and every window of every promise holds at most its budget.
        Windows that reach into slots given up after a restore hold nothing spent after them.
    """
    found = list(_whole_history(history))
    carry = int(history.settings.get("people.carry", 1))
    last = history.slots[-1].slot if history.slots else 0
    spent = {record.slot: record.spent for record in history.slots if not record.forfeited}
    forfeited = [record.slot for record in history.slots if record.forfeited]
    lines: dict[Terms, _Tally] = {}
    classes = _classes(history)
    for done, ((seats, asked), people) in enumerate(classes.items(), start=1):
        sizes = _people(people, history)
        units, missing = _spends(seats, asked, spent, last)
        if missing is not None:
            found.append(Violation(missing, "somebody with a requirement in force was not charged", sizes))
        for terms, promises in _promises(asked, last, carry):
            tally = lines.setdefault(terms, _Tally())
            tally.people += sizes
            broken = tally.look(units, promises, forfeited)
            if broken is not None:
                found.append(_broken(broken, terms, units, forfeited, carry, sizes))
        if progress is not None:
            progress(done, len(classes))
    decisions: dict[str, int] = {}
    for record in history.slots:
        decisions[record.decision or "unreleased"] = decisions.get(record.decision or "unreleased", 0) + 1
    told = [Line(terms, tally.people, tally.windows, tally.worst) for terms, tally in lines.items()]
    found.sort(key=lambda violation: (violation.slot, violation.what))
    everybody = len([person for person in history.asked if person != GROUP])
    return Audit(history.name, last, everybody, len(classes), told, found, decisions, forfeited)


class _Tally:
    """The worst window of a promise so far."""

    def __init__(self) -> None:
        self.people = self.windows = 0
        self.worst: Use | None = None

    def look(self, units: list[int], promises: list[Promise], forfeited: list[int]) -> Use | None:
        """Look at every window; return the first that is broken."""
        broken = None
        for use in uses(units, promises):
            self.windows += 1
            if self.worst is None or use.ratio > self.worst.ratio:
                self.worst = use
            if use.spent > use.allowed and broken is None:
                broken = use
        if forfeited and broken is None:
            unknown = list(units)
            for slot in forfeited:
                unknown[slot - 1] = _EVERYTHING
            for use in uses(unknown, promises):
                given_up = [slot for slot in forfeited if use.first <= slot <= use.last]
                if given_up and sum(units[given_up[-1] : use.last]) > 0:
                    return use
        return broken


def _whole_history(history: History) -> Iterable[Violation]:
    """Slots without gaps, each charged before it was released, with releases that fit what was decided."""
    published = 0
    for place, record in enumerate(history.slots, start=1):
        if record.slot != place:
            yield Violation(place, f"slot {place} is missing in the store", 0)
            return
        for problem in _record_problems(record, published, place == len(history.slots)):
            yield Violation(record.slot, problem, 0)
        if record.decision == "published":
            published = record.slot
    for slot in history.unshown:
        yield Violation(slot, "a slot of a filtered stream shows nothing of its own", 0)
    if history.stale:
        yield Violation(len(history.slots), "events wait in the store for slots that are over", 0)


def _record_problems(record: SlotRecord, published: int, newest: bool) -> Iterable[str]:
    if record.decision is None and not newest:
        yield "a slot was charged and has no release, though later slots were charged"
    if record.decision == "nullified" and record.part_2.any():
        yield "a slot that rests was charged for publishing"
    if record.decision == "published" and (record.threshold is None or not record.part_2.any()):
        yield "a slot was published without anybody's budget"
    if (record.part_1 < 0).any() or (record.part_2 < 0).any():
        yield "a charge is negative"
    if record.forfeited and record.decision != "lost":
        yield "a slot that was given up has a release of its own"
    if record.decision is not None and record.source != (record.slot if record.decision == "published" else published):
        yield "a slot does not show the last published counts"


def _classes(history: History) -> dict[tuple[tuple[tuple[int, int], ...], tuple[Asked, ...]], list[int]]:
    """People by their past: those who sat in the same rows and asked for the same are looked at once."""
    classes: dict[tuple[tuple[tuple[int, int], ...], tuple[Asked, ...]], list[int]] = {}
    for person, asked in history.asked.items():
        key = tuple(history.seats.get(person, ())), tuple(asked)
        classes.setdefault(key, []).append(person)
    return classes


def _people(people: list[int], history: History) -> int:
    group = history.settings.get("people.group")
    return sum(int(group["size"]) if person == GROUP and group else 1 for person in people)


def _spends(
    seats: tuple[tuple[int, int], ...],
    asked: tuple[Asked, ...],
    spent: dict[int, npt.NDArray[np.int64]],
    last: int,
) -> tuple[list[int], int | None]:
    """What a class of people spent, slot by slot; and the first slot that should have charged them and did not."""
    units, missing = [0] * last, None
    in_force = [False] * (last + 1)
    for place, wish in enumerate(asked):
        end = asked[place + 1].since if place + 1 < len(asked) else last + 1
        for slot in range(wish.since, min(end, last + 1)):
            in_force[slot] = wish.kind != "leave"
    ends = [since for since, _ in seats[1:]] + [last + 1]
    row_of = [-1] * (last + 1)
    for (since, row), end in zip(seats, ends, strict=bool(seats)):
        row_of[since : min(end, last + 1)] = [row] * (min(end, last + 1) - since)
    for slot in range(1, last + 1):
        if slot not in spent:
            continue
        row = row_of[slot]
        if 0 <= row < spent[slot].size:
            units[slot - 1] = int(spent[slot][row])
        elif in_force[slot] and missing is None:
            missing = slot
    return units, missing


def _promises(asked: tuple[Asked, ...], last: int, carry: int) -> Iterable[tuple[Terms, list[Promise]]]:
    """Every promise to somebody, with windows widened where people are carried."""
    for place, wish in enumerate(asked):
        end = asked[place + 1].since - 1 if place + 1 < len(asked) else last
        if wish.kind == "leave" or end < wish.since:
            continue
        window = wish.window + carry - 1
        if wish.kind == "fixed":
            yield Terms("fixed", wish.epsilon, wish.window), [FixedPromise(wish.epsilon, window, wish.since, end)]
            continue
        back = wish.backward_window + carry - 1
        terms = Terms("dynamic", wish.epsilon, wish.window, wish.backward_epsilon, wish.backward_window)
        sides = (wish.backward_epsilon, back, wish.epsilon, window)
        yield terms, [DynamicPromise(slot, *sides) for slot in range(wish.since, end + 1)]


def _broken(use: Use, terms: Terms, units: list[int], forfeited: list[int], carry: int, people: int) -> Violation:
    slot, total = use.last, 0
    for slot in range(max(1, use.first), min(use.last, len(units)) + 1):
        total += _EVERYTHING if slot in forfeited else units[slot - 1]
        if total > use.allowed and units[slot - 1] > 0:
            break
    wide = f" (kept over {use.last - use.first + 1} slots, people being carried)" if carry > 1 else ""
    window = f"slots {max(1, use.first)} to {use.last}"
    if use.spent >= _EVERYTHING:
        what = f"{terms}{wide}: something was spent in {window}, which reach into slots given up after a restore"
    else:
        what = f"{terms}{wide}: {window} hold epsilon={show(use.spent)} where {show(use.allowed)} was promised"
    return Violation(slot, what, people)
