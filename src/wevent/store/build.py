"""Builds the publisher of a stream, and the terms of its opening, as its configuration says."""

from __future__ import annotations

from collections.abc import Mapping

from wevent.cohorts.register import Register
from wevent.cohorts.requirement import BudgetWindow, Dynamic, Fixed, Requirement
from wevent.config.model import Config
from wevent.errors import InvalidSetting
from wevent.mechanisms import publisher_of
from wevent.releases.journal import Journal
from wevent.releases.publisher import Publisher
from wevent.store.effect import slot_of_clock
from wevent.store.reconciling import OpeningTerms
from wevent.units import MAX_WINDOW

GROUP = "group"
"""The name of the row of people who are not listed."""


def build_publisher(config: Config, journal: Journal, people: Mapping[int, Requirement] | None) -> Publisher:
    """The configured publisher.

    Args:
        config: of the stream.
        journal: keeps its slots.
        people: what each person requires in the first slot; None if the publisher is about to be restored.
    """
    register, carry = Register(), config.people.carry
    if people is not None:
        register = Register.from_rows({person: widened(required, carry) for person, required in people.items()})
        if config.group is not None:
            register.with_group(GROUP, widened(config.group.requirement, carry), config.group.size)
    return publisher_of(
        config.privacy.mechanism,
        register,
        list(config.cells.declared().names),
        config.privacy.estimator,
        privacy=config.protection,
        journal=journal,
        history_slots=config.privacy.history_slots + carry - 1,
        fast=False,
    )


def opening_terms(config: Config, now: int, shown: int | None = None) -> OpeningTerms:
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
