"""Protocol `honest`: slots in time order, one run over the whole stream, every window enforced and watched.

A stream, what people ask for and mechanisms come in; all mechanisms see the same slots; a score for each goes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.cohorts.counting import Counts
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Dynamic, Fixed
from wevent.errors import BudgetExceeded
from wevent.events.slot import Slot
from wevent.noise import StudyNoise
from wevent.releases.release import Decision, Release
from wevent.study.datasets.stream import Places, Stream
from wevent.study.mechanisms import Entry, Shown, Stepper, known_mechanism, settings_for
from wevent.study.metrics import Scorer
from wevent.study.protocols.score import PARTS, Score
from wevent.study.watch import FixedWatch, MovingWatch
from wevent.study.wishes import Wishes
from wevent.units import Units

Moved = Sequence[tuple[int, Dynamic]]
"""Types, and what they ask for from a slot on."""


def run(
    stream: Stream,
    wishes: Wishes,
    seeds: Mapping[str, int],
    metrics: Sequence[str],
    *,
    data_seed: int = 0,
    tick: Callable[[int], None] | None = None,
) -> dict[str, Score]:
    """Run mechanisms side by side over one stream.

    Args:
        stream: the data.
        wishes: what everybody asks for.
        seeds: mechanisms by name, each with the seed of its noise.
        metrics: names of metrics.
        data_seed: for synthetic data.
        tick: called with the number of each finished slot.

    Guarantees:
        Every mechanism sees the same slots and requirements; none sees another's noise.
        A window that holds more than was allowed raises `BudgetExceeded`; there is no score then.
    """
    contenders = {
        name: Contender(name, known_mechanism(name), stream, wishes, seed, metrics) for name, seed in seeds.items()
    }
    cells = len(stream.cells)
    offset = wishes.type_of * cells
    types = len(wishes.fixed)
    for number, places in enumerate(stream.places(data_seed), start=1):
        counts = _by_type(places, offset, types, cells, stream.complete)
        true = counts.sum(axis=0)
        moved = wishes.moves.at(number) if wishes.moves is not None and number > 1 else ()
        for contender in contenders.values():
            contender.step(number, counts, places, true, moved)
        if tick is not None:
            tick(number)
    return {name: contender.score() for name, contender in contenders.items()}


def _by_type(places: Places, offset: npt.NDArray[np.int64], types: int, cells: int, complete: bool) -> Counts:
    """How many users of each type are in each cell (axes: type, cell)."""
    if complete:
        return np.bincount(offset + places, minlength=types * cells).reshape(types, cells)
    there = places >= 0
    return np.bincount(offset[there] + places[there], minlength=types * cells).reshape(types, cells)


class Contender:
    """One mechanism with its register, its watch and its score."""

    def __init__(
        self, name: str, entry: Entry, stream: Stream, wishes: Wishes, seed: int, metrics: Sequence[str]
    ) -> None:
        self._name, self._entry, self._wishes = name, entry, wishes
        self._moves = wishes.moves if entry.serves == "dynamic" else None
        asked = self._asked()
        self._stepper = self._build(asked, stream, seed)
        self._row = self._rows_of_types()
        self._order = None if self._row is None else np.argsort(self._row)
        self._watch = self._watching(asked)
        self._scorer = Scorer(metrics, stream.plane)
        self._decisions = dict.fromkeys(Decision, 0)
        self._parts = dict.fromkeys(PARTS, 0.0)
        self._measured = [0, 0]
        self._seconds = 0.0

    def step(self, number: int, counts: Counts, places: Places, true: Counts, moved: Moved) -> None:
        """One slot."""
        if self._row is not None:
            counts = counts[self._order]
        slot = Slot(number, counts=counts) if self._entry.feeds == "rows" else Slot(number, places=places)
        moved = moved if self._moves is not None else ()
        stepper: Any = self._stepper
        begin = perf_counter()
        for kind, requirement in moved:
            stepper.change(_group(kind), requirement)
        shown = stepper.step(slot)
        self._seconds += perf_counter() - begin
        if isinstance(self._watch, MovingWatch):
            self._watch.ask(moved)
        self._note(self._stepper, shown, true)

    def score(self) -> Score:
        """The score so far."""
        worst = self._watch.worst()
        if worst > 1:
            raise BudgetExceeded(
                f"{self._name} spent {float(worst):.6f} times what a window allows; this is no result. Report it.",
                worst=worst,
            )
        errors = self._scorer.errors()
        many = [self._measured[0]] * 3 + [self._measured[1]] * 3
        parts = {part: total / n for (part, total), n in zip(self._parts.items(), many, strict=True) if n}
        decisions = {decision.value: many for decision, many in self._decisions.items()}
        seconds = self._seconds / max(errors.slots, 1)
        return Score(errors.slots, errors.means, decisions, worst, seconds, parts)

    def _asked(self) -> list[Fixed | Dynamic]:
        """What each type asks for in the first slot."""
        wishes = self._wishes
        if self._entry.serves == "common":
            return [wishes.common] * len(wishes.fixed)
        asked: list[Fixed | Dynamic] = list(wishes.fixed)
        for kind, requirement in self._moves.at(1) if self._moves is not None else ():
            asked[kind] = requirement
        return asked

    def _build(self, asked: Sequence[Fixed | Dynamic], stream: Stream, seed: int) -> Stepper:
        settings = settings_for(self._entry, stream.complete)
        if self._entry.feeds == "people":
            register = Register.from_levels(asked, self._wishes.type_of)
        else:
            register = Register()
            for kind, (one, size) in enumerate(zip(asked, self._wishes.sizes.tolist(), strict=True)):
                register.with_group(_group(kind), one, size)
        return self._entry.build(register, len(stream.cells), noise=StudyNoise(seed), **settings)

    def _watching(self, asked: Sequence[Fixed | Dynamic]) -> FixedWatch | MovingWatch:
        if self._moves is not None:
            return MovingWatch(asked)
        fixed = [one for one in asked if isinstance(one, Fixed)]
        if self._entry.feeds == "people":
            return FixedWatch([fixed[kind] for kind in self._wishes.type_of.tolist()])
        return FixedWatch(fixed)

    def _note(self, stepper: Stepper, shown: Shown, true: Counts) -> None:
        trace = stepper.trace
        if trace is not None:
            self._watch.add(self._by_asker(trace.spent))
        self._scorer.add(true, shown.counts)
        self._decisions[shown.decision] += 1
        change = getattr(trace, "change", None)
        if change is not None:
            self._add_parts(0, change.selection.noise, change.selection.variance, change.selection.squared_bias)
        if isinstance(shown, Release) and shown.error is not None:
            self._add_parts(1, shown.error.noise, shown.error.variance, shown.error.squared_bias)

    def _rows_of_types(self) -> npt.NDArray[np.int64] | None:
        """The ledger row of each type, where a publisher has put them into another order."""
        groups = getattr(getattr(self._stepper, "members", None), "groups", None)
        if groups is None or self._entry.feeds == "people":
            return None
        row = np.array([groups[_group(kind)] for kind in range(len(self._wishes.fixed))], np.int64)
        return None if np.array_equal(row, np.arange(row.size)) else row

    def _by_asker(self, spent: Units) -> Units:
        """What each type, or each person, spent; one row may stand for all."""
        if spent.size == 1:
            people = self._entry.feeds == "people"
            return np.broadcast_to(spent, self._wishes.type_of.size if people else len(self._wishes.fixed))
        return spent if self._row is None else spent[self._row]

    def _add_parts(self, which: int, *values: float) -> None:
        self._measured[which] += 1
        for name, value in zip(PARTS[3 * which : 3 * which + 3], values, strict=True):
            self._parts[name] += value


def _group(kind: int) -> str:
    return f"type-{kind}"
