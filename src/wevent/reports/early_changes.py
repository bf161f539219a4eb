"""Finds requirement changes that took effect too early.

The store says of every change when it was stored, which slot had been charged and which had begun by then. Where slots
follow the clock, the time of storing is compared with the slots' own times as well. This check shares nothing with
`store.effect`, which decided when the changes take effect.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from wevent.reports.findings import Violation
from wevent.reports.history import StreamHistory
from wevent.reports.times import SlotTimes

_CHARGED = "a requirement change took effect in a slot that was charged before it was stored"
_BEGUN = "a requirement change took effect in a slot that had begun before it was stored"
_OVERTAKEN = "an older requirement change took effect after a newer one of the same person"


def early_changes(history: StreamHistory) -> Iterator[Violation]:
    """Every way in which changes took effect too early, once for each, with the first such slot.

    Guarantees:
        Nothing exactly if every change is in force after the last charged slot and the last begun one, as they were
        when it was stored, and not before the same person's earlier changes.
    """
    by_clock = history.settings.get("slots.closing", "files") != "files"
    timeline = SlotTimes(history.settings).timeline if by_clock else None
    before: dict[int, int] = {}  # the first slot of each person's change that was stored last
    found: dict[str, dict[int, int]] = defaultdict(dict)  # by what is wrong: the first such slot of each person
    for stored in history.changes:
        person, slot = stored.person, stored.from_slot
        begun = stored.begun_slot if timeline is None else max(stored.begun_slot, timeline.number(stored.stored))
        wrong = []
        if slot <= stored.charged_slot:
            wrong.append(_CHARGED)
        if slot <= begun:
            wrong.append(_BEGUN)
        if slot < before.get(person, slot) and not stored.refused:
            wrong.append(_OVERTAKEN)
        before[person] = slot
        for what in wrong:
            found[what][person] = min(slot, found[what].get(person, slot))
    for what, first_slots in found.items():
        yield Violation(min(first_slots.values()), what, len(first_slots))
