"""Counts which kinds of events, and which pairs of kinds on one person, histories reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from tests.histories.events import Req, longest_window
from tests.oracle import DynamicReq, FixedReq


class Kind(StrEnum):
    """What happened to one person, as seen from outside."""

    JOINED = "joined"
    LISTED = "listed out of the group"
    LEFT = "left"
    UNLISTED_AGAIN = "counted as unlisted after leaving"
    RETURNED = "returned"
    LONGER = "longer window"
    SHORTER = "shorter window"
    STRICTER = "less epsilon"
    LOOSER = "more epsilon"
    TO_DYNAMIC = "fixed to dynamic"
    TO_FIXED = "dynamic to fixed"
    DECLARED = "declared with others"
    REFUSED = "refused"
    REFUSED_TOGETHER = "refused with others"
    MERGED = "merged into a cohort"
    PUBLISHED = "published"
    LOST_SLOT = "lost slot"
    CHARGE_FAILED = "charge failed"
    REOPENED = "reopened"
    RESTORED = "restored"
    IMPORTED = "imported again"


Pair = tuple[Kind, Kind]


class Reached:
    """How many histories ran, and how many people met each kind and each pair (A, later B) in one history."""

    def __init__(self) -> None:
        self.histories = 0
        self.kinds: Counter[Kind] = Counter()
        self.pairs: Counter[Pair] = Counter()

    def count(self, lives: Iterable[list[Kind]]) -> None:
        """One more history: for each person, what happened to them in order."""
        self.histories += 1
        for life in lives:
            met: set[Kind] = set()
            pairs: set[Pair] = set()
            for kind in life:
                pairs |= {(before, kind) for before in met}
                met.add(kind)
            self.kinds.update(met)
            self.pairs.update(pairs)

    def __str__(self) -> str:
        """A table: how often each kind was met, and by what it was followed."""
        found = [kind for kind in Kind if self.kinds[kind]]
        head = " ".join(f"{place:>6}" for place in range(1, len(found) + 1))
        lines = [
            f"{self.histories} histories; people who met A (row) and later B (column)",
            f"{'':36}{'met':>7} {head}",
        ]
        for place, first in enumerate(found, start=1):
            row = " ".join(f"{self.pairs[first, then]:>6}" for then in found)
            lines.append(f"{place:2} {first:33}{self.kinds[first]:>7} {row}")
        return "\n".join(lines)


def kinds_of_change(before: Req, after: Req) -> list[Kind]:
    """What is different about a requirement."""
    kinds = []
    if isinstance(before, FixedReq) != isinstance(after, FixedReq):
        kinds.append(Kind.TO_FIXED if isinstance(after, FixedReq) else Kind.TO_DYNAMIC)
    if longest_window(after) != longest_window(before):
        kinds.append(Kind.LONGER if longest_window(after) > longest_window(before) else Kind.SHORTER)
    if _epsilon(after) != _epsilon(before):
        kinds.append(Kind.LOOSER if _epsilon(after) > _epsilon(before) else Kind.STRICTER)
    return kinds


def _epsilon(requirement: Req) -> int:
    return requirement.forward_epsilon if isinstance(requirement, DynamicReq) else requirement.epsilon
