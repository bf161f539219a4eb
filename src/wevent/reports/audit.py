"""Proves from a stream's history that every promise was kept, or finds the windows that break one.

The judge is `budgets.feasibility`, plain loops over whole numbers. Nothing here is shared with the ledger that decided
what to spend: the import linter watches over it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from wevent.budgets.feasibility import Promise, Use, uses
from wevent.cohorts.requirement import Requirement
from wevent.reports.early_changes import early_changes
from wevent.reports.findings import Audit, AuditedPromise, Violation, in_words
from wevent.reports.history import SlotRecord, StreamHistory
from wevent.reports.person_classes import (
    PersonClass,
    class_spends,
    person_classes,
    promises,
    row_spends,
    spends_of_unlisted,
)
from wevent.store.requirements import longest_window
from wevent.store.schema import UNLISTED
from wevent.units import show

Progress = Callable[[int, int], None]
"""Called with how many classes of people are done, and how many there are."""

_EVERYTHING = 10**15


def audit(history: StreamHistory, progress: Progress | None = None) -> Audit:
    """Prove from the stored history that no window of any person ever held more than was promised.

    Guarantees:
        `kept` exactly if every slot was charged and ended once and in order, everybody with a requirement in force was
        charged and nobody else, every requirement change took effect after it was stored, and every window of every
        promise holds at most its budget.
        What the row of unlisted people spent counts for everybody who was listed later: they may have been in it. So
        does what the unlisted are promised, until its last window has closed.
        Windows that reach into slots given up after a restore hold nothing spent after them, and nobody spends
        anything while everybody is held back.
    """
    violations = [*_whole_history(history), *_held_back(history), *early_changes(history)]
    last = history.slots[-1].slot if history.slots else 0
    spent = row_spends(history)
    forfeited = [record.slot for record in history.slots if record.forfeited]
    unlisted_spends = spends_of_unlisted(history, spent, last)
    to_unlisted = PersonClass(0, (), history.requirements.get(UNLISTED, ()), 0)
    tallies: dict[Requirement, _Tally] = {}
    classes = person_classes(history)
    for done, people in enumerate(classes, start=1):
        spends = class_spends(people, spent, last, unlisted_spends)
        violations += [Violation(slot, what, people.size) for what, slot in spends.problems.items()]
        for requirement, made in promises(people, last, history.carry):
            tally = tallies.setdefault(requirement, _Tally())
            tally.people += people.size
            if (use := tally.look(spends.units, made, forfeited)) is not None:
                words = in_words(requirement) + _widened(use, history.carry)
                violations.append(_violation(use, words, spends.units, forfeited, people.size))
        for requirement, made in promises(to_unlisted, people.unlisted_until, history.carry):
            if (use := _Tally().look(spends.units, made, forfeited)) is not None:
                words = f"promised to the unlisted until they were listed: {in_words(requirement)}"
                words += _widened(use, history.carry)
                violations.append(_violation(use, words, spends.units, forfeited, people.size))
        if progress is not None:
            progress(done, len(classes))
    decisions = Counter(record.decision or "unreleased" for record in history.slots)
    audited = [AuditedPromise(made, tally.people, tally.windows, tally.worst) for made, tally in tallies.items()]
    audited.sort(key=str)
    violations.sort(key=lambda violation: (violation.slot, violation.what))
    everybody = len(history.requirements.keys() - {UNLISTED})
    return Audit(
        history.name, last, everybody, len(classes), audited, violations, dict(decisions), forfeited, history.held_until
    )


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
    if not any(record.forfeited for record in history.slots):
        return
    until, longest, short = 0, 1, False
    changes = (change for own in history.requirements.values() for change in own)
    required = ((change.slot or 0, change.requirement) for change in changes)
    windows = sorted({(slot, longest_window(needed) + history.carry - 1) for slot, needed in required if needed})
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


def _widened(use: Use, carry: int) -> str:
    return f" (kept over {use.last - use.first + 1} slots, people being carried)" if carry > 1 else ""


def _violation(use: Use, promised: str, units: list[int], forfeited: list[int], people: int) -> Violation:
    """The violation of a window that holds too much, in the first slot in which it does."""
    slot, total = use.last, 0
    for slot in range(max(1, use.first), min(use.last, len(units)) + 1):
        total += _EVERYTHING if slot in forfeited else units[slot - 1]
        if total > use.allowed and units[slot - 1] > 0:
            break
    window = f"slots {max(1, use.first)} to {use.last}"
    if use.spent >= _EVERYTHING:
        what = f"something was spent in {window}, which reach into slots given up after a restore"
    else:
        what = f"{window} hold epsilon={show(use.spent)} where {show(use.allowed)} was promised"
    return Violation(slot, f"{promised}: {what}", people)
