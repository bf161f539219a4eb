"""Publishes a stream slot by slot: charge, draw, settle (SPEC §8).

A publisher joins the axes: a ledger that says what is left, a schedule that offers, an estimator that makes one
count out of many budgets, a trigger that decides whether to publish (SPEC §5-§8), and a filter that shows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from wevent.budgets.ledger import Offer
from wevent.cohorts.histogram import Tally
from wevent.cohorts.register import Register
from wevent.decisions.change import DecisionInput, Verdict
from wevent.decisions.change_detection import smallest_detectable_change
from wevent.decisions.evidence import Offers
from wevent.decisions.selection import choose_threshold
from wevent.errors import EmptyRegister, SeededNoiseRefused, SlotOutOfOrder
from wevent.events.slot import Slot
from wevent.noise import Noise, SecureNoise
from wevent.releases.journal import Charge, Journal, MemoryJournal, Outcome
from wevent.releases.mechanism import Mechanism as Mechanism
from wevent.releases.release import Decision, RawCounts, Release, Trace, expected_error
from wevent.releases.state import PublisherState
from wevent.settings import Privacy
from wevent.units import Units

_TRACED_ROWS = 65_536


class Publisher(PublisherState):
    """Publishes one stream, slot by slot; the recipes of `wevent.mechanisms` build one.

    Args:
        register: the people, with their requirements in the first slot; the publisher works on a copy.
        cells: how many there are, or their names.
        mechanism: the choice on each axis.
        privacy: what the promise depends on; by default `Privacy()`.
        noise: draws noise and coins; by default from the operating system. A seeded one is for tests and studies.
        journal: keeps charges and releases; by default it keeps the last releases in memory.
        history_slots: how many slots rows remember at least, for longer windows that are required later.
        fast: whether numba counts and keeps individual rows; by default if it is installed.

    Guarantees:
        Every window of every registered person's live requirements holds at most its budget, whatever is decided.
        A slot is drawn once: the second call for it returns the kept release.
        Bad input raises before anything is spent.
        An error before the charge changes nothing: the slot can be tried again.
        An error after the charge makes the slot lost: the charge stays, the counts repeat.

    Example:
        >>> from wevent import Fixed, Register, Slot, pbd
        >>> publisher = pbd(Register.from_rows({"ann": Fixed(epsilon=2, window=4)}), cells=["market", "park"])
        >>> publisher.step(Slot(1, {"ann": "park"})).cells
        ['market', 'park']
        >>> publisher.spent("ann") + publisher.remaining("ann")
        Decimal('2.000000000')
        >>> publisher.join("bob", Fixed(1, 8))
        >>> publisher
        Publisher(pbd, cells=2, next slot=2)
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
        super().__init__(register, cells, mechanism, privacy, history_slots, fast)
        self.journal: Journal = MemoryJournal() if journal is None else journal
        self._noise: Noise = SecureNoise() if noise is None else noise
        if self._noise.seeded and self.journal.durable:
            raise SeededNoiseRefused(
                "seeded noise is for tests and study and cannot be kept in a durable journal; leave `noise` out"
            )
        self.trace: Trace | None = None

    def __repr__(self) -> str:
        return f"Publisher({self.mechanism.name}, cells={len(self.domain)}, next slot={self.ledger.slot})"

    # --- slots ---------------------------------------------------------------------------------

    def step(self, slot: Slot, context: object = None) -> Release:
        """Release the next slot.

        Args:
            slot: who is where.
            context: travels in the slot's `Charge` and `Outcome` to the journal; the publisher does not read it.
        """
        if self.ledger.charged:  # an interruption came right after a charge
            self._lose(None)
        if (kept := self.journal.find(slot.number)) is not None:
            return kept
        tally = self._read(slot)
        offer = self._charge(context)  # kept before anything is drawn
        before = self.filter, self.trigger.state(), self.estimator.state(), self.trace
        try:
            self._noise.rekey()
            release = self.journal.settle(self._draw(tally, offer, context))
        except BaseException:
            # Between charge and release: the slot is lost. Nothing is learned from a release that was not kept.
            # If the process dies here instead, `store.recover` finds the charge without a release.
            self.filter, trigger, estimator, self.trace = before
            self.trigger.restore(trigger)
            self.estimator.restore(estimator)
            with suppress(Exception):  # a journal that cannot keep the loss either has the charge: `store.recover`
                self._lose(context)
            raise
        self.ledger.settle(release.decision is Decision.PUBLISHED)  # refunds the publish budget otherwise
        return release

    def skip_without_people(self, slot: int, context: object = None) -> Release:
        """Lose the next slot because nobody is registered; nothing is spent or drawn."""
        self.members.begin_slot()
        nothing = np.zeros(self.ledger.rows, np.int64)
        self._keep_charge(Offer(slot, nothing, nothing, nullified=False), context)
        return self._lose(context)

    def _read(self, slot: Slot) -> Tally:
        if slot.number != self.ledger.slot:
            raise SlotOutOfOrder(
                f"slot {slot.number} came where slot {self.ledger.slot} was due; release the slots in between first, "
                "empty ones too. Nothing was spent.",
                slot=slot.number,
                expected=self.ledger.slot,
            )
        self.members.begin_slot()
        members, sizes = self.members, self.ledger.all_sizes
        if not sizes.any():
            raise EmptyRegister(f"nobody is registered in slot {slot.number}; let a person join first")
        return self._reader.read(slot, members.register, members.rows(), members.groups, sizes)

    def _charge(self, context: object) -> Offer:
        """Plan, offer, and keep the charge; if it cannot be kept, everything is as before."""
        before = self.schedule.state()
        try:
            self.schedule.plan(self.ledger.view(), self._forecast_errors)
            offer = self.ledger.offer(self.schedule)
            self._keep_charge(offer, context)
        except BaseException:
            self.schedule.restore(before)
            raise
        return offer

    def _keep_charge(self, offer: Offer, context: object) -> None:
        members, borders = self.members, self._borders()
        plan = self.planned() if self.journal.durable else {}
        self.journal.charge(Charge(offer, members.register.users, members.rows(), members.groups, plan, context))
        self.ledger.charge(offer)
        self.trace = Trace(offer.slot, offer.change_budget, offer.publish_budget, True, borders)  # as if lost

    def _lose(self, context: object) -> Release:
        """Give up the charged slot: the charge stays, the counts repeat, nothing is drawn again (SPEC §8)."""
        lost = self.repeat(self.ledger.slot)
        self.ledger.lose()
        return self.journal.settle(Outcome(lost, filtered=not self.unfiltered, context=context))

    def _draw(self, tally: Tally, offer: Offer, context: object) -> Outcome:
        """Decide, and draw what is released."""
        if offer.nullified:
            release, verdict = self._repeat(offer.slot, Decision.NULLIFIED, None), Verdict(publish=False)
        else:
            sizes, s = self.ledger.all_sizes, self.privacy.sensitivity
            selection = self.estimator.choose(offer.publish_budget, sizes, s, self.filter.public)
            given = DecisionInput(tally, offer, selection, self.filter.reference, sizes, s, self._noise)
            verdict = self.trigger.decide(given)
            if verdict.publish:
                release = self._publish(given, verdict.jump)
            else:
                release = self._repeat(offer.slot, Decision.SKIPPED, selection)
        if self.trace is not None:
            self.trace = replace(self.trace, paid=verdict.publish, change=verdict.change)
        learned = self.learned(release.decision) if self.journal.durable else {}
        return Outcome(release, learned, not self.unfiltered, context)

    def _publish(self, given: DecisionInput, jump: float) -> Release:
        """Draw noisy counts, and let a copy of the filter learn from them."""
        selection = given.selection
        evidence = self.estimator.draw(
            given.tally, selection, given.sizes, given.sensitivity, given.noise, self.filter.public
        )
        self.filter = self.filter.copy()
        self.filter.inflate_variance(jump)
        shown = self.filter.publish(given.offer.slot, evidence, self._largest_count)
        return Release(
            given.offer.slot,
            shown.counts,
            Decision.PUBLISHED,
            selection.threshold / 1e9,
            shown.standard_error,
            expected_error(selection),
            None if shown.evidence is None else RawCounts(shown.evidence.counts, np.sqrt(shown.evidence.variance)),
            self.estimator.assumption,
            self.domain.names,
        )

    def _borders(self) -> npt.NDArray[np.float64] | None:
        """For the trace; not for very many rows, where it would cost more than the step."""
        wanted = self.schedule.dynamic == "absorption" and self.ledger.rows <= _TRACED_ROWS
        return self.ledger.borders() if wanted else None

    # --- forecasts for the schedule ------------------------------------------------------------

    def _forecast_errors(
        self, intervals: npt.NDArray[np.int64], budgets: Units, change_budget: Units | None = None
    ) -> npt.NDArray[np.float64] | None:
        """Expected squared error of publishing at such intervals with such budgets (axes: interval, row)."""
        sizes, s = self.ledger.view().forecast_view.sizes, self.privacy.sensitivity
        if change_budget is not None and not self._detects_jumps(change_budget, sizes):
            return None
        gap = intervals.astype(np.float64)
        expected = self.estimator.forecast(Offers(budgets, gap), sizes, s, self.filter.public)
        detects_jumps = change_budget is not None
        errors = self.filter.forecast_error(gap, expected.noise, self._largest_count, detects_jumps=detects_jumps)
        return None if errors is None else errors + expected.bias

    def _detects_jumps(self, change_budget: Units, sizes: npt.NDArray[np.int64]) -> bool:
        """Whether there were jumps, and such budgets would detect the next one."""
        jump, s = self.filter.typical_jump, self.privacy.sensitivity
        if not jump > 0:
            return False
        selection = choose_threshold(change_budget, sizes, s)
        return jump > smallest_detectable_change(selection, s, len(self.domain))

    @property
    def _largest_count(self) -> int:
        """No cell can hold more than this."""
        return int(self.ledger.all_sizes.sum()) * self.privacy.contributions
