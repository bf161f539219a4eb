"""What all local baselines share: symbols instead of cells, unbiased answers, and what they refuse."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pytest
from tests.statistical.laws import LARGEST_Z
from tests.study.baselines.local_runs import BaselineRun, run, slot_for
from tests.support import ONE, Recorded, dynamic, fixed

from wevent.cohorts.register import Register
from wevent.errors import EmptyRegister, InvalidSetting, SlotOutOfOrder, TooManyCells, WrongRequirementKind, WrongShape
from wevent.events.slot import Slot
from wevent.noise import SecureNoise, SeededNoise, StudyNoise
from wevent.settings import Privacy
from wevent.study.baselines.lbu import LBU, PLBU, PLBUSum
from wevent.study.baselines.ldp_ids import LBA, LBD
from wevent.study.baselines.ldp_ids_people import LPA, LPD, LPU
from wevent.study.baselines.local import LocalBaseline

KINDS: list[type[LocalBaseline]] = [LBU, PLBU, PLBUSum, LBD, LBA, LPU, LPD, LPA]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def individual(people: int = 60) -> Register:
    """Half of them require less than the others."""
    stricter = np.arange(people) < people // 2
    return Register.from_arrays(np.where(stricter, 1.0, 2.0), np.where(stricter, 4, 3))


def test_names() -> None:
    """Every baseline has a name of its own."""
    assert [kind.name for kind in KINDS] == ["lbu", "plbu", "plbu_sum", "lbd", "lba", "lpu", "lpd", "lpa"]


@kinds
def test_repeats_for_a_seed(kind: type[LocalBaseline]) -> None:
    """The same seed gives the same counts, decisions and spends; another seed does not."""
    register = individual()
    stream = list(np.random.default_rng(1).integers(-1, 3, (25, 60)))
    first, again, other = (run(kind(register, 3, noise=SeededNoise(seed)), register, stream) for seed in (1, 1, 2))
    assert np.array_equal(first.counts, again.counts)
    assert first.letters == again.letters
    assert np.array_equal(first.spends, again.spends)
    assert not np.array_equal(first.counts, other.counts)


@kinds
def test_secure_noise_serves(kind: type[LocalBaseline]) -> None:
    """Nothing needs a seed."""
    register = individual()
    stream = np.random.default_rng(1).integers(-1, 3, (6, 60))
    assert np.isfinite(run(kind(register, 3, noise=SecureNoise()), register, stream).counts).all()


@kinds
def test_an_empty_slot_takes_the_same_way(kind: type[LocalBaseline]) -> None:
    """Nobody present, everybody in one cell or people all over: the same draws are made, and the same is charged."""
    register = individual()
    seen = set()
    for places in (np.full(60, -1), np.zeros(60, np.int64), np.arange(60) % 3):
        noise = Recorded(5)
        baseline = kind(register, 3, noise=noise)
        baseline.shown = np.full(3, 1e6)  # so far away that all of them publish
        found = run(baseline, register, [places])
        assert found.letters == "p"
        seen.add((tuple(noise.draws), found.spends.tobytes()))
    assert len(seen) == 1


@pytest.mark.parametrize("epsilon", [ONE // 2, 2 * ONE])
@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("cells", [3, 30])
def test_answers_and_change_are_unbiased(cells: int, complete: bool, epsilon: int) -> None:
    """Counts and dis are right in the mean of 1,000 estimates, by GRR and by OUE, scaled up from the half who report.

    A z-test fails for one seed of 10⁶.
    """
    register = Register.from_arrays(np.ones(1000), np.ones(1000, np.int64))
    baseline = LBD(register, cells, noise=StudyNoise(3), complete=complete)
    symbols = np.zeros(baseline.symbols, np.int64)
    symbols[:3] = 300, 150, 50
    if not complete:
        symbols[0], symbols[-1] = 100, 200
    baseline.shown = np.full(cells, 17.5)
    estimates = [baseline.collect(symbols, epsilon) for _ in range(1000)]
    counts = np.array([estimate.counts for estimate in estimates]) - 2 * symbols[:cells]
    distance = np.array([baseline.distance(estimate) for estimate in estimates]) - np.mean(
        (2 * symbols[:cells] - 17.5) ** 2
    )
    for found in (*counts.T, distance):
        assert abs(found.mean()) < LARGEST_Z * found.std() / math.sqrt(1000)


@pytest.mark.parametrize("cells", [2, 30])
def test_error_is_that_of_the_answers(cells: int) -> None:
    """Var(ε, n) is the mean square of the error of an estimate, scaled up from the people who report."""
    register = Register.from_arrays(np.ones(1000), np.ones(1000, np.int64))
    baseline = LBD(register, cells, noise=StudyNoise(4), complete=True)
    symbols = np.zeros(cells, np.int64)
    symbols[:2] = 150, 50
    off = np.array([baseline.collect(symbols, ONE).counts - 5 * symbols for _ in range(2000)])
    squares = (off**2).mean(axis=1)
    assert abs(squares.mean() - baseline.error(200, ONE)) < LARGEST_Z * squares.std() / math.sqrt(2000)


# Refusals


@kinds
def test_refuses_other_requirements_and_settings(kind: type[LocalBaseline]) -> None:
    """Dynamic requirements, several cells per person, nobody registered."""
    with pytest.raises(WrongRequirementKind):
        kind(Register.from_rows({"user-0": dynamic((ONE, 2))}), 2, noise=SeededNoise(1))
    with pytest.raises(InvalidSetting, match="contributions"):
        kind(individual(), 2, noise=SeededNoise(1), privacy=Privacy(contributions=2))
    with pytest.raises(EmptyRegister):
        kind(Register(), 2, noise=SeededNoise(1))


@kinds
def test_bad_slots_cost_nothing(kind: type[LocalBaseline]) -> None:
    """Wrong form, shape, cell, number or order is refused before anything is spent."""
    register = individual(6)
    baseline = kind(register, 2, noise=SeededNoise(1))
    rows, fractions = np.array([[1, 2], [0, 3]]), cast(Any, np.ones((2, 2)))
    wrong: list[Slot] = [Slot(1), slot_for(baseline, 2, np.zeros(6, np.int64), register)]
    if baseline.feeds == "people":
        places = ([0] * 5, [0] * 7, [2] * 6, [-2] * 6)
        wrong += [Slot(1, counts=rows), Slot(1, fractions.ravel()), *(Slot(1, np.array(given)) for given in places)]
    else:
        counts = (rows[:1], rows[:, :1], rows - 1, rows + 1, np.array([[4, 0], [0, 0]]))
        wrong += [
            Slot(1, np.zeros(6, np.int64)),
            Slot(1, counts=fractions),
            *(Slot(1, counts=given) for given in counts),
        ]
    for slot in wrong:
        with pytest.raises((SlotOutOfOrder, WrongShape, TooManyCells), match=r"spent|whole|people"):
            baseline.step(slot)
    assert baseline.trace is None
    assert baseline.ledger.slot == 1
    assert (baseline.ledger.room() >= ONE).all()


@kinds
def test_complete_streams_are_complete(kind: type[LocalBaseline]) -> None:
    """Where everybody is declared to be in some cell, a person in none is refused, before anything is spent."""
    register = individual(6)
    baseline = kind(register, 2, noise=SeededNoise(1), complete=True)
    with pytest.raises(WrongShape, match="complete"):
        baseline.step(slot_for(baseline, 1, np.array([0, 1, 0, -1, 1, 1]), register))
    assert baseline.trace is None
    baseline.step(slot_for(baseline, 1, np.array([0, 1, 0, 0, 1, 1]), register))


@kinds
def test_a_lost_slot_stays_charged(kind: type[LocalBaseline]) -> None:
    """A draw that fails costs its whole charge, and the stream continues within its windows."""

    class Failing(SeededNoise):
        fails = False

        def rekey(self) -> None:
            if self.fails:
                raise OSError("no entropy")

    register, noise = individual(), Failing(1)
    baseline = kind(register, 2, noise=noise)
    places = np.arange(60) % 2
    before = run(baseline, register, [places, places])
    noise.fails = True
    with pytest.raises(OSError, match="entropy"):
        baseline.step(slot_for(baseline, 3, places, register))
    noise.fails = False
    assert baseline.trace is not None
    lost = baseline.trace.spent
    assert lost.any()
    after = run(baseline, register, [places] * 8)
    spends = np.concatenate([before.spends, lost[None], after.spends])
    common = [fixed(ONE, 4)]
    own = [fixed(ONE, 4), fixed(2 * ONE, 3)] if isinstance(baseline, PLBU) else common
    assert BaselineRun(after.counts, [], spends).worst(own) <= 1
