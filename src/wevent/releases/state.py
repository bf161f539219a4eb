"""Holds what a publisher remembers between slots: people, ledger, and the state of every axis.

A store keeps a publisher as bytes from time to time, and what was charged and released in every slot since then.
`restore` and `replay` bring a publisher to the same point. What an axis has learned cannot be computed again without
drawing, so it is kept besides and comes back through `restore_learned`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.budgets.accounts import read_account
from wevent.budgets.codec import pack, unpack
from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.membership import Membership
from wevent.budgets.single import Single
from wevent.cohorts.histogram import Domain, SlotReader
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Dynamic, Requirement
from wevent.cohorts.requirement_change import RequirementChange
from wevent.decisions.selection import Selection
from wevent.errors import CorruptState, StoreVersion
from wevent.releases.filters import Unfiltered
from wevent.releases.mechanism import Mechanism
from wevent.releases.release import Decision, Release, expected_error
from wevent.settings import Privacy, has_numba
from wevent.units import to_epsilon

AXES = ("schedule", "trigger", "estimator", "filter")
"""The axes of a publisher that have a state, by the names of its attributes."""


class PublisherState(Single):
    """A publisher between two slots."""

    def __init__(
        self,
        register: Register,
        cells: int | Sequence[Hashable],
        mechanism: Mechanism,
        privacy: Privacy | None,
        history_slots: int,
        fast: bool | None,
    ) -> None:
        self.privacy = privacy or Privacy()
        self.mechanism = mechanism
        self.domain = Domain(cells)
        self.schedule, self.trigger, self.estimator = mechanism.schedule(), mechanism.trigger(), mechanism.estimator()
        self.filter = mechanism.filter(len(self.domain))
        fast = has_numba() if fast is None else fast
        dynamic = self.schedule.dynamic
        self.ledger = Ledger(self.privacy, history_slots, fast=fast and dynamic not in (None, "rows"))
        self.members = Membership(register, self.ledger, dynamic=dynamic is not None)
        self._reader = SlotReader(self.domain, self.privacy.contributions, fast=fast)
        self._reader.prepare(self.members.rows(), self.ledger.rows)

    # --- people, between slots -----------------------------------------------------------------

    def apply(self, change: RequirementChange) -> None:
        """Let a person join, return, require something else or leave, from the next slot on."""
        if change.requirement is not None:
            change = replace(change, requirement=self.served_requirement(change.requirement))
        self.members.apply(change)

    def join(self, user: Hashable, requirement: Requirement) -> None:
        """Register a person from the next slot on."""
        self.members.join(user, self.served_requirement(requirement))

    def leave(self, user: Hashable) -> None:
        """End a registration from the next slot on.

        The person must not be counted in a declared group until their windows have closed; `Register.unknown` leaves
        them out for as long.
        """
        self.members.leave(user)

    def change(self, user: Hashable, requirement: Requirement) -> None:
        """Let a registered person require something else from the next slot on."""
        self.members.change(user, self.served_requirement(requirement))

    def declare(self, table: Sequence[Dynamic], choice: npt.ArrayLike) -> None:
        """Change many requirements: for each position an index into a table of dynamic ones, -1 for no change."""
        self.members.declare(table, choice)

    def spent(self, user: Hashable) -> Decimal:
        """The epsilon that a person's window, ending with the next slot, holds already.

        For a dynamic requirement the forward window counts. Raises `UnknownUser` for a person who is not registered.
        """
        return to_epsilon(read_account(self.members, user).spent)

    def remaining(self, user: Hashable) -> Decimal:
        """The most epsilon that all live windows of a person leave for the next slot."""
        return to_epsilon(read_account(self.members, user).room)

    def served_requirement(self, requirement: Requirement) -> Requirement:
        """The requirement by which a person is served; a hook for publishers that serve fewer kinds."""
        return requirement

    # --- states --------------------------------------------------------------------------------

    @property
    def unfiltered(self) -> bool:
        """Whether the last published counts, which are integers, are all that is shown."""
        return self.mechanism.filter is Unfiltered and self.estimator.integer_counts

    def state(self) -> dict[str, Any]:
        """What every axis has planned and learned, by its name."""
        return {name: getattr(self, name).state() for name in AXES}

    def planned(self) -> dict[str, bytes]:
        """What the schedule has planned, to be kept with the charge of a slot."""
        return _packed(schedule=self.schedule.state())

    def learned(self, decision: Decision) -> dict[str, bytes]:
        """What a slot that ended so has taught, to be kept with its release.

        Guarantees:
            Nothing of a filter that shows the last published integers: `replay` restores those.
        """
        news = decision is Decision.PUBLISHED and not self.unfiltered
        return _packed(
            filter=self.filter.state() if news else {}, trigger=self.trigger.state(), estimator=self.estimator.state()
        )

    def to_bytes(self) -> bytes:
        """The ledger, the membership and the state of every axis, for `restore`; the settings are not in it."""
        members = self.members.state()
        return pack(
            {"cells": len(self.domain), "ledger": self.ledger.state(), "members": members, "axes": self.state()}
        )

    def restore(self, data: bytes) -> None:
        """Continue where a publisher of the same settings stood when `to_bytes` was called.

        Guarantees:
            From here on both give the same offers for the same slots, joins, leaves and changes.
            A slot that was charged and not settled is lost.
            The state of another version of an axis raises `StoreVersion`.
        """
        state = unpack(data)
        if "members" not in state:
            raise CorruptState("these bytes hold a ledger, not a publisher; restore them with Ledger.from_bytes")
        if state["cells"] != len(self.domain):
            raise CorruptState(
                f"the kept publisher has {state['cells']} cells and this one {len(self.domain)}; use the settings that "
                "the stream began with"
            )
        fast, self.ledger = self.ledger.fast, Ledger.from_state(state["ledger"], self.privacy)
        self.ledger.fast = fast
        dynamic = self.schedule.dynamic is not None
        self.members = Membership.from_state(state["members"], self.ledger, dynamic=dynamic)
        self._reader.prepare(self.members.rows(), self.ledger.rows)
        self._restore_checked(state["axes"])

    def restore_learned(self, parts: Mapping[str, bytes]) -> None:
        """Continue from the newest of what `planned` and `learned` returned.

        Guarantees:
            Damaged bytes raise `CorruptState`; the state of another version of an axis raises `StoreVersion`.
        """
        self._restore_checked({**self.state(), **{name: unpack(part) for name, part in parts.items()}})

    def _restore_checked(self, states: dict[str, Any]) -> None:
        try:
            self.restore_axes(states)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            raise StoreVersion(
                f"what {self.mechanism.name} learned was kept by another version of this program; use that version, "
                "or begin a new stream"
            ) from None

    def restore_axes(self, states: dict[str, Any]) -> None:
        """Restore what the axes learned; a hook for publishers that keep more."""
        for name in AXES:
            getattr(self, name).restore(states[name])

    # --- slots that are over -------------------------------------------------------------------

    def replay(self, offer: Offer, release: Release) -> None:
        """Repeat a slot that is over, with what was charged and released then.

        Guarantees:
            Nothing is drawn; a charge that the windows leave no room for is refused.
        """
        self.members.begin_slot()
        if self.ledger.individual is not None:  # which is faster with an offer of its own
            own = self.ledger.offer(self.schedule)
            parts = (own.change_budget, offer.change_budget), (own.publish_budget, offer.publish_budget)
            offer = own if all(np.array_equal(*part) for part in parts) else offer
        self.ledger.charge(offer)
        published = release.decision is Decision.PUBLISHED
        self.ledger.settle(published or release.decision is Decision.LOST)
        if published:
            self.filter.restore_counts(release.counts, release.standard_error)

    def forfeit(self, hold: int = 1) -> Release:
        """Give up the next slot after a restore: nobody spends until their windows have left it behind (SPEC §8).

        The lost copy of the store may have spent every budget there, also of people whom this one does not know yet.

        Args:
            hold: so many slots, the one given up included, leave nobody room: the longest window that anybody may
                have required in the lost copy. 1 if every requirement change made there is known again.

        Guarantees:
            Nothing is drawn, and the counts repeat.
            No row, of a person who joins later neither, spends anything in the w - 1 slots that follow.
            Nobody spends anything in the first `hold` slots, the one given up included.
        """
        self.members.begin_slot()
        lost = self.repeat(self.ledger.slot)
        self.ledger.forfeit(hold)
        return lost

    def repeat(self, slot: int) -> Release:
        """What a lost slot shows: the last counts again."""
        return self._repeat(slot, Decision.LOST, None)

    def _repeat(self, slot: int, decision: Decision, selection: Selection | None) -> Release:
        expected = None if selection is None else expected_error(selection)
        threshold = None if selection is None or expected is None else selection.threshold / 1e9
        shown, assumption = self.filter.repeat(slot), self.estimator.assumption
        return Release(
            slot, shown.counts, decision, threshold, shown.standard_error, expected, None, assumption, self.domain.names
        )


def _packed(**states: dict[str, Any]) -> dict[str, bytes]:
    """States as bytes; empty ones are left out."""
    return {name: pack(state) for name, state in states.items() if state}
