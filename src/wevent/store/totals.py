"""Adds up what one run of a publisher saw and did, for the operator's summary.

A run whose sources held nothing that can be accepted is more likely a mistake than a stream without people. Where files
or the operator close slots, this is asked before anything is charged; where a clock does, it is only said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wevent.errors import NoAcceptableEvents
from wevent.events.files import ELSEWHEN
from wevent.events.refusals import advise
from wevent.events.staging import ACCEPTED
from wevent.events.timeline import TimesSeen
from wevent.events.validation import AcceptedEvents
from wevent.releases.release import Release


@dataclass(slots=True)
class RunTotals:
    """What was accepted, refused and released since a command began.

    Attributes:
        tallies: events by what became of them.
        seen: the first and the last time that events had, refused ones included.
        decisions: released slots by decision.
        unusable: files that hold events of which not one can be accepted.
        first, last: the first and the last slot that were released, 0 before any.
        read: whether a source was read, to its end or in part, be it empty.
    """

    tallies: Counter[str] = field(default_factory=Counter, repr=False)
    seen: TimesSeen = field(default_factory=TimesSeen, repr=False)
    decisions: Counter[str] = field(default_factory=Counter)
    unusable: list[Path] = field(default_factory=list)
    first: int = 0
    last: int = 0
    read: bool = False

    @property
    def accepted(self) -> int:
        """How many events were accepted."""
        return self.tallies[ACCEPTED]

    @property
    def refused(self) -> int:
        """How many events were refused."""
        return self.tallies.total() - self.accepted

    def add_events(self, events: AcceptedEvents) -> None:
        """Count a batch of events."""
        self.add_tallies({kind.value: number for kind, number in events.refused.items()}, events.seen)
        self.tallies[ACCEPTED] += events.slot.size

    def add_tallies(self, tallies: Mapping[str, int], seen: TimesSeen, unusable: Sequence[Path] = ()) -> None:
        """Count events that were sorted elsewhere."""
        self.read = True
        self.tallies.update(tallies)
        self.seen = self.seen.and_also(seen)
        self.unusable += unusable

    def add_release(self, release: Release) -> None:
        """Count a released slot."""
        self.decisions[release.decision.value] += 1
        self.first, self.last = self.first or release.slot, release.slot

    def check_acceptable(self, due: int) -> None:
        """Raise `NoAcceptableEvents` if nothing was accepted; `due` slots would be released from nothing.

        With `due` 0, events of slots that were released before, or are not over, speak for their source.

        Guarantees:
            Nothing is charged, and the message names reasons and settings, never an event.
        """
        if self.accepted or (not due and any(self.tallies[kind] for kind in ELSEWHEN)):
            return
        found = "the sources hold no event at all"
        if self.refused:
            found = f"none of the {self.refused:,} events can be accepted: " + "; ".join(advise(self.tallies)[:3])
        follows = (
            f"{due:,} slots would be released from nothing; nothing was charged. If they are to be empty, say "
            "`--allow-empty`"
        )
        raise NoAcceptableEvents(f"{found}. {follows if due else 'Nothing was charged'}", due=due)
