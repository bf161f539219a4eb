"""Defines a requirement change: what a person requires, and from which slot on."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from wevent.cohorts.requirement import Requirement


@dataclass(frozen=True, slots=True)
class RequirementChange:
    """What a person requires from a slot on; the repr does not show the user.

    Attributes:
        user: the name, as in events.
        requirement: what is required; None if the person leaves.
        slot: the first slot in which it is in force; None for the next slot that begins.
        line: of the file that it comes from, if any.
    """

    user: Hashable = field(repr=False)
    requirement: Requirement | None
    slot: int | None = None
    line: int | None = None
