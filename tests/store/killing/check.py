"""Says what does not hold in a store after a kill and a second run of the same command."""

from __future__ import annotations

from collections import Counter
from typing import Any

import sqlalchemy as sa
from tests.store.killing.town import FIRST_SLOTS, SLOTS, Files

from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.reports.releases import public_releases
from wevent.store.accounting import EventAccount, read_account
from wevent.store.database import open_database
from wevent.store.schema import slots, waiting

Snapshot = dict[str, list[Any]]
"""What could be read of each slot after the kill: its decision and counts, by the slot's number in words."""


def take_snapshot(url: str) -> Snapshot:
    """Everything that anybody can read of the releases."""
    database = open_database(url)
    found = public_releases(database, 1, 3, 1, SLOTS)
    return {str(release.slot): [release.decision, release.counts.tolist()] for release in found}


def problems(files: Files, url: str, before: Snapshot) -> tuple[list[str], Counter[str]]:
    """What does not hold, and how the slots ended that the kill could touch."""
    found: list[str] = []
    after = take_snapshot(url)
    changed = [slot for slot, shown in before.items() if after.get(slot) != shown]
    if changed:
        found.append(f"releases of slots {changed} changed")
    if list(after) != [str(slot) for slot in range(1, SLOTS + 1)]:
        found.append(f"released are slots {list(after)}")
    for slot, (decision, counts) in after.items():
        if decision == "published" and tuple(counts) != files.truth[int(slot)]:
            found.append(f"slot {slot} shows other counts than its events make")
        elif decision not in ("published", "lost"):
            found.append(f"slot {slot} was {decision}")
    lost = [int(slot) for slot, (decision, _) in after.items() if decision == "lost"]
    if len(lost) > 1:
        found.append(f"one kill lost slots {lost}")
    database = open_database(url)
    with database.read() as connection:
        charged = connection.execute(sa.select(slots.c.slot).order_by(slots.c.slot)).scalars().all()
        left = connection.execute(sa.select(sa.func.count()).select_from(waiting)).scalar_one()
        account = read_account(connection, 1)
    if list(charged) != list(range(1, SLOTS + 1)):
        found.append(f"charged are slots {list(charged)}")
    if left:
        found.append(f"{left} batches wait for slots that are over")
    found += _account(files, account, lost)
    judged = audit(read_history(database))
    if not judged.kept:
        found.append(f"the audit fails: {[violation.what for violation in judged.violations]}")
    database.close()
    return found, Counter(after[str(slot)][0] for slot in range(FIRST_SLOTS + 1, SLOTS + 1) if str(slot) in after)


def _account(files: Files, account: EventAccount, lost: list[int]) -> list[str]:
    """Every event was accepted once; those of a lost slot are named as lost, all others were released."""
    everything, gone = sum(files.events.values()), sum(files.events[slot] for slot in lost)
    if account == EventAccount(accepted=everything, released=everything - gone, waiting=0, lost=gone):
        return []
    return [f"of {everything} events, {gone} of them in slots that were lost, the store says {account}"]
