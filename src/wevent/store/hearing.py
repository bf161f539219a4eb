"""Applies the requirement changes of a slot to a publisher."""

from __future__ import annotations

from collections.abc import Iterable

from wevent.cohorts.requirement import Requirement
from wevent.errors import BudgetError, InvalidRequirement
from wevent.releases.publisher import Publisher
from wevent.store.build import widened
from wevent.store.requirements import StoredChange, group_by_person


def apply_changes(publisher: Publisher, changes: Iterable[StoredChange], carry: int) -> list[int]:
    """Let changes take effect in the next slot; return the numbers of those that cannot be met.

    Guarantees:
        Of one person's changes the last one that can be met counts; the ones before it are not looked at.
    """
    refused: list[int] = []
    for own in group_by_person(changes):
        for change in reversed([change for change in own if not change.refused]):
            required = None if change.requirement is None else widened(change.requirement, carry)
            if _apply(publisher, change.person, required):
                break
            refused.append(change.number)
    return refused


def _apply(publisher: Publisher, person: int, required: Requirement | None) -> bool:
    """Apply one change; whether it could be met."""
    registered = person in publisher.members.register
    try:
        if required is None:
            if registered:
                publisher.leave(person)
        elif registered:
            publisher.change(person, required)
        else:
            publisher.join(person, required)
    except (InvalidRequirement, BudgetError):
        return False
    return True
