"""What an audit finds: every promise with its worst window, and everything that is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wevent.budgets.feasibility import Use
from wevent.reports.times import SlotTimes
from wevent.units import show


@dataclass(frozen=True, slots=True)
class PromisedTerms:
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
class AuditedPromise:
    """A promise, how many people it was made to, and its worst window.

    Attributes:
        terms: what was promised.
        people: how many; the declared group counts as one row of its declared size.
        windows: how many windows of classes of people were looked at.
        worst: the window of the largest spent over allowed; None if nothing was spent in any.
    """

    terms: PromisedTerms
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
        held_until: the first slot after them in which anything may be spent; 0 if none were given up.
    """

    stream: str
    slots: int
    people: int
    classes: int
    lines: list[AuditedPromise]
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
            "promises": [_line(line) for line in sorted(self.lines, key=lambda line: str(line.terms))],
            "violations": [{"slot": v.slot, "people": v.people, "what": v.what} for v in self.violations],
            "decisions": dict(sorted(self.decisions.items())),
            "forfeited": self.forfeited,
            "held_until": self.held_until,
        }


def _line(line: AuditedPromise) -> dict[str, Any]:
    terms, worst = line.terms, line.worst
    told: dict[str, Any] = {"kind": terms.kind, "epsilon": show(terms.epsilon), "window": terms.window}
    if terms.kind == "dynamic":
        told |= {"backward_epsilon": show(terms.backward_epsilon), "backward_window": terms.backward_window}
    told |= {"people": line.people, "windows": line.windows, "worst": None}
    if worst is not None:
        window = {"first": max(1, worst.first), "last": worst.last}
        told["worst"] = {**window, "spent": show(worst.spent), "allowed": show(worst.allowed)}
    return told
