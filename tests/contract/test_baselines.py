"""One contract for every baseline: windows hold, nothing private but through noise, one draw per slot, nobody named."""

from __future__ import annotations

import ast
import inspect
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from tests.support import Recorded, quick_and_slow

from wevent import Decision, Fixed, Privacy, Register, Slot
from wevent.budgets.feasibility import FixedPromise, violations, worst
from wevent.budgets.ledger import Offer
from wevent.cohorts.requirement import Requirement
from wevent.errors import InvalidInput, SlotOutOfOrder, TooManyCells, WrongShape
from wevent.noise import SeededNoise
from wevent.study.baselines.base import Baseline
from wevent.study.mechanisms import BASELINES

Ints = npt.NDArray[np.int64]
Kind = Literal["jumpy", "quiet", "empty"]

CELLS = [f"cell-{k}" for k in range(4)]
PEOPLE = 48
# The strictest budget and the longest window belong to different people.
SHORT = [Fixed(1, 4), Fixed(2, 6), Fixed("1.500000007", 5), Fixed(3, 2)]
LONG = [Fixed("0.9", 60), Fixed(2, 90), Fixed("1.000000007", 77)]

every = pytest.mark.parametrize("name", list(BASELINES))
both = pytest.mark.parametrize("asked", [SHORT, LONG], ids=["short", "long"])
mostly_short = pytest.mark.parametrize("asked", quick_and_slow([SHORT], [LONG]), ids=["short", "long"])


class BrokenError(Exception):
    """Something goes wrong in the middle of a draw."""


class Flaky(Recorded):
    """Noise that breaks at the next draw when it is armed."""

    armed = False

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> Ints:
        self._break()
        return super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)

    def binomial(self, counts: npt.ArrayLike, probabilities: npt.ArrayLike) -> Ints:
        self._break()
        return super().binomial(counts, probabilities)

    def _break(self) -> None:
        if self.armed:
            raise BrokenError


class Deaf(Recorded):
    """Noise that does not listen: what it gives depends on its seed, on shapes and on how many people a row has in all.

    Everybody has a symbol with local privacy, so how many there are in a row is no secret.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.script = np.random.default_rng(seed)

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> Ints:
        super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)
        spread = 10 ** int(self.script.integers(1, 4))
        return self.script.integers(-spread, 2 * spread, np.size(values))

    def binomial(self, counts: npt.ArrayLike, probabilities: npt.ArrayLike) -> Ints:
        given, chances = np.broadcast_arrays(np.asarray(counts), np.asarray(probabilities))
        self.draws.append(("binomial", Fraction(int(chances.sum())), given.size))
        kept = np.zeros(given.shape, np.int64)  # all that are kept are of one symbol, so that there is change to see
        share = self.script.random(given.shape[:-1])
        kept[..., int(self.script.integers(given.shape[-1]))] = share * given.sum(axis=-1)
        return kept


class Strict(Recorded):
    """Noise that takes whole numbers and exact budgets and nothing that looks like them."""

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> Ints:
        given = np.asarray(values)
        assert given.dtype == np.int64 and type(sensitivity) is int and type(epsilon) is Fraction
        assert given.ndim == 1 and sensitivity > 0 and epsilon > 0
        return super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)

    def binomial(self, counts: npt.ArrayLike, probabilities: npt.ArrayLike) -> Ints:
        for given in (counts, probabilities):
            assert np.asarray(given).dtype == np.int64
        return super().binomial(counts, probabilities)


class World:
    """A baseline, its register, and what every person spent, slot by slot."""

    def __init__(
        self,
        name: str,
        asked: list[Fixed],
        noise: SeededNoise | None = None,
        privacy: Privacy | None = None,
    ) -> None:
        table: list[Requirement] = list(asked)
        self.asked = asked
        self.choice = np.arange(PEOPLE) % len(asked)
        self.register = Register.from_levels(table, self.choice, users=[f"user-{k}" for k in range(PEOPLE)])
        self.noise = noise or Recorded(1)
        self.baseline: Baseline = BASELINES[name](self.register, CELLS, noise=self.noise, privacy=privacy)
        self.spends: list[Ints] = []
        self.charges: list[Offer] = []
        charge = self.baseline.ledger.charge

        def spy(offer: Offer) -> None:
            charge(offer)
            self.charges.append(offer)

        self.baseline.ledger.charge = spy  # type: ignore[method-assign]

    def slot(self, places: Ints, number: int | None = None) -> Slot:
        """The same people in the form that the baseline takes."""
        number = self.baseline.ledger.slot if number is None else number
        if self.baseline.feeds == "people":
            return Slot(number, places)
        counts = np.zeros((self.register.sizes.size, len(CELLS)), np.int64)
        present = places >= 0
        np.add.at(counts, (self.register.rows[present], places[present]), 1)
        return Slot(number, counts=counts)

    def step(self, places: Ints) -> Decision:
        """One slot; what breaks is lost."""
        try:
            decision = self.baseline.step(self.slot(places)).decision
        except BrokenError:
            decision = Decision.LOST
        assert self.baseline.trace is not None
        self.spends.append(self.baseline.trace.spent)
        return decision

    def by_person(self) -> dict[tuple[int, ...], set[Fixed]]:
        """Different histories of spends, with what the people who have them required."""
        table = np.array(self.spends)
        if table.shape[1] == PEOPLE:
            rows = np.arange(PEOPLE)
        else:
            rows = self.register.rows if table.shape[1] == self.register.sizes.size else np.zeros(PEOPLE, np.int64)
        found: dict[tuple[int, ...], set[Fixed]] = {}
        for person, row in enumerate(rows.tolist()):
            found.setdefault(tuple(table[:, row].tolist()), set()).add(self.asked[self.choice[person]])
        return found


def windows(asked: list[Fixed], times: int) -> int:
    """So many slots that the longest window passes this often."""
    return times * max(requirement.window for requirement in asked)


def stream(kind: Kind, slots: int, seed: int = 0) -> Iterator[Ints]:
    """Where everybody is, -1 for absent."""
    rng = np.random.default_rng(seed)
    for slot in range(slots):
        if kind == "empty":
            yield np.full(PEOPLE, -1)
        elif kind == "quiet":
            yield np.arange(PEOPLE) % len(CELLS)
        else:
            moved = (slot // 7 + rng.integers(0, 2, PEOPLE)) % len(CELLS)
            yield np.where(rng.random(PEOPLE) < 0.8, moved, -1)


def test_every_baseline_is_here() -> None:
    """Names are those of the classes, and nothing of the study goes without the contract."""
    assert {name: baseline.name for name, baseline in BASELINES.items()} == {name: name for name in BASELINES}
    assert {"lbu", "plbu", "plbu_sum", "lbd", "lba", "lpu", "lpd", "lpa"} <= set(BASELINES)
    assert {"spas", "fast", "rescuedp", "pegasus"} <= set(BASELINES)
    assert [name for name, baseline in BASELINES.items() if not baseline.proven] == ["spas"]


# The promise


@every
@mostly_short
@pytest.mark.parametrize("kind", quick_and_slow(["jumpy"], ["quiet", "empty"]))
def test_every_window_of_every_person_holds(name: str, asked: list[Fixed], kind: Kind) -> None:
    """SPEC §2: over 4 long or 15 short windows, some slots lost, nobody's window holds more than was required."""
    noise = Flaky(3)
    world, coins = World(name, asked, noise), random.Random(4)
    decisions = []
    for places in stream(kind, windows(asked, 15 if asked is SHORT else 4)):
        noise.armed = coins.random() < 0.1
        decisions.append(world.step(places))
    for spends, requirements in world.by_person().items():
        promises = [FixedPromise(requirement.units, requirement.window, 1) for requirement in requirements]
        assert violations(spends, promises) == []
        assert worst(spends, promises) > Fraction(1, 10)  # it does spend
    assert {Decision.PUBLISHED, Decision.LOST} <= set(decisions)


@every
def test_every_window_holds_between_other_neighbours(name: str) -> None:
    """With either kind of neighbours the windows hold, and the noise is as large as they require."""
    world = World(name, SHORT, privacy=Privacy(neighbours="substitution"))
    for places in stream("jumpy", windows(SHORT, 10)):
        world.step(places)
    for spends, requirements in world.by_person().items():
        assert (
            violations(spends, [FixedPromise(requirement.units, requirement.window, 1) for requirement in requirements])
            == []
        )


# Nothing private but through noise


@every
@mostly_short
@pytest.mark.parametrize("other", quick_and_slow(["empty"], ["quiet"]))
def test_nothing_passes_by_the_noise(name: str, asked: list[Fixed], other: Kind) -> None:
    """With noise that does not listen, all charges, draws, decisions and counts are those of any other data."""
    first, second = World(name, asked, Deaf(5)), World(name, asked, Deaf(5))
    decisions = []
    slots = windows(asked, 15 if asked is SHORT else 3)
    for places, other_places in zip(stream("jumpy", slots), stream(other, slots), strict=True):
        decisions.append(first.step(places))
        assert second.step(other_places) == decisions[-1]
        assert np.array_equal(first.baseline.shown, second.baseline.shown)
        assert np.array_equal(first.charges[-1].change_budget, second.charges[-1].change_budget)
        assert np.array_equal(first.charges[-1].publish_budget, second.charges[-1].publish_budget)
        assert np.array_equal(first.spends[-1], second.spends[-1])
    assert isinstance(first.noise, Deaf) and isinstance(second.noise, Deaf)
    assert first.noise.draws == second.noise.draws
    assert first.baseline.ledger.to_bytes() == second.baseline.ledger.to_bytes()
    if asked is SHORT or first.baseline.feeds == "rows":  # over 90 slots hardly any of so few people is asked at a time
        assert Decision.PUBLISHED in decisions


@every
def test_data_do_matter_when_noise_listens(name: str) -> None:
    """The test above could fail: with noise that listens, other data show other counts."""
    first, second = World(name, SHORT, Recorded(6)), World(name, SHORT, Recorded(6))
    for places, other_places in zip(stream("jumpy", 30), stream("quiet", 30), strict=True):
        first.step(places)
        second.step(other_places)
    assert not np.array_equal(first.baseline.shown, second.baseline.shown)


@every
@mostly_short
def test_only_whole_numbers_meet_noise(name: str, asked: list[Fixed]) -> None:
    """Every draw takes int64 and exact fractions."""
    world = World(name, asked, Strict(7))
    for places in stream("jumpy", windows(asked, 8 if asked is SHORT else 2)):
        world.step(places)
    assert isinstance(world.noise, Strict) and world.noise.draws


def test_no_other_randomness() -> None:
    """Baselines draw from `Noise` alone; who is asked of the people is public, from a generator that it seeds."""
    found = set()
    for baseline in BASELINES.values():
        for kind in baseline.__mro__:
            if kind.__module__.startswith("wevent.study"):
                module = sys.modules[kind.__module__]
                tree = ast.parse(inspect.getsource(module))
                named = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
                imported = {
                    alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
                }
                assert not imported & {"random", "secrets", "os"}
                if "random" in named:
                    found.add(module.__name__.rpartition(".")[2])
    assert found == {"ldp_ids_people"}


# One draw per slot


@every
@both
def test_an_error_in_the_draw_loses_the_slot(name: str, asked: list[Fixed]) -> None:
    """SPEC §8: the whole charge stays, the counts repeat, the slot is not drawn again, the next one works."""
    noise = Flaky(8)
    world = World(name, asked, noise)
    baseline = world.baseline
    places = list(stream("jumpy", 400))
    for k in range(10):
        world.step(places[k])
    before, lost = baseline.shown.copy(), None
    for k in range(10, 300):  # until a slot wants to draw
        noise.armed = True
        before = baseline.shown.copy()
        try:
            baseline.step(world.slot(places[k]))
        except BrokenError:
            lost = k + 1
            break
    assert lost is not None
    noise.armed = False
    drawn, stored = len(noise.draws), baseline.ledger.to_bytes()
    offer = world.charges[-1]
    assert offer.slot == lost and (offer.change_budget + offer.publish_budget).any()
    assert baseline.trace is not None and baseline.trace.slot == lost
    assert np.array_equal(baseline.trace.spent, offer.change_budget + offer.publish_budget)
    assert np.array_equal(baseline.shown, before)
    with pytest.raises(SlotOutOfOrder):
        baseline.step(world.slot(places[lost - 1], lost))
    assert (len(noise.draws), baseline.ledger.to_bytes()) == (drawn, stored)
    assert baseline.step(world.slot(places[lost])).slot == lost + 1


@every
def test_slots_come_in_order_and_once(name: str) -> None:
    """A slot too early, too late or again is refused, and nothing is drawn, charged or changed by it."""
    world, places = World(name, SHORT), np.zeros(PEOPLE, np.int64)
    assert isinstance(world.noise, Recorded)
    for number in (2, 7):
        with pytest.raises(SlotOutOfOrder):
            world.baseline.step(world.slot(places, number))
    for _ in range(3):
        world.step(places)
    drawn, stored = len(world.noise.draws), world.baseline.ledger.to_bytes()
    for number in (1, 3, 5):
        with pytest.raises(SlotOutOfOrder) as refused:
            world.baseline.step(world.slot(places, number))
        assert refused.value.fields == {"slot": number, "expected": 4}
    assert (len(world.noise.draws), world.baseline.ledger.to_bytes()) == (drawn, stored)
    assert world.baseline.step(world.slot(places)).slot == 4


@every
@mostly_short
def test_the_same_seed_gives_the_same_result(name: str, asked: list[Fixed]) -> None:
    """Counts, decisions and spends repeat for a seed, and are others for another."""

    def run(seed: int) -> list[tuple[Any, ...]]:
        world = World(name, asked, SeededNoise(seed))
        return [
            (world.step(places), world.baseline.shown.tolist(), world.spends[-1].tolist())
            for places in stream("jumpy", windows(asked, 5 if asked is SHORT else 2))
        ]

    first = run(9)
    assert run(9) == first
    assert run(10) != first


@every
def test_what_was_shown_cannot_be_changed(name: str) -> None:
    """Counts that were shown are no handle on what is shown next."""
    world = World(name, SHORT)
    for places in stream("jumpy", 30):
        shown = world.baseline.step(world.slot(places))
        if shown.decision is Decision.PUBLISHED:
            with pytest.raises(ValueError, match="read-only"):
                shown.counts[0] = 0


# Bad input

MANY = 7 * 10**6 + 654_321
SECRETS = [f"{MANY}", f"{MANY:,}", "user-", "cell-"]


class Bad(NamedTuple):
    """Something wrong to give, in the form for rows and in that for people."""

    what: str
    rows: Callable[[Ints], Any]
    people: Callable[[Ints], Any]
    error: type[InvalidInput] = WrongShape


def put(table: Ints, value: int) -> Ints:
    table = table.copy()
    table.flat[0] = value
    return table


BAD = [
    Bad("nothing", lambda good: None, lambda good: None),
    Bad("floats", lambda good: good.astype(float), lambda good: good.astype(float)),
    Bad("truth values", lambda good: good > 0, lambda good: good > 0),
    Bad("one too few", lambda good: good[:-1], lambda good: good[:-1]),
    Bad("one too many", lambda good: np.vstack([good, good[:1]]), lambda good: np.append(good, 0)),
    Bad("a cell too few", lambda good: good[:, :-1], lambda good: good[:, None]),
    Bad("one axis", lambda good: good[0], lambda good: good[None]),
    Bad("negative", lambda good: put(good, -MANY), lambda good: put(good, -MANY)),
    Bad("too large", lambda good: put(good, MANY), lambda good: put(good, MANY)),
    Bad("very large", lambda good: put(good.astype(np.uint64), 2**64 - 1), lambda good: put(good, 2**62)),
]


@every
def test_bad_input_costs_nothing_and_names_nobody(name: str) -> None:
    """A typed error before anything is spent or drawn; the stream goes on as if it had not been."""
    world, twin = World(name, SHORT, Recorded(11)), World(name, SHORT, Recorded(11))
    places = list(stream("jumpy", 9))
    for cells in places[:4]:
        world.step(cells)
        twin.step(cells)
    for bad in BAD:
        refuse(world, places[4], bad)
    for cells in places[4:]:
        assert world.step(cells) == twin.step(cells)
        assert np.array_equal(world.baseline.shown, twin.baseline.shown)


def refuse(world: World, places: Ints, bad: Bad) -> None:
    """Give something wrong in slot 5, and look at what is said, drawn and stored."""
    good = world.slot(places)
    if world.baseline.feeds == "people":
        assert isinstance(good.places, np.ndarray)
        wrong = Slot(5, places=bad.people(good.places.astype(np.int64)))
    else:
        assert good.counts is not None
        wrong = Slot(5, counts=bad.rows(good.counts.astype(np.int64)))
    assert isinstance(world.noise, Recorded)
    drawn, stored = len(world.noise.draws), world.baseline.ledger.to_bytes()
    with pytest.raises(InvalidInput) as refused:
        world.baseline.step(wrong)
    error = refused.value
    assert isinstance(error, WrongShape | TooManyCells) and "slot 5" in str(error)
    last = traceback.format_exception_only(error)
    for shown in (*last, repr(error), str(error.fields), repr(world.baseline), repr(wrong)):
        assert not any(secret in shown for secret in SECRETS)
    assert (len(world.noise.draws), world.baseline.ledger.to_bytes()) == (drawn, stored), bad.what
