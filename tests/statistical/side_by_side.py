"""Runs a publisher many times on two neighbouring streams and estimates its privacy loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wevent import RECIPES, Decision, Privacy, Publisher, Register, Slot
from wevent.budgets.ledger import Offer
from wevent.cohorts.histogram import PersonTally
from wevent.cohorts.requirement import Requirement
from wevent.decisions.change import ChangeTrigger
from wevent.decisions.sampling import keep_people, sample
from wevent.decisions.selection import choose_threshold
from wevent.noise import Noise, SeededNoise
from wevent.releases.empirical import EmpiricalLoss, compare
from wevent.units import as_fraction

CONFIDENCE = 1 - 1e-4
"""Of every lower bound: with other seeds, an honest mechanism fails a test in at most one of 10⁴ runs."""

RUNS = 400_000
"""On each of the two streams, for honest and for broken mechanisms alike."""

KINDS = {decision: kind for kind, decision in enumerate(Decision)}

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Between = Callable[[Publisher], None]


class HalfTheNoise(SeededNoise):
    """Draws at twice the threshold."""

    def laplace(self, values: ArrayLike, *, sensitivity: int, epsilon: Fraction) -> Ints:
        return super().laplace(values, sensitivity=sensitivity, epsilon=2 * epsilon)


@dataclass(frozen=True)
class Scene:
    """A mechanism and two neighbouring streams: the first person's rows differ, the others' do not.

    Attributes:
        people: requirements of all people, the target first.
        streams: for each stream and slot, the cells of all people, -1 for absent.
        between: changes of the register before a slot, by its number.
        largest_step: larger steps from the counts without the target count as this one.
    """

    recipe: str
    people: Sequence[Requirement]
    streams: tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]
    cells: int = 1
    privacy: Privacy = field(default_factory=Privacy)
    between: Mapping[int, Between] = field(default_factory=dict)
    largest_step: int = 3

    def publisher(self, noise: Noise) -> Publisher:
        register = Register.from_rows(list(enumerate(self.people)))
        return RECIPES[self.recipe](register, self.cells, privacy=self.privacy, noise=noise, fast=False)

    def before(self, slot: int, publisher: Publisher) -> None:
        if slot in self.between:
            self.between[slot](publisher)

    def around(self, slot: int) -> Ints:
        others = np.array(self.streams[0][slot][1:], np.int64)
        return np.bincount(others[others >= 0], minlength=self.cells)


class Transcripts:
    """The outputs of many runs: kinds of decisions (axes: run, slot) and counts (axes: run, slot, cell)."""

    def __init__(self, runs: int, slots: int, cells: int) -> None:
        self.kinds = np.zeros((runs, slots), np.int64)
        self.counts = np.zeros((runs, slots, cells), np.int64)

    def coded(self, scene: Scene) -> list[int]:
        """As `empirical.observed`, but each run as one number, for all runs at once."""
        wide, largest = 2 * scene.largest_step + 1, scene.largest_step
        code = np.zeros(len(self.kinds), np.int64)
        for slot in range(self.kinds.shape[1]):
            steps = np.clip(self.counts[:, slot] - scene.around(slot), -largest, largest) + largest
            place = steps @ wide ** np.arange(scene.cells)
            published = self.kinds[:, slot] == KINDS[Decision.PUBLISHED]
            code = code * (wide**scene.cells + len(KINDS))
            code += np.where(published, len(KINDS) + place, self.kinds[:, slot])
        result: list[int] = code.tolist()
        return result


def estimated_loss(scene: Scene, noise: Noise, runs: int = RUNS) -> EmpiricalLoss:
    """The loss that so many runs on each stream show."""
    first, second = (run_at_once(scene, stream, runs, noise).coded(scene) for stream in (0, 1))
    return compare(first, second, CONFIDENCE)


def run_by_step(scene: Scene, stream: int, runs: int, noise: Noise) -> Transcripts:
    """Run a publisher of its own for every run."""
    rows = scene.streams[stream]
    found = Transcripts(runs, len(rows), scene.cells)
    for run in range(runs):
        publisher = scene.publisher(noise)
        for slot, places in enumerate(rows):
            scene.before(slot + 1, publisher)
            release = publisher.step(Slot(slot + 1, np.array(places)))
            found.kinds[run, slot], found.counts[run, slot] = KINDS[release.decision], release.counts
    return found


def run_at_once(scene: Scene, stream: int, runs: int, noise: Noise) -> Transcripts:
    """The same for many runs together, a thousand times as fast.

    A ledger depends on decisions and never on counts, so that runs with the same decisions share one. Draws of n runs
    are those of one domain of n times the cells, in which the people of every run have cells of their own. A test
    compares this with `run_by_step`.
    """
    rows = scene.streams[stream]
    found = Transcripts(runs, len(rows), scene.cells)
    paths = [(scene.publisher(noise), np.arange(runs))]
    last = np.zeros((runs, scene.cells), np.int64)
    for slot, places in enumerate(rows):
        after = []
        for publisher, members in paths:
            scene.before(slot + 1, publisher)
            tally = publisher._read(Slot(slot + 1, np.array(places)))
            assert isinstance(tally, PersonTally)
            offer = publisher.ledger.offer(publisher.schedule)
            publish = _decide(publisher, tally, offer, last[members], noise)
            if publish.any():
                last[members[publish]] = _publish(publisher, tally, offer, int(publish.sum()), noise)
            silent = Decision.NULLIFIED if offer.nullified else Decision.SKIPPED
            found.kinds[members, slot] = np.where(publish, KINDS[Decision.PUBLISHED], KINDS[silent])
            for published in (True, False):
                if (publish == published).any():
                    path = scene.publisher(noise)
                    path.restore(publisher.to_bytes())
                    path.ledger.charge(offer)
                    path.ledger.settle(published)
                    after.append((path, members[publish == published]))
        found.counts[:, slot] = last
        paths = after
    return found


def _decide(publisher: Publisher, tally: PersonTally, offer: Offer, last: Ints, noise: Noise) -> Bools:
    """SPEC §4 and §5 for many runs: which of them publish (axes: run)."""
    sizes, s, trigger = publisher.ledger.all_sizes, publisher.privacy.sensitivity, publisher.trigger
    fresh = choose_threshold(offer.publish_budget, sizes, s)
    if offer.nullified or fresh.threshold == 0:
        return np.zeros(len(last), bool)
    if not isinstance(trigger, ChangeTrigger):
        return np.ones(len(last), bool)
    change = choose_threshold(offer.change_budget, sizes, s)
    if change.threshold == 0:
        return np.zeros(len(last), bool)
    kept = keep_people(_repeat(tally, len(last)), change, sizes, noise).reshape(last.shape)
    distance = np.abs(kept - last).sum(axis=1)
    noisy = noise.laplace(distance, sensitivity=s, epsilon=as_fraction(change.threshold))
    return np.asarray(noisy / last.shape[1] > trigger.publish_threshold(fresh, s))


def _publish(publisher: Publisher, tally: PersonTally, offer: Offer, runs: int, noise: Noise) -> Ints:
    """Fresh counts of so many runs (axes: run, cell)."""
    sizes, s = publisher.ledger.all_sizes, publisher.privacy.sensitivity
    selection = choose_threshold(offer.publish_budget, sizes, s)
    return sample(_repeat(tally, runs), selection, sizes, s, noise).reshape(runs, -1)


def _repeat(tally: PersonTally, runs: int) -> PersonTally:
    """The same people again in cells d, …, 2d-1, then in 2d, …, 3d-1, and so on."""
    cells = np.tile(tally._cells, runs)
    cells += np.where(cells >= 0, np.repeat(np.arange(runs) * tally.total().size, tally._cells.size), 0)
    return PersonTally(np.tile(tally._rows, runs), cells, {}, np.tile(tally.total(), runs))
