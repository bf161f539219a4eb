"""The publisher of a stream: a configuration and what people ask for come in, a publisher over a journal goes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wevent.cohorts.register import Register
from wevent.cohorts.requirement import (
    BudgetWindow,
    Dynamic,
    Fixed,
    Requirement,
    check_limits,
    check_share_ratio,
    with_share,
)
from wevent.config.model import Config
from wevent.config.requirement_files import serves_dynamic
from wevent.errors import InvalidRequirement, InvalidSetting, WrongRequirementKind
from wevent.mechanisms import publisher_of
from wevent.releases.journal import Journal
from wevent.releases.publisher import Publisher
from wevent.store.effect import slot_of_clock
from wevent.store.reconciling import OpeningTerms
from wevent.store.requirements import StoredChange, group_by_person
from wevent.units import MAX_WINDOW, UNBOUNDED

GROUP = "group"
"""The name of the row of people who are not listed."""


def found(config: Config, journal: Journal, asked: Mapping[int, Requirement] | None) -> Publisher:
    """The configured publisher, with people who ask for something in the first slot; None if it is to be restored."""
    register = Register()
    if asked is not None:
        register = Register.from_rows({person: widened(wish, config.people.carry) for person, wish in asked.items()})
        if config.group is not None:
            register.with_group(GROUP, widened(config.group.requirement, config.people.carry), config.group.size)
    return publisher_of(
        config.privacy.mechanism,
        register,
        list(config.cells.declared().names),
        config.privacy.estimator,
        privacy=config.protection,
        journal=journal,
        history_slots=config.privacy.history_slots + config.people.carry - 1,
        fast=False,
    )


def admit(config: Config, changes: Iterable[StoredChange]) -> tuple[dict[int, Requirement], list[int]]:
    """Who begins with what in the first slot; and the numbers of changes that the limits refuse.

    Guarantees:
        A publisher made of the first raises for no requirement; the order of storing decides who is refused.
    """
    limits, dynamic = config.protection.limits, serves_dynamic(config)
    shares = (UNBOUNDED, 0)
    if config.group is not None:
        shares = with_share(widened(config.group.requirement, config.people.carry), shares)
    accepted: set[Requirement] = set()
    asked: dict[int, Requirement] = {}
    refused: list[int] = []
    for own in group_by_person(changes):
        for change in reversed([change for change in own if not change.refused]):
            if change.requirement is None:
                break
            wide = widened(change.requirement, config.people.carry)
            if wide not in accepted:
                try:
                    if isinstance(wide, Dynamic) and not dynamic:
                        raise WrongRequirementKind("this mechanism serves fixed requirements only")
                    check_limits(wide, limits)
                    check_share_ratio(wide, shares, limits)
                except InvalidRequirement:
                    refused.append(change.number)
                    continue
                shares = with_share(wide, shares)
                accepted.add(wide)
            asked[change.person] = change.requirement
            break
    return asked, refused


def terms_of(config: Config, now: int, shown: int | None = None) -> OpeningTerms:
    """The terms of a configuration.

    Guarantees:
        A slot that has not begun by the clock cannot have been shown: naming one raises `InvalidSetting`.
    """
    begun, carry = slot_of_clock(config, now), config.people.carry
    if shown is not None and not 0 <= shown <= begun:
        raise InvalidSetting(
            f"slot {shown} cannot have been shown: by the clock slot {begun} is the newest that has begun. Say which "
            "slot may have been shown last (`--restored SLOT`), 0 for none. Nothing was changed",
            begun=begun,
        )
    promised = 1 if config.group is None else config.group.requirement.window + carry - 1
    return OpeningTerms(shown, begun, promised, min(MAX_WINDOW, config.privacy.limits.window + carry - 1))


def widened(requirement: Requirement, carry: int) -> Requirement:
    """A requirement as the ledger has to keep it where an event moves `carry` rows: windows w + A - 1 (SPEC §1)."""
    if carry == 1:
        return requirement
    if isinstance(requirement, Fixed):
        return Fixed(requirement.epsilon, requirement.window + carry - 1)
    ahead, back = requirement.forward, requirement.backward
    return Dynamic(
        BudgetWindow(ahead.epsilon, ahead.window + carry - 1), BudgetWindow(back.epsilon, back.window + carry - 1)
    )
