"""Decides whether a stream admits a requirement: by its kind, the operator's limits and the ratio of shares."""

from __future__ import annotations

from collections.abc import Iterable

from wevent.cohorts.requirement import Dynamic, Fixed, Requirement, check_limits, check_share_ratio, with_share
from wevent.errors import InvalidRequirement, WrongRequirementKind
from wevent.settings import Privacy
from wevent.units import UNBOUNDED

_REMEMBERED = 4096
"""So many accepted requirements need no second check."""


class Admission:
    """What was accepted in a stream so far.

    Guarantees:
        A requirement that was accepted once always is.
        Requirements that are checked together are accepted together or refused together.

    Attributes:
        shares: the least and the greatest share that anybody required so far.
    """

    def __init__(self, privacy: Privacy, *, dynamic: bool) -> None:
        self.shares = (UNBOUNDED, 0)
        self._limits, self._dynamic = privacy.limits, dynamic
        self._known: set[Requirement] = set()  # accepted before, at most _REMEMBERED of them; a cache

    def check(self, requirements: Iterable[Requirement]) -> None:
        """Refuse what the settings do not allow, each requirement by itself and all of them together."""
        shares = self.shares
        for requirement in requirements:
            if not isinstance(requirement, Fixed | Dynamic):
                raise InvalidRequirement("a requirement is Fixed(epsilon, window) or Dynamic(forward, backward)")
            if requirement in self._known:
                continue
            if isinstance(requirement, Dynamic) and not self._dynamic:
                raise WrongRequirementKind(
                    "this mechanism serves fixed requirements only, and a dynamic one was given; "
                    "use auto, dpbd or dpba, or require Fixed(epsilon, window)"
                )
            check_limits(requirement, self._limits)
            check_share_ratio(requirement, shares, self._limits)
            shares = with_share(requirement, shares)

    def accept(self, requirements: Iterable[Requirement]) -> None:
        """Count requirements that were checked and are now in force."""
        for requirement in requirements:
            if requirement not in self._known:
                self.shares = with_share(requirement, self.shares)
                if len(self._known) < _REMEMBERED:
                    self._known.add(requirement)
