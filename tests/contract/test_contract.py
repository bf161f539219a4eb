"""One contract for every recipe: the promise, nothing private in the charges, one draw per slot."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from tests.support import FAST, Deaf, Forced, OpenJournal, Record, Recorded, Silent, quick_and_slow

from wevent import RECIPES, Decision, Dynamic, Fixed, Privacy, Publisher, Register, Release, Slot
from wevent.budgets.feasibility import violations, worst
from wevent.cohorts.requirement import Requirement
from wevent.decisions.change import ChangeTrigger, DecisionInput, Trigger, Verdict
from wevent.releases.filters import Unfiltered

CELLS = [f"cell-{k}" for k in range(5)]
USERS = [f"user-{k}" for k in range(9)]
GROUP = 30

STILL: list[Requirement] = [
    Fixed(1, 6),  # the strictest: recipes for one requirement serve everybody by it
    Fixed(2, 6),
    Fixed("1.500000007", 4),
    Fixed(3, 2),
    Fixed(1, 1),
    Fixed("1.0000001", 5),
]
MOVING: list[Requirement] = [
    Dynamic((1, 6), (2, 3)),
    Dynamic((3, 2)),
    Dynamic(("0.700000001", 5), ("0.9", 6)),
    Dynamic((5, 1), ("1.3", 4)),
    Dynamic((2, 4), (1, 2)),
]


class Case(NamedTuple):
    """A recipe and the kind of requirements it serves."""

    recipe: str
    kind: Literal["fixed", "dynamic", "mixed"]

    @property
    def pool(self) -> list[Requirement]:
        return {"fixed": STILL, "dynamic": MOVING, "mixed": STILL + MOVING}[self.kind]


CLOCKED = ("auto", "uniform", "sample")
"""Recipes that measure no change."""

CASES = [Case(name, "fixed") for name in RECIPES]
DYNAMIC = ("auto", "dpbd", "dpba")
"""Recipes that serve dynamic requirements."""
CASES += [Case(name, kind) for name in DYNAMIC for kind in ("dynamic", "mixed")]

# Ledgers of fixed requirements know one way only.
WAYS = [(case, fast) for case in CASES for fast in (FAST if case.recipe in DYNAMIC else FAST[:1])]
every = pytest.mark.parametrize(
    ("case", "fast"), WAYS, ids=[f"{case.recipe}-{case.kind}-{'fast' if fast else 'plain'}" for case, fast in WAYS]
)
fast = pytest.mark.parametrize("fast", FAST)


class BrokenError(Exception):
    """Something goes wrong in the middle of a draw."""


class Flaky(Recorded):
    """Noise that breaks when it is armed, at the next whole draw."""

    armed = False

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> npt.NDArray[np.int64]:
        if self.armed:
            raise BrokenError
        return super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)


class World:
    """A publisher, the people around it, and a record of what each of them required and spent."""

    def __init__(
        self,
        case: Case,
        seed: int,
        fast: bool,
        *,
        trigger: Trigger | None = None,
        noise: Recorded | None = None,
        privacy: Privacy | None = None,
        build: Callable[..., Publisher] | None = None,
    ) -> None:
        self.random = random.Random(seed)
        self.pool = case.pool
        self.asked: dict[str, Requirement] = {user: self.random.choice(self.pool) for user in USERS[:6]}
        self.asked[USERS[0]] = self.pool[0]
        register = Register.from_rows(self.asked).with_group("group-0", self.pool[0], GROUP)
        self.noise, self.journal = noise or Flaky(seed), OpenJournal()
        self.publisher: Publisher = (build or RECIPES[case.recipe])(
            register, CELLS, noise=self.noise, journal=self.journal, privacy=privacy, history_slots=6, fast=fast
        )
        if trigger is not None:
            self.publisher.trigger = trigger
        self.records: dict[str, Record] = {}
        self.slot = 1

    def live(self) -> None:
        """Joins, leaves, returns, changes and flips, at most a few before a slot."""
        for _ in range(self.random.choice([0, 0, 1, 1, 2, 4])):
            user, what = self.random.choice(USERS[1:]), self.random.random()
            if user in self.asked and what < 0.4:
                self.publisher.leave(user)
                del self.asked[user]
                continue
            requirement = self.random.choice(self.pool)
            if user in self.asked:
                self.publisher.change(user, requirement)
            else:
                self.publisher.join(user, requirement)
            self.asked[user] = requirement

    def data(self, without: str | None = None) -> Slot:
        """Who is where: one person may be left out, with everything else the same."""
        shift = self.slot // 20 % len(CELLS)
        places = {}
        for user in USERS:
            cell = CELLS[(shift + self.random.choice([0, 0, 0, 1])) % len(CELLS)]
            if self.random.random() < 0.8 and user in self.asked and user != without:
                places[user] = cell
        counts_of_the_group = [0] * len(CELLS)
        counts_of_the_group[shift] = self.random.randrange(GROUP)
        return Slot(self.slot, places, groups={"group-0": counts_of_the_group})

    def step(self, slot: Slot) -> Release:
        """One slot, and a note of what everybody spent in it."""
        try:
            release = self.publisher.step(slot)
        except BrokenError:
            release = self.publisher.step(slot)
            assert release.decision is Decision.LOST
        trace, offer = self.publisher.trace, self.journal.charges[-1]
        assert trace is not None and trace.slot == offer.slot == release.slot == self.slot
        assert np.array_equal(trace.change_budget, offer.change_budget) and np.array_equal(
            trace.offer, offer.publish_budget
        )
        kept = release.decision in (Decision.PUBLISHED, Decision.LOST)
        assert np.array_equal(trace.spent, offer.change_budget + offer.publish_budget if kept else offer.change_budget)
        self.note(trace.spent)
        self.slot += 1
        return release

    def note(self, spent: npt.NDArray[np.int64]) -> None:
        members = self.publisher.members
        rows = members.rows()
        for user in USERS:
            self._record(user)
            if user in self.asked:
                row = rows[members.register.position(user)]
                self._record(user).note(self.asked[user], int(spent[row]))
            else:
                self._record(user).note(None, 0)
        self._record("group-0").note(self.pool[0], int(spent[members.groups["group-0"]]))

    def _record(self, name: str) -> Record:
        return self.records.setdefault(name, Record())


def test_every_recipe_is_here() -> None:
    """No recipe goes without the contract."""
    assert {case.recipe for case in CASES} == set(RECIPES)


# The promise


@every
@pytest.mark.parametrize(("seed", "slots"), [(1, 110), pytest.param(2, 330, marks=pytest.mark.slow)])
def test_the_promise(case: Case, seed: int, slots: int, fast: bool) -> None:
    """SPEC §2: through many slots of coming, going, changing and failing, everybody's windows hold."""
    world = World(case, seed, fast)
    noise = world.noise
    assert isinstance(noise, Flaky)
    decisions = []
    for _ in range(slots):
        world.live()
        noise.armed = world.random.random() < 0.15
        decisions.append(world.step(world.data()).decision)
    broken = {name: violations(record.spends, record.promises()) for name, record in world.records.items()}
    assert broken == {name: [] for name in broken}
    assert max(worst(record.spends, record.promises()) for record in world.records.values()) > Fraction(1, 2)
    assert {Decision.PUBLISHED, Decision.LOST} <= set(decisions)


@fast
@pytest.mark.parametrize("rest", ["all", "own"])
@pytest.mark.parametrize("neighbours", quick_and_slow(["substitution"], ["add_remove"]))
@pytest.mark.parametrize("case", [Case("pba", "fixed"), Case("dpba", "mixed")])
def test_the_promise_under_other_settings(
    case: Case, neighbours: Literal["add_remove", "substitution"], rest: Literal["all", "own"], fast: bool
) -> None:
    """With either kind of rest and of neighbours the windows hold."""
    privacy = Privacy(neighbours=neighbours, rest=rest)
    world = World(case, 5, fast, trigger=Forced(lambda slot: slot % 3 > 0), privacy=privacy)
    decisions = set()
    for _ in range(150):
        world.live()
        decisions.add(world.step(world.data()).decision)
    assert all(violations(record.spends, record.promises()) == [] for record in world.records.values())
    assert (Decision.NULLIFIED in decisions) == (rest == "all")


# Nothing private in the charges


@every
@pytest.mark.parametrize("user", quick_and_slow(["user-3"], ["user-0"]))
def test_one_users_rows_change_no_charge(case: Case, user: str, fast: bool) -> None:
    """With the same releases, one user's rows change no charge, no size, no threshold, no byte stored."""

    def world() -> World:
        return World(case, 3, fast, trigger=Forced(lambda slot: slot % 3 != 2), noise=Deaf(5))

    whole_world, smaller_world = world(), world()
    differ = 0
    for _ in range(40):
        for each in (whole_world, smaller_world):
            each.live()
        full, less = whole_world.data(), smaller_world.data(without=user)
        differ += full.places != less.places
        releases = whole_world.step(full), smaller_world.step(less)
        for a, b in zip(whole_world.journal.charges[-1:], smaller_world.journal.charges[-1:], strict=True):
            assert np.array_equal(a.change_budget, b.change_budget) and np.array_equal(
                a.publish_budget, b.publish_budget
            )
            assert a.nullified == b.nullified
        assert releases[0].decision == releases[1].decision
        assert releases[0].threshold == releases[1].threshold
        assert releases[0].error == releases[1].error
        assert np.array_equal(releases[0].counts, releases[1].counts)
        assert np.array_equal(releases[0].standard_error, releases[1].standard_error)
        ledgers = whole_world.publisher.ledger, smaller_world.publisher.ledger
        assert np.array_equal(ledgers[0].all_sizes, ledgers[1].all_sizes)
        assert ledgers[0].to_bytes() == ledgers[1].to_bytes()
    assert differ > 5


@every
@pytest.mark.parametrize("publish_threshold", [-math.inf, math.inf], ids=["always", "never"])
def test_an_empty_slot_is_charged_and_drawn_like_a_full_one(case: Case, publish_threshold: float, fast: bool) -> None:
    """SPEC §1: the same charges and the same draws, by kind, exact budget and number of cells."""
    triggers: list[Trigger | None] = [None, None]
    if case.recipe not in CLOCKED:
        triggers = [ChangeTrigger(lambda selection, sensitivity: publish_threshold) for _ in range(2)]
    full, empty = (World(case, 4, fast, trigger=trigger, noise=Deaf(1)) for trigger in triggers)
    for _ in range(25):
        releases = full.step(full.data()), empty.step(Slot(empty.slot))
        assert releases[0].decision == releases[1].decision
        charges = full.journal.charges[-1], empty.journal.charges[-1]
        assert np.array_equal(charges[0].change_budget, charges[1].change_budget)
        assert np.array_equal(charges[0].publish_budget, charges[1].publish_budget)
    drawn = [[(kind, budget) for kind, budget, _ in world.noise.draws] for world in (full, empty)]
    cells = [[many for kind, _, many in world.noise.draws if kind == "laplace"] for world in (full, empty)]
    assert drawn[0] == drawn[1]
    assert cells[0] == cells[1]
    assert cells[0]


# One draw per slot


@every
def test_asked_again_the_kept_release_is_returned(case: Case, fast: bool) -> None:
    """Whatever is given the second time, nothing is drawn or spent, and the same release comes back."""
    world = World(case, 6, fast, noise=Recorded(2))
    releases = [world.step(world.data()) for _ in range(12)]
    stored = world.publisher.ledger.to_bytes()
    drawn, charged = len(world.noise.draws), len(world.journal.charges)
    for number in (12, 1, 7):
        for again in (Slot(number), Slot(number, {"user-0": CELLS[0]}), Slot(number, {"nobody": "nowhere"})):
            assert world.publisher.step(again) is releases[number - 1]
    assert world.publisher.ledger.to_bytes() == stored
    assert (len(world.noise.draws), len(world.journal.charges)) == (drawn, charged)
    world.step(world.data())


@every
@pytest.mark.parametrize("failing", ["the noise", "the trigger"])
def test_an_error_in_the_draw_loses_the_slot(case: Case, failing: str, fast: bool) -> None:
    """SPEC §8: the whole charge stays, the counts repeat, the slot is never drawn again, the next one works."""
    world, twin = (World(case, 7, fast, noise=Flaky(3)) for _ in range(2))
    publisher, noise = world.publisher, world.noise
    assert isinstance(noise, Flaky)

    class Broken(Trigger):
        def decide(self, given: DecisionInput) -> Verdict:
            raise BrokenError

    given = publisher.trigger
    before = world.step(world.data())
    twin.step(twin.data())
    while world.slot < 7 or not publisher.ledger.offer(publisher.schedule).publish_budget.all():
        before = world.step(world.data())
        twin.step(twin.data())
    noise.armed = failing == "the noise"
    if not noise.armed:
        publisher.trigger = Broken()
    lost, data = world.slot, world.data()
    with pytest.raises(BrokenError):
        publisher.step(data)
    noise.armed, publisher.trigger = False, given
    drawn, stored = len(noise.draws), publisher.ledger.to_bytes()
    release = publisher.step(data)
    assert (release.decision, release.slot) == (Decision.LOST, lost)
    assert release.threshold is None and release.error is None
    shown = np.array_equal(release.counts, before.counts)
    assert shown or np.array_equal(release.counts, publisher.filter.repeat(lost).counts)
    assert (len(noise.draws), publisher.ledger.to_bytes()) == (drawn, stored)
    offer = twin.publisher.ledger.offer(publisher.schedule)
    twin.publisher.ledger.charge(offer)
    twin.publisher.ledger.lose()
    assert twin.publisher.ledger.to_bytes() == stored
    assert publisher.trace is not None
    assert np.array_equal(publisher.trace.spent, offer.change_budget + offer.publish_budget)
    world.slot += 1
    assert world.step(world.data()).slot == lost + 1


@every
def test_interrupted_between_charge_and_draw(case: Case, fast: bool) -> None:
    """A slot that was charged and never drawn, for whatever reason, is lost when the next step begins."""
    world = World(case, 8, fast)
    world.step(world.data())
    publisher = world.publisher
    publisher.ledger.charge(publisher.ledger.offer(publisher.schedule))
    assert publisher.step(world.data()).decision is Decision.LOST
    assert publisher.ledger.slot == 3
    world.slot = 3
    assert world.step(world.data()).slot == 3


# What a release says


@every
def test_releases_are_sane(case: Case, fast: bool) -> None:
    """Whole or filtered counts, a threshold if something was on offer, errors that add up, repeats that repeat."""
    world = World(case, 9, fast)
    filtered = world.publisher.mechanism.filter is not Unfiltered
    counts: npt.NDArray[np.generic] = np.zeros(len(CELLS), np.int64)
    standard_error = np.full(len(CELLS), np.inf)
    for _ in range(60):
        world.live()
        release = world.step(world.data())
        assert release.counts.dtype == (np.float64 if filtered else np.int64)
        assert release.counts.shape == (len(CELLS),)
        assert not release.counts.flags.writeable and not release.standard_error.flags.writeable
        assert (release.threshold is None) == (release.error is None)
        assert (release.raw is None) == (release.decision is not Decision.PUBLISHED)
        assert (release.low <= np.maximum(release.counts, 0)).all() and (release.low >= 0).all()
        assert (np.maximum(release.counts, 0) <= release.high).all()
        offered = world.journal.charges[-1].publish_budget
        if release.decision is Decision.PUBLISHED:
            assert release.threshold is not None and release.error is not None and release.raw is not None
            assert (release.standard_error > 0).all() and np.isfinite(release.standard_error).all()
            assert round(release.threshold * 1e9) <= offered.max()
            parts = release.error.variance + release.error.squared_bias + release.error.noise
            assert release.error.total == parts > 0
            assert filtered or np.array_equal(release.raw.counts, release.counts)
            counts, standard_error = release.counts, release.standard_error
        elif filtered:
            assert (release.counts >= 0).all() and release.standard_error.min() > 0
        else:
            assert np.array_equal(release.counts, counts)
            assert np.array_equal(release.standard_error, standard_error)
        if release.decision is Decision.NULLIFIED:
            assert release.threshold is None and not offered.any()
        if release.decision is Decision.SKIPPED:
            assert (release.threshold is not None) <= bool(offered.any())
            assert filtered or (release.threshold is not None) == bool(offered.any())


# Forms of a slot


def as_mapping(world: World, slot: Slot) -> Slot:
    return slot


def as_array(world: World, slot: Slot) -> Slot:
    register = world.publisher.members.register
    cells = np.full(len(register), -1, np.int8)
    assert isinstance(slot.places, dict)
    for user, cell in slot.places.items():
        cells[register.position(user)] = CELLS.index(cell)
    return Slot(slot.number, cells, groups=slot.groups)


def as_pairs(world: World, slot: Slot) -> Slot:
    assert isinstance(slot.places, dict)
    collected = Slot.from_pairs(slot.number, slot.places.items())
    return Slot(slot.number, collected.places, groups=slot.groups)


def as_counts(world: World, slot: Slot) -> Slot:
    members = world.publisher.members
    members.begin_slot()
    counts = np.zeros((world.publisher.ledger.rows, len(CELLS)), np.int64)
    assert isinstance(slot.places, dict)
    for user, cell in slot.places.items():
        counts[members.rows()[members.register.position(user)], CELLS.index(cell)] += 1
    assert slot.groups is not None
    counts[members.groups["group-0"]] = slot.groups["group-0"]
    return Slot(slot.number, counts=counts)


@every
@pytest.mark.parametrize("form", [as_mapping, as_array, as_pairs, as_counts])
def test_every_form_of_a_slot_counts_the_same(case: Case, form: Callable[[World, Slot], Slot], fast: bool) -> None:
    """With silent noise a publication is the exact histogram of those who offer something, in every form."""
    world = World(case, 10, fast, trigger=Forced(range(1000)), noise=Silent(1))
    published = 0
    for _ in range(20):
        world.live()
        slot = world.data()
        release = world.step(form(world, slot))
        if release.decision is Decision.PUBLISHED:
            published += 1
            assert release.raw is not None
            assert release.raw.counts.tolist() == offered_counts(world, slot)
    assert published >= 2


def offered_counts(world: World, slot: Slot) -> list[int]:
    """Everybody whose row offers anything; a person who offers nothing is lost for certain."""
    offered = world.journal.charges[-1].publish_budget
    members = world.publisher.members
    assert isinstance(slot.places, dict) and slot.groups is not None
    counts = [0] * len(CELLS)
    for user, cell in slot.places.items():
        if offered[members.rows()[members.register.position(user)]] > 0:
            counts[CELLS.index(cell)] += 1
    if offered[members.groups["group-0"]] > 0:
        counts = [a + b for a, b in zip(counts, np.asarray(slot.groups["group-0"]).tolist(), strict=True)]
    return counts
