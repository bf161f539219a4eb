"""Gives up slots that may have been shown and that a restored store does not know, many in one transaction."""

from __future__ import annotations

from collections.abc import Callable

from wevent.releases.publisher import Publisher
from wevent.releases.state import forfeit
from wevent.store.journal import StoreJournal
from wevent.store.requirements import slots_with_changes
from wevent.store.writer import Writer

FORFEITED_AT_ONCE = 5_000
"""How many slots are given up in one transaction."""


def forfeit_next(
    writer: Writer, journal: StoreJournal, publisher: Callable[[], Publisher], hear: Callable[[int], None]
) -> None:
    """Give up the next slots, as many as go into one transaction.

    Args:
        writer: knows up to which slot, and for how long everybody is held back.
        journal: keeps them.
        publisher: the publisher that lives through them; hearing changes may make another one.
        hear: applies the requirement changes of a slot.

    Guarantees:
        A process that dies before the commit has given up nothing; the next one goes on here.
    """
    first, last = publisher().ledger.slot, writer.opening.last
    with writer.transaction() as connection:  # which lets nobody store changes meanwhile
        hold = writer.hold()
        changed = slots_with_changes(connection, writer.stream.id, first, last)
        for slot in range(first, min(first + FORFEITED_AT_ONCE, last + 1)):
            hears = slot == first or slot in changed
            if hears:
                hear(slot)
            publisher().members.begin_slot()
            journal.forfeit(connection, slot, changed=hears)
            forfeit(publisher(), hold)
        journal.keep_forfeited(connection, hold)
