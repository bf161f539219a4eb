"""Defines what an audit finds: every promise with its worst window, and everything that is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wevent.budgets.feasibility import Use
from wevent.cohorts.requirement import Dynamic, Requirement
from wevent.reports.times import SlotTimes
from wevent.store.requirements import TERMS, to_terms
from wevent.units import show


def in_words(requirement: Requirement) -> str:
    """A requirement in words."""
    forward = requirement.forward if isinstance(requirement, Dynamic) else requirement
    words = f"epsilon={show(forward.units)} over {forward.window} slots"
    if not isinstance(requirement, Dynamic):
        return words
    backward = requirement.backward
    return f"forward {words}, backward epsilon={show(backward.units)} over {backward.window} slots"


@dataclass(frozen=True, slots=True)
class AuditedPromise:
    """A promise, how many people it was made to, and its worst window.

    Attributes:
        requirement: what was promised, as people required it.
        people: how many; the declared group counts as one row of its declared size.
        windows: how many windows of classes of people were looked at.
        worst: the window of the largest spent over allowed; None if nothing was spent in any.
    """

    requirement: Requirement
    people: int
    windows: int
    worst: Use | None

    def __str__(self) -> str:
        return in_words(self.requirement)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values for JSON."""
        kind, *terms = to_terms(self.requirement)
        values: dict[str, Any] = {"kind": kind}
        for name, value in zip(TERMS[1:], terms, strict=True):
            if value is not None:
                values[name] = show(value) if name.endswith("epsilon") else value
        values |= {"people": self.people, "windows": self.windows, "worst": None}
        if self.worst is not None:
            window = {"first": max(1, self.worst.first), "last": self.worst.last}
            values["worst"] = {**window, "spent": show(self.worst.spent), "allowed": show(self.worst.allowed)}
        return values


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
        promises: every promise with its worst window, in the order of their words.
        violations: in the order of slots; empty if every promise was kept.
        decisions: how many slots ended how.
        forfeited: slots given up after a restore.
        held_until: the first slot after them in which anything may be spent; 0 if none were given up.
    """

    stream: str
    slots: int
    people: int
    classes: int
    promises: list[AuditedPromise]
    violations: list[Violation]
    decisions: dict[str, int]
    forfeited: list[int] = field(default_factory=list)
    held_until: int = 0

    @property
    def kept(self) -> bool:
        """Whether every promise was kept."""
        return not self.violations

    def given_up(self, times: SlotTimes) -> str:
        """Which slots were given up and how long everybody is held back, in words; nothing if none were."""
        if not self.forfeited:
            return ""
        first, last, until = self.forfeited[0], self.forfeited[-1], times.slot(self.held_until)
        held = "nothing may be spent" if self.held_until > self.slots else "nothing was allowed to be spent"
        return (
            f"the store was restored from an older copy: {len(self.forfeited):,} slots from {times.span(first, last)} "
            f"were given up, and {held} on anybody before slot {until}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values for JSON; budgets as decimal text, which loses nothing."""
        return {
            "stream": self.stream,
            "kept": self.kept,
            "slots": self.slots,
            "people": self.people,
            "classes": self.classes,
            "promises": [promise.as_dict() for promise in self.promises],
            "violations": [{"slot": v.slot, "people": v.people, "what": v.what} for v in self.violations],
            "decisions": dict(sorted(self.decisions.items())),
            "forfeited": self.forfeited,
            "held_until": self.held_until,
        }
