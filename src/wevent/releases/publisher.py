"""The one loop: a slot comes in, a release goes out; charge, draw, settle.

A publisher joins the axes: a ledger that says what is left, a schedule that offers, an estimator that makes one
count out of many budgets, a trigger that decides whether to publish (SPEC §5-§8), and a filter that shows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.budgets.accounts import read_account
from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.membership import Membership
from wevent.budgets.single import Single
from wevent.cohorts.counting import Counts
from wevent.cohorts.histogram import Domain, SlotReader, Tally
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Dynamic, Requirement
from wevent.decisions.change import DecisionInput
from wevent.decisions.change_detection import smallest_detectable_change
from wevent.decisions.evidence import Offers
from wevent.decisions.selection import Selection, choose_threshold
from wevent.errors import EmptyRegister, SeededNoiseRefused, SlotOutOfOrder
from wevent.events.slot import Slot
from wevent.noise import Noise, SecureNoise
from wevent.releases.filters import Unfiltered
from wevent.releases.journal import Journal, MemoryJournal
from wevent.releases.mechanism import Mechanism as Mechanism
from wevent.releases.release import Decision, Raw, Release, Trace, expected_error
from wevent.settings import Privacy, has_numba
from wevent.units import Units, to_epsilon

_TRACED_ROWS = 65_536


class Publisher(Single):
    """Publishes one stream.

    Guarantees:
        Every window of every registered person's live requirements holds at most its budget, whatever is decided.
        A slot is drawn once: asked again, the kept release is returned.
        Bad input raises before anything is spent.
        An error after the charge makes the slot lost: the charge stays, the counts repeat.
    """

    def __init__(
        self,
        register: Register,
        cells: int | Sequence[Hashable],
        mechanism: Mechanism,
        *,
        privacy: Privacy | None = None,
        noise: Noise | None = None,
        journal: Journal | None = None,
        history_slots: int = 1,
        fast: bool | None = None,
    ) -> None:
        self.privacy = privacy or Privacy()
        self.mechanism = mechanism
        self.schedule, self.trigger, self.estimator = mechanism.schedule(), mechanism.trigger(), mechanism.estimator()
        self.domain = Domain(cells)
        self.journal: Journal = MemoryJournal() if journal is None else journal
        self._noise: Noise = SecureNoise() if noise is None else noise
        if self._noise.seeded and self.journal.durable:
            raise SeededNoiseRefused(
                "seeded noise is for tests and study and cannot be kept in a durable journal; leave `noise` out"
            )
        fast = has_numba() if fast is None else fast
        dynamic = self.schedule.dynamic
        self.ledger = Ledger(self.privacy, history_slots, fast=fast and dynamic not in (None, "rows"))
        self.members = Membership(register, self.ledger, dynamic=dynamic is not None)
        self._reader = SlotReader(self.domain, self.privacy.contributions, fast=fast)
        self._reader.prepare(self.members.rows(), self.ledger.rows)
        self.filter = mechanism.filter(len(self.domain))
        self.trace: Trace | None = None

    def __repr__(self) -> str:
        return f"Publisher({self.mechanism.name}, cells={len(self.domain)}, next slot={self.ledger.slot})"

    # --- people, between slots -----------------------------------------------------------------

    def join(self, user: Hashable, requirement: Requirement) -> None:
        """Register somebody from the next slot on."""
        self.members.join(user, requirement)

    def leave(self, user: Hashable) -> None:
        """End a registration from the next slot on.

        The person must not be counted in a declared group until their windows have closed; `Register.unknown` leaves
        them out for as long.
        """
        self.members.leave(user)

    def change(self, user: Hashable, requirement: Requirement) -> None:
        """Let somebody ask for something else from the next slot on."""
        self.members.change(user, requirement)

    def declare(self, table: Sequence[Dynamic], choice: npt.ArrayLike) -> None:
        """Let everybody ask anew: for each position an index into a table of dynamic requirements, -1 for no change."""
        self.members.declare(table, choice)

    def spent(self, user: Hashable) -> Decimal:
        """The epsilon that a person's window, ending with the next slot, holds already.

        For a dynamic requirement the forward window counts. Raises `UnknownUser` for a person who is not registered.
        """
        return to_epsilon(read_account(self.members, user).spent)

    def remaining(self, user: Hashable) -> Decimal:
        """The most epsilon that all live windows of a person leave for the next slot."""
        return to_epsilon(read_account(self.members, user).room)

    # --- keeping (`releases.keeping`) ----------------------------------------------------------

    @property
    def last(self) -> tuple[Counts | npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """What is shown without news, and its standard errors; zeros and infinities before anything (axes: cell)."""
        shown = self.filter.repeat(self.ledger.slot)
        return shown.counts, shown.standard_error

    def keep_last(self, counts: Counts | npt.NDArray[np.float64], error: npt.NDArray[np.float64]) -> None:
        """Go on from counts that were published before."""
        self.filter.restore_counts(counts, error)

    def take(self, ledger: Ledger, members: Membership) -> None:
        """Go on with a ledger and a membership that were kept."""
        self.ledger, self.members = ledger, members
        self._reader.prepare(members.rows(), ledger.rows)

    def state(self) -> dict[str, Any]:
        """What a kind of publisher remembers besides, as plain values and arrays."""
        return {"filter": self.filter.state(), "schedule": self.schedule.state(), "trigger": self.trigger.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with what `state` gave."""
        self.filter.restore(state["filter"])
        self.schedule.restore(state["schedule"])
        self.trigger.restore(state["trigger"])

    @property
    def unfiltered(self) -> bool:
        """Whether the last published counts, which are integers, are all that is shown."""
        return self.mechanism.filter is Unfiltered and self.estimator.integer_counts

    def repeat(self, slot: int) -> Release:
        """The last counts again, for a slot that is lost."""
        return self._repeat(slot, Decision.LOST, None)

    # --- slots ---------------------------------------------------------------------------------

    def skip_without_people(self, slot: int) -> Release:
        """Let the next slot go by without looking at it, for nobody is registered: nothing is spent, it is lost."""
        self.members.begin_slot()
        nothing = np.zeros(self.ledger.rows, np.int64)
        offer = Offer(slot, nothing, nothing, nullified=False)
        self.journal.charge(offer)
        self.ledger.charge(offer)
        return self._lose(slot)

    def step(self, slot: Slot) -> Release:
        """Charge, draw, settle; a slot is released once."""
        if self.ledger.charged:  # somebody was interrupted right after a charge
            self._lose(self.ledger.slot)
        if (kept := self.journal.find(slot.number)) is not None:
            return kept
        tally = self._read(slot)
        offer, borders = self._charge()
        self.ledger.charge(offer)
        filter_before, trigger_before = self.filter, self.trigger.state()
        try:
            self._noise.rekey()
            release = self.journal.settle(self._draw(tally, offer, borders))
        except BaseException:
            self.filter = filter_before  # what was not kept was not shown, and nothing is learned from it
            self.trigger.restore(trigger_before)
            charged = offer.change_budget + offer.publish_budget
            self.trace = Trace(offer.slot, offer.change_budget, offer.publish_budget, charged, borders, None)
            with suppress(Exception):  # a journal that cannot keep even this finds the bare charge when it starts again
                self._lose(slot.number)
            raise
        self.ledger.settle(release.decision is Decision.PUBLISHED)  # refunds part 2 if nothing was published
        return release

    def _charge(self) -> tuple[Offer, npt.NDArray[np.float64] | None]:
        """Plan, offer, and keep the charge before anything is drawn.

        Guarantees:
            If the charge cannot be kept, everything is as before and the slot can be tried again.
        """
        schedule = self.schedule
        before = schedule.state()
        try:
            schedule.plan(self.ledger.view(), self._forecast_errors)
            offer = self.ledger.offer(schedule)
            borders = self._borders()
            self.journal.charge(offer)
        except BaseException:
            schedule.restore(before)
            raise
        return offer, borders

    def _forecast_errors(
        self, intervals: npt.NDArray[np.int64], budgets: Units, change_budget: Units | None = None
    ) -> npt.NDArray[np.float64] | None:
        """Expected squared error of publishing at such intervals with such budgets (axes: interval, row)."""
        sizes, s = self.ledger.view().forecast_view.sizes, self.privacy.sensitivity
        if change_budget is not None and not self._sees(change_budget, sizes):
            return None
        gap = intervals.astype(np.float64)
        expected = self.estimator.forecast(Offers(budgets, gap), sizes, s, self.filter.public)
        errors = self.filter.forecast_error(gap, expected.noise, self._most, detects_jumps=change_budget is not None)
        return None if errors is None else errors + expected.bias

    def _sees(self, change_budget: Units, sizes: npt.NDArray[np.int64]) -> bool:
        """Whether there were jumps, and such budgets would show the next one."""
        if not self.filter.typical_jump > 0:
            return False
        selection = choose_threshold(change_budget, sizes, self.privacy.sensitivity)
        return self.filter.typical_jump > smallest_detectable_change(
            selection, self.privacy.sensitivity, len(self.domain)
        )

    @property
    def _most(self) -> int:
        """No cell can hold more than this."""
        return int(self.ledger.all_sizes.sum()) * self.privacy.contributions

    def _lose(self, slot: int) -> Release:
        """The charge stays, the counts repeat, nothing is drawn again."""
        self.ledger.lose()
        return self.journal.settle(self.repeat(slot))

    def _read(self, slot: Slot) -> Tally:
        if slot.number != self.ledger.slot:
            raise SlotOutOfOrder(
                f"slot {slot.number} came where slot {self.ledger.slot} was due; release the slots in between first, "
                "empty ones too. Nothing was spent.",
                slot=slot.number,
                expected=self.ledger.slot,
            )
        self.members.begin_slot()
        members = self.members
        sizes = self.ledger.all_sizes
        if not sizes.any():
            raise EmptyRegister(f"nobody is registered in slot {slot.number}; let somebody join first")
        return self._reader.read(slot, members.register, members.rows(), members.groups, sizes)

    def _borders(self) -> npt.NDArray[np.float64] | None:
        """For the trace; not for very many rows, where it would cost more than the step."""
        wanted = self.schedule.dynamic == "absorption" and self.ledger.rows <= _TRACED_ROWS
        return self.ledger.borders() if wanted else None

    def _draw(self, tally: Tally, offer: Offer, borders: npt.NDArray[np.float64] | None) -> Release:
        if offer.nullified:
            self.trace = Trace(
                offer.slot, offer.change_budget, offer.publish_budget, offer.change_budget, borders, None
            )
            return self._repeat(offer.slot, Decision.NULLIFIED, None)
        sizes, s, estimator = self.ledger.all_sizes, self.privacy.sensitivity, self.estimator
        selection = estimator.choose(offer.publish_budget, sizes, s, self.filter.public)
        given = DecisionInput(tally, offer, selection, self.filter.reference, sizes, s, self._noise)
        verdict = self.trigger.decide(given)
        spent = offer.change_budget + offer.publish_budget if verdict.publish else offer.change_budget
        self.trace = Trace(offer.slot, offer.change_budget, offer.publish_budget, spent, borders, verdict.change)
        if not verdict.publish:
            return self._repeat(offer.slot, Decision.SKIPPED, selection)
        evidence = estimator.draw(tally, selection, sizes, s, self._noise, self.filter.public)
        self.filter = self.filter.copy()
        self.filter.inflate_variance(verdict.jump)
        shown = self.filter.publish(offer.slot, evidence, self._most)
        return Release(
            offer.slot,
            shown.counts,
            Decision.PUBLISHED,
            selection.threshold / 1e9,
            shown.standard_error,
            expected_error(selection),
            None if shown.evidence is None else Raw(shown.evidence.counts, np.sqrt(shown.evidence.variance)),
            estimator.assumption,
            self.domain.names,
        )

    def _repeat(self, slot: int, decision: Decision, selection: Selection | None) -> Release:
        expected = None if selection is None else expected_error(selection)
        threshold = None if selection is None or expected is None else selection.threshold / 1e9
        shown, assumption = self.filter.repeat(slot), self.estimator.assumption
        return Release(
            slot, shown.counts, decision, threshold, shown.standard_error, expected, None, assumption, self.domain.names
        )
