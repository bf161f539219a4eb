"""The publisher of a stream: a configuration and what people ask for come in, a publisher over a journal goes out."""

from __future__ import annotations

from collections.abc import Mapping

from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Dynamic, Fixed, Over, Requirement
from wevent.config.model import Config
from wevent.errors import InvalidRequirement
from wevent.recipes import RECIPES
from wevent.releases.journal import Journal
from wevent.releases.publisher import Publisher

GROUP = "group"
"""The name of the row of people who are not listed."""


def found(config: Config, journal: Journal, asked: Mapping[int, Requirement] | None) -> Publisher:
    """The configured publisher, with people who ask for something in the first slot; None if it is to be restored."""
    register = Register()
    if asked is not None:
        register = Register.from_rows({person: widened(wish, config.people.carry) for person, wish in asked.items()})
        if config.people.group is not None:
            wish = widened(group_requirement(config), config.people.carry)
            register.with_group(GROUP, wish, config.people.group.size)
    return RECIPES[config.privacy.mechanism](
        register,
        list(config.cells.declared().names),
        privacy=config.protection,
        journal=journal,
        horizon=config.privacy.horizon + config.people.carry - 1,
        fast=False,
        **config.privacy.choices,
    )


def group_requirement(config: Config) -> Fixed:
    """What the row of unlisted people asks for."""
    group = config.people.group
    if group is None:
        raise InvalidRequirement("there is no group of unlisted people in the configuration")
    budget = config.levels.budgets.get(str(group.epsilon), group.epsilon)
    window = config.levels.windows.get(str(group.window), group.window)
    return Fixed(budget, int(window))


def widened(requirement: Requirement, carry: int) -> Requirement:
    """A requirement as the ledger has to keep it where an event moves `carry` rows: windows w + A - 1 (SPEC §1)."""
    if carry == 1:
        return requirement
    if isinstance(requirement, Fixed):
        return Fixed(requirement.epsilon, requirement.window + carry - 1)
    ahead, back = requirement.forward, requirement.backward
    return Dynamic(Over(ahead.epsilon, ahead.window + carry - 1), Over(back.epsilon, back.window + carry - 1))
