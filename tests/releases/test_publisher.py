"""What happens in a slot: the order of charge, draw and settlement, what is kept, and what is handed out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from tests.support import FAST, Forced, OpenJournal, Recorded, Silent

from wevent import Dynamic, Fixed, Mechanism, Privacy, Publisher, Register, Slot
from wevent.budgets.ledger import Offer
from wevent.budgets.schedules import Distribution, DynamicAbsorption, DynamicDistribution
from wevent.errors import BudgetExceeded, SeededNoiseRefused, SlotOutOfOrder
from wevent.noise import Noise, SecureNoise
from wevent.releases.journal import Charge, MemoryJournal, Outcome
from wevent.releases.release import Decision, Release

fast = pytest.mark.parametrize("fast", FAST)
PEOPLE = {"user-0": Fixed(1, 3), "user-1": Fixed(2, 4)}


def publisher(
    *, noise: Noise | None = None, journal: MemoryJournal | None = None, publish: object = None, fast: bool = False
) -> Publisher:
    wanted = range(10_000) if publish is None else publish
    mechanism = Mechanism("forced", Distribution, lambda: Forced(wanted))  # type: ignore[arg-type]
    given = Recorded(1) if noise is None else noise
    return Publisher(Register.from_rows(PEOPLE), 3, mechanism, noise=given, journal=journal, fast=fast)


class Diary(OpenJournal):
    """A journal and noise that write into one list, to see what comes first."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[str] = []

    def __len__(self) -> int:
        return 0  # a journal that is empty, so not true, is still the journal that was given

    def charge(self, charge: Charge) -> None:
        self.events.append("charge")
        super().charge(charge)

    def settle(self, outcome: Outcome) -> Release:
        self.events.append(f"settle {outcome.release.decision}")
        return super().settle(outcome)


class PacedWithChangeDetection(Recorded):
    """Noise that writes into a diary, and notes whether the ledger was charged when it drew."""

    def __init__(self, diary: Diary) -> None:
        super().__init__(1)
        self.diary = diary
        self.owner: Publisher | None = None

    def rekey(self) -> None:
        self.diary.events.append("rekey")

    def _add_laplace(self, values: npt.NDArray[np.int64], scale: float) -> npt.NDArray[np.int64]:
        assert self.owner is not None and self.owner.ledger.charged
        self.diary.events.append("draw")
        return super()._add_laplace(values, scale)


def test_charge_rekey_draw_settle() -> None:
    """SPEC §7, §8: the charge is kept before anything is drawn, the noise is re-keyed in every slot."""
    diary = Diary()
    noise = PacedWithChangeDetection(diary)
    stream = publisher(noise=noise, journal=diary, publish={1})
    assert stream.journal is diary
    noise.owner = stream
    stream.step(Slot(1, {"user-0": 2}))
    assert diary.events == ["charge", "rekey", "draw", "settle published"]
    stream.step(Slot(2))
    assert diary.events[4:] == ["charge", "rekey", "settle skipped"]
    assert not stream.ledger.charged


def test_a_journal_that_cannot_keep_the_charge_stops_the_slot() -> None:
    """If the charge is not kept, nothing is spent and nothing is drawn; the slot can be tried again."""

    class Full(OpenJournal):
        full = True

        def charge(self, charge: Charge) -> None:
            if self.full:
                raise OSError("no space left")

    journal, noise = Full(), Recorded(1)
    stream = publisher(noise=noise, journal=journal)
    before = stream.ledger.to_bytes()
    with pytest.raises(OSError, match="no space"):
        stream.step(Slot(1, {"user-0": 2}))
    assert stream.ledger.to_bytes() == before
    assert noise.draws == []
    journal.full = False
    assert stream.step(Slot(1, {"user-0": 2})).decision is Decision.PUBLISHED


def test_a_release_that_was_not_kept_is_not_drawn_again() -> None:
    """If keeping the release fails after the draw, the charge stays and the slot is over."""

    class Forgetful(OpenJournal):
        def settle(self, outcome: Outcome) -> Release:
            if outcome.slot == 1:
                raise OSError("no space left")
            return super().settle(outcome)

    stream = publisher(journal=Forgetful())
    with pytest.raises(OSError, match="no space"):
        stream.step(Slot(1, {"user-0": 2}))
    left = stream.ledger.room().tolist()
    with pytest.raises(SlotOutOfOrder, match="slot 2 was due"):
        stream.step(Slot(1, {"user-0": 2}))
    assert stream.ledger.room().tolist() == left
    assert stream.step(Slot(2)).slot == 2


def test_interruptions_lose_the_slot_too() -> None:
    """Also Ctrl-C in the middle of a draw keeps the charge, and the slot is lost."""

    class Interrupted(Recorded):
        def _add_laplace(self, values: npt.NDArray[np.int64], scale: float) -> npt.NDArray[np.int64]:
            raise KeyboardInterrupt

    stream = publisher(noise=Interrupted(1))
    with pytest.raises(KeyboardInterrupt):
        stream.step(Slot(1, {"user-0": 2}))
    assert stream.step(Slot(1)).decision is Decision.LOST
    assert (stream.ledger.room() < [10**9, 2 * 10**9]).all()


def test_seeded_noise_and_a_durable_journal_refuse_each_other() -> None:
    """Noise that repeats cannot end up in a store that lasts; the noise of the system can."""

    class Durable(MemoryJournal):
        durable = True

    with pytest.raises(SeededNoiseRefused, match="leave `noise` out"):
        publisher(noise=Recorded(1), journal=Durable())
    publisher(noise=SecureNoise(), journal=Durable()).step(Slot(1, {"user-0": 2}))


def test_secure_noise_is_the_default() -> None:
    """Who says nothing about noise gets the one that protects people."""
    plain = Publisher(Register.from_rows(PEOPLE), 3, Mechanism("plain", Distribution, lambda: Forced({1})), fast=False)
    assert isinstance(plain._noise, SecureNoise)
    assert isinstance(plain.journal, MemoryJournal)
    assert plain.step(Slot(1, {"user-0": 2})).decision is Decision.PUBLISHED


def test_before_the_first_publication() -> None:
    """r_0 = 0, with an infinite standard error, and nobody can write into it."""
    release = publisher(publish=()).step(Slot(1, {"user-0": 2}))
    assert release.decision is Decision.SKIPPED
    assert release.counts.tolist() == [0, 0, 0]
    assert np.isinf(release.standard_error).all()
    for array in (release.counts, release.standard_error):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@fast
def test_the_register_that_was_given_is_left_alone(fast: bool) -> None:
    """A publisher works on a copy: the same register can open another stream."""
    register = Register.from_rows(PEOPLE)
    mechanism = Mechanism("forced", DynamicDistribution, lambda: Forced(()))
    stream = Publisher(register, 3, mechanism, noise=Recorded(1), fast=fast)
    stream.leave("user-0")
    stream.join("user-2", Dynamic((1, 2)))
    assert len(register) == 2 and "user-0" in register
    Publisher(register, 3, mechanism, noise=Recorded(1), fast=fast).step(Slot(1, {"user-0": 1}))


@fast
def test_borders_are_for_dpba_only(fast: bool) -> None:
    """The trace shows borders where there are any."""
    stream = publisher()
    stream.step(Slot(1))
    assert stream.trace is not None and stream.trace.borders is None
    mechanism = Mechanism("forced", DynamicAbsorption, lambda: Forced({1}))
    people = Register.from_rows({"user-0": Dynamic((1, 2))})
    other = Publisher(people, 3, mechanism, noise=Recorded(1), fast=fast)
    other.step(Slot(1))
    assert other.trace is not None and other.trace.borders is not None
    assert other.trace.borders.tolist() == [0.0]


@fast
def test_changes_take_effect_in_the_next_slot(fast: bool) -> None:
    """SPEC §2: what is stored between two slots holds from the second one on."""
    mechanism = Mechanism("forced", DynamicDistribution, lambda: Forced(()))
    stream = Publisher(Register.from_rows({"user-0": Fixed(1, 2)}), 3, mechanism, noise=Recorded(1), fast=fast)
    stream.step(Slot(1))
    stream.change("user-0", Fixed("0.4", 1))
    assert stream.trace is not None
    assert stream.trace.change_budget.tolist() == [250_000_000]
    stream.step(Slot(2))
    row = stream.members.rows()[0]
    assert stream.trace is not None
    assert stream.trace.change_budget[row] == 200_000_000


@fast
def test_declarations_for_everybody(fast: bool) -> None:
    """One call changes many requirements; -1 leaves a requirement as it is."""
    mechanism = Mechanism("forced", DynamicDistribution, lambda: Forced(()))
    people = {f"user-{k}": Dynamic((1, 2)) for k in range(3)}
    stream = Publisher(Register.from_rows(people), 3, mechanism, noise=Recorded(1), fast=fast)
    stream.step(Slot(1))
    stream.declare([Dynamic(("0.1", 1)), Dynamic(("0.2", 1))], np.array([1, -1, 0]))
    stream.step(Slot(2))
    assert stream.trace is not None
    assert stream.trace.change_budget[stream.members.rows()].tolist() == [100_000_000, 250_000_000, 50_000_000]


@fast
def test_guests_are_forgotten(fast: bool) -> None:
    """A publisher that lives long remembers no more people than its windows need."""
    mechanism = Mechanism("forced", DynamicDistribution, lambda: Forced(range(0, 1000, 3)))
    stream = Publisher(Register.from_rows(PEOPLE), 3, mechanism, noise=Recorded(1), fast=fast)
    lengths = []
    for slot in range(1, 121):
        asked = Dynamic((1, 3)) if slot % 2 else Fixed(1, 3)
        stream.join(f"guest-{slot}", asked)
        stream.step(Slot(slot, {f"guest-{slot}": 1}))
        stream.leave(f"guest-{slot}")
        lengths.append((len(stream.members.register), stream.ledger.rows))
    assert max(lengths[20:]) <= max(lengths[:20])


def test_silent_publications_are_the_true_counts() -> None:
    """With noise that adds nothing the loop adds nothing either: published counts are the slot's counts."""
    stream = publisher(noise=Silent(1), publish={1, 3})
    assert stream.step(Slot(1, {"user-0": 2, "user-1": 0})).counts.tolist() == [1, 0, 1]
    assert stream.step(Slot(2, {"user-0": 1, "user-1": 1})).counts.tolist() == [1, 0, 1]
    assert stream.step(Slot(3, {"user-0": 1, "user-1": 1})).counts.tolist() == [0, 2, 0]


def test_sensitivity_reaches_the_noise() -> None:
    """Substitution doubles the noise of the same threshold."""
    budgets = []
    for privacy in (Privacy(), Privacy(neighbours="substitution")):
        noise = Recorded(1)
        mechanism = Mechanism("forced", Distribution, lambda: Forced({1}))
        people = Register.from_rows({"user-0": Fixed(1, 3)})
        Publisher(people, 3, mechanism, noise=noise, privacy=privacy, fast=False).step(Slot(1))
        budgets.append(noise.draws[0][1])
    assert budgets[0] is not None and budgets[1] is not None
    assert budgets[0] == 2 * budgets[1]


def test_a_wrong_schedule_is_cut_to_room() -> None:
    """A schedule that wants everything always gets no more than the room; the windows hold without its help."""

    class Greedy(Distribution):
        def propose(self, now):  # type: ignore[no-untyped-def]
            proposal = super().propose(now)
            return type(proposal)(proposal.change_budget + 2**61, proposal.publish_budget + 2**61)

    mechanism = Mechanism("greedy", Greedy, lambda: Forced(range(100)))
    stream = Publisher(Register.from_rows(PEOPLE), 3, mechanism, noise=Recorded(1), fast=False)
    for slot in range(1, 10):
        stream.step(Slot(slot, {"user-0": 1}))
        assert stream.trace is not None
        assert (stream.trace.spent <= [10**9, 2 * 10**9]).all()
    with pytest.raises(BudgetExceeded):
        stream.ledger.charge(Offer(10, np.array([10**9 + 1, 0]), np.array([0, 0]), nullified=False))
