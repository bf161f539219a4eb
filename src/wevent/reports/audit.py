"""Was every promise kept? A stream's history comes in, every promise with its worst window goes out.

The judge is `budgets.feasibility`, plain loops over whole numbers; nothing here is shared with the ledger that
decided what to spend, and the import linter watches over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wevent.budgets.feasibility import DynamicPromise, FixedPromise, Promise, Use, uses
from wevent.reports.early_changes import early_changes
from wevent.reports.findings import Audit, AuditedPromise, PromisedTerms, Violation
from wevent.reports.history import GROUP, Asked, SlotRecord, StreamHistory
from wevent.units import show

Progress = Callable[[int, int], None]
"""Called with how many classes of people are done, and how many there are."""

_EVERYTHING = 10**15


@dataclass(frozen=True, slots=True)
class PersonClass:
    """People with the same past, who are judged together.

    Attributes:
        seats: (since, row) in order; row -1 for none.
        asked: what they asked for, in the order of asking.
        unlisted_until: the last slot in which they may have been among the unlisted people, 0 if in none.
    """

    row_assignments: tuple[tuple[int, int], ...]
    asked: tuple[Asked, ...]
    unlisted_until: int


def audit(history: StreamHistory, progress: Progress | None = None) -> Audit:
    """Prove from the stored history that no window of anybody's ever held more than was promised.

    Guarantees:
        `kept` exactly if every slot was charged and ended once and in order, everybody with a requirement in force was
        charged and nobody else, every requirement change took effect after it was stored, and every window of every
        promise holds at most its budget.
        What the row of unlisted people spent counts for everybody who was listed later: they may have been in it. So
        does what the unlisted are promised, until its last window has closed.
        Windows that reach into slots given up after a restore hold nothing spent after them, and nobody spends
        anything while everybody is held back.
    """
    found = [*_whole_history(history), *_held_back(history), *early_changes(history)]
    carry = int(history.settings.get("people.carry", 1))
    last = history.slots[-1].slot if history.slots else 0
    spent = {record.slot: record.spent for record in history.slots if not record.forfeited}
    forfeited = [record.slot for record in history.slots if record.forfeited]
    lines: dict[PromisedTerms, _Tally] = {}
    classes = person_classes(history)
    unlisted = spends_of_unlisted(history, spent, last)
    for done, (people, persons) in enumerate(classes.items(), start=1):
        sizes = how_many(persons, history)
        past = spends(people, spent, last, unlisted)
        units = past.units
        found += [Violation(slot, what, sizes) for what, slot in past.problems.items()]
        for terms, promises in _promises(people.asked, last, carry):
            tally = lines.setdefault(terms, _Tally())
            tally.people += sizes
            broken = tally.look(units, promises, forfeited)
            if broken is not None:
                found.append(_broken(broken, terms, units, forfeited, carry, sizes))
        for terms, promises in _while_unlisted(people, history, carry):
            broken = _Tally().look(units, promises, forfeited)
            if broken is not None:
                violation = _broken(broken, terms, units, forfeited, carry, sizes)
                found.append(
                    replace(violation, what=f"promised to the unlisted until they were listed: {violation.what}")
                )
        if progress is not None:
            progress(done, len(classes))
    decisions: dict[str, int] = {}
    for record in history.slots:
        decisions[record.decision or "unreleased"] = decisions.get(record.decision or "unreleased", 0) + 1
    told = [AuditedPromise(terms, tally.people, tally.windows, tally.worst) for terms, tally in lines.items()]
    found.sort(key=lambda violation: (violation.slot, violation.what))
    everybody = len([person for person in history.asked if person != GROUP])
    return Audit(history.name, last, everybody, len(classes), told, found, decisions, forfeited, history.held_until)


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


def _whole_history(history: StreamHistory) -> Iterable[Violation]:
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
    if record.decision == "nullified" and record.publish_budget.any():
        yield "a slot that rests was charged for publishing"
    if record.decision == "published" and (record.threshold is None or not record.publish_budget.any()):
        yield "a slot was published without anybody's budget"
    if (record.change_budget < 0).any() or (record.publish_budget < 0).any():
        yield "a charge is negative"
    if record.forfeited and record.decision != "lost":
        yield "a slot that was given up has a release of its own"
    if record.decision is not None and record.source != (record.slot if record.decision == "published" else published):
        yield "a slot does not show the last published counts"


def _held_back(history: StreamHistory) -> Iterator[Violation]:
    """After a restore nobody spends anything while everybody is held back, at least as long as known windows are."""
    carry = int(history.settings.get("people.carry", 1))
    if not any(record.forfeited for record in history.slots):
        return
    until, longest, short = 0, 1, False
    windows = sorted(
        {(asked.from_slot, _longest(asked) + carry - 1) for own in history.asked.values() for asked in own}
    )
    for record in history.slots:
        if not record.forfeited:
            if record.slot < until and record.spent.any():
                yield Violation(
                    record.slot, f"something was spent while everybody is held back until slot {until - 1}", 0
                )
                until = 0  # one is enough
            continue
        until = max(until, record.slot + record.hold)
        while windows and windows[0][0] <= record.slot:
            longest = max(longest, windows.pop(0)[1])
        if not short and record.hold < longest:
            short = True
            yield Violation(
                record.slot,
                f"a slot was given up after a restore, and everybody is held back for {record.hold} slots only, where "
                f"windows of {longest} slots were promised",
                0,
            )


def _longest(asked: Asked) -> int:
    return max(asked.window, asked.backward_window)


def person_classes(history: StreamHistory) -> dict[PersonClass, list[int]]:
    """People by their past: those who sat in the same rows and asked for the same are looked at once."""
    classes: dict[tuple[tuple[tuple[int, int], ...], tuple[Asked, ...], int], list[int]] = {}
    grouped = history.settings.get("people.group") is not None
    for person, asked in history.asked.items():
        before = history.listed.get(person, asked[0].from_slot) - 1 if grouped and person != GROUP else 0
        classes.setdefault((tuple(history.row_assignments.get(person, ())), tuple(asked), before), []).append(person)
    return {PersonClass(*past): persons for past, persons in classes.items()}


def how_many(persons: list[int], history: StreamHistory) -> int:
    """The number of people of a class; the declared group counts with its declared size."""
    group = history.settings.get("people.group")
    return sum(int(group["size"]) if person == GROUP and group else 1 for person in persons)


Spent = dict[int, npt.NDArray[np.int64]]
"""What every row spent, by slot (axes: row)."""


def spends_of_unlisted(history: StreamHistory, spent: Spent, last: int) -> list[int]:
    """What the row of unlisted people spent, slot by slot; nothing where there is none."""
    rows = _rows(tuple(history.row_assignments.get(GROUP, ())), last)
    units = [0] * last
    for slot, charges in spent.items():
        if 0 <= rows[slot] < charges.size:
            units[slot - 1] = int(charges[rows[slot]])
    return units


def _rows(row_assignments: tuple[tuple[int, int], ...], last: int) -> list[int]:
    """The row of every slot from 0 on, -1 for none."""
    row_of = [-1] * (last + 1)
    ends = [from_slot for from_slot, _ in row_assignments[1:]] + [last + 1]
    for (from_slot, row), end in zip(row_assignments, ends, strict=bool(row_assignments)):
        row_of[from_slot : min(end, last + 1)] = [row] * (min(end, last + 1) - from_slot)
    return row_of


@dataclass(frozen=True, slots=True)
class ClassSpends:
    """What a class of people spent, slot by slot from 1 on; and what is wrong with how they were charged, and where."""

    units: list[int]
    problems: dict[str, int]


def spends(people: PersonClass, spent: Spent, last: int, unlisted: list[int]) -> ClassSpends:
    """What a class of people spent: in their own rows, and before they were listed in that of the unlisted."""
    units = [*unlisted[: people.unlisted_until], *[0] * (last - people.unlisted_until)][:last]
    in_force = [False] * (last + 1)
    for place, wish in enumerate(people.asked):
        end = people.asked[place + 1].from_slot if place + 1 < len(people.asked) else last + 1
        for slot in range(wish.from_slot, min(end, last + 1)):
            in_force[slot] = wish.kind != "leave"
    row_of = _rows(people.row_assignments, last)
    problems: dict[str, int] = {}
    for slot, charges in spent.items():
        row = row_of[slot]
        if 0 <= row < charges.size:
            units[slot - 1] += int(charges[row])
            if not in_force[slot]:
                problems.setdefault("somebody was counted in a row without a requirement in force", slot)
        elif in_force[slot]:
            problems.setdefault("somebody with a requirement in force was not charged", slot)
    return ClassSpends(units, problems)


def _promises(asked: tuple[Asked, ...], last: int, carry: int) -> Iterable[tuple[PromisedTerms, list[Promise]]]:
    """Every promise to somebody, with windows widened where people are carried."""
    for place, wish in enumerate(asked):
        end = asked[place + 1].from_slot - 1 if place + 1 < len(asked) else last
        if wish.kind == "leave" or end < wish.from_slot:
            continue
        window = wish.window + carry - 1
        if wish.kind == "fixed":
            yield (
                PromisedTerms("fixed", wish.epsilon, wish.window),
                [FixedPromise(wish.epsilon, window, wish.from_slot, end)],
            )
            continue
        back = wish.backward_window + carry - 1
        terms = PromisedTerms("dynamic", wish.epsilon, wish.window, wish.backward_epsilon, wish.backward_window)
        sides = (wish.backward_epsilon, back, wish.epsilon, window)
        yield terms, [DynamicPromise(slot, *sides) for slot in range(wish.from_slot, end + 1)]


def _while_unlisted(
    people: PersonClass, history: StreamHistory, carry: int
) -> Iterable[tuple[PromisedTerms, list[Promise]]]:
    """What was promised to people before they were listed."""
    if people.unlisted_until > 0:
        yield from _promises(tuple(history.asked.get(GROUP, ())), people.unlisted_until, carry)


def _broken(
    use: Use, terms: PromisedTerms, units: list[int], forfeited: list[int], carry: int, people: int
) -> Violation:
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
