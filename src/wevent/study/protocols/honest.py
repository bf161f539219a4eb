"""Runs the protocol `honest`: slots in time order, one run over the whole stream, every window enforced and checked.

All mechanisms see the same slots and requirements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent import Decision, Dynamic, Fixed, Publisher, Register, Release, Slot
from wevent.errors import BudgetExceeded
from wevent.extend import Counts, StudyNoise, Units, group_rows
from wevent.study.datasets.stream import DataStream, Places
from wevent.study.mechanisms import Stepper, StudyRelease, known_mechanism, settings_for
from wevent.study.metrics import Scorer
from wevent.study.protocols.score import PARTS, RunScore
from wevent.study.requirements import StudyRequirements
from wevent.study.window_check import DynamicWindowCheck, FixedWindowCheck

TypeChanges = Sequence[tuple[int, Dynamic]]
"""Types, and what each requires from a slot on."""


def run(
    stream: DataStream,
    requirements: StudyRequirements,
    seeds: Mapping[str, int],
    metrics: Sequence[str],
    *,
    data_seed: int = 0,
) -> dict[str, RunScore]:
    """Run mechanisms side by side over one stream.

    Args:
        stream: the data.
        requirements: those of all users.
        seeds: mechanisms by name, each with the seed of its noise.
        metrics: names of metrics.
        data_seed: for synthetic data.

    Guarantees:
        Every mechanism sees the same slots and requirements; none sees another's noise.
        A window that holds more than was allowed raises `BudgetExceeded`; there is no score then.
    """
    contenders = {name: Contender(name, stream, requirements, seed, metrics) for name, seed in seeds.items()}
    cells = len(stream.cells)
    for number, places in enumerate(stream.places(data_seed), start=1):
        counts = requirements.count(places, cells)
        true = counts.sum(axis=0)
        changed = requirements.changes.at(number) if requirements.changes is not None and number > 1 else ()
        for contender in contenders.values():
            contender.step(number, counts, places, true, changed)
    return {name: contender.score() for name, contender in contenders.items()}


class Contender:
    """One mechanism with its register, its window check and its score."""

    def __init__(
        self, name: str, stream: DataStream, requirements: StudyRequirements, seed: int, metrics: Sequence[str]
    ) -> None:
        self._name, self._requirements = name, requirements
        self._entry = entry = known_mechanism(name)
        self._changes = requirements.changes if entry.serves == "dynamic" else None
        required = self._required()
        self._stepper = self._build(required, stream, seed)
        self._row = self._rows_of_types()
        self._order = None if self._row is None else np.argsort(self._row)
        self._check = self._window_check(required)
        self._scorer = Scorer(metrics, stream.plane)
        self._decisions = dict.fromkeys(Decision, 0)
        self._parts = dict.fromkeys(PARTS, 0.0)
        self._measured = [0, 0]
        self._seconds = 0.0

    def step(self, number: int, counts: Counts, places: Places, true: Counts, changed: TypeChanges) -> None:
        """One slot."""
        if self._row is not None:
            counts = counts[self._order]
        slot = Slot(number, counts=counts) if self._entry.feeds == "rows" else Slot(number, places=places)
        changed = changed if self._changes is not None else ()
        stepper: Any = self._stepper
        begin = perf_counter()
        for kind, requirement in changed:
            stepper.change(_group(kind), requirement)
        shown = stepper.step(slot)
        self._seconds += perf_counter() - begin
        if isinstance(self._check, DynamicWindowCheck):
            self._check.change(changed)
        self._note(self._stepper, shown, true)

    def score(self) -> RunScore:
        """The score so far."""
        worst = self._check.worst()
        if worst > 1:
            said = f"{self._name} spent {float(worst):.6f} times what a window allows; this is no result. Report it."
            raise BudgetExceeded(said, worst=worst)
        errors = self._scorer.errors()
        many = [self._measured[0]] * 3 + [self._measured[1]] * 3
        parts = {part: total / n for (part, total), n in zip(self._parts.items(), many, strict=True) if n}
        decisions = {decision.value: many for decision, many in self._decisions.items()}
        seconds = self._seconds / max(errors.slots, 1)
        return RunScore(errors.slots, errors.means, decisions, worst, seconds, parts)

    def _required(self) -> list[Fixed | Dynamic]:
        """What each type requires in the first slot."""
        requirements = self._requirements
        if self._entry.serves == "common":
            return [requirements.common] * len(requirements.fixed)
        required: list[Fixed | Dynamic] = list(requirements.fixed)
        for kind, requirement in self._changes.at(1) if self._changes is not None else ():
            required[kind] = requirement
        return required

    def _build(self, required: Sequence[Fixed | Dynamic], stream: DataStream, seed: int) -> Stepper:
        settings = settings_for(self._entry, stream.complete)
        if self._entry.feeds == "people":
            register = Register.from_levels(required, self._requirements.type_of)
        else:
            register = Register()
            for kind, (requirement, size) in enumerate(zip(required, self._requirements.sizes.tolist(), strict=True)):
                register.with_group(_group(kind), requirement, size)
        return self._entry.build(register, len(stream.cells), noise=StudyNoise(seed), **settings)

    def _window_check(self, required: Sequence[Fixed | Dynamic]) -> FixedWindowCheck | DynamicWindowCheck:
        if self._changes is not None:
            return DynamicWindowCheck(required)
        fixed = [requirement for requirement in required if isinstance(requirement, Fixed)]
        if self._entry.feeds == "people":
            return FixedWindowCheck([fixed[kind] for kind in self._requirements.type_of.tolist()])
        return FixedWindowCheck(fixed)

    def _note(self, stepper: Stepper, shown: StudyRelease, true: Counts) -> None:
        trace = stepper.trace
        if trace is not None:
            self._check.add(self._by_requirement(trace.spent))
        self._scorer.add(true, shown.counts)
        self._decisions[shown.decision] += 1
        change = getattr(trace, "change", None)
        if change is not None:
            self._add_parts(0, change.selection.noise, change.selection.variance, change.selection.squared_bias)
        if isinstance(shown, Release) and shown.error is not None:
            self._add_parts(1, shown.error.noise, shown.error.variance, shown.error.squared_bias)

    def _rows_of_types(self) -> npt.NDArray[np.int64] | None:
        """The ledger row of each type, where a publisher has put them into another order."""
        if not isinstance(self._stepper, Publisher) or self._entry.feeds == "people":
            return None
        row = group_rows(self._stepper, [_group(kind) for kind in range(len(self._requirements.fixed))])
        return None if np.array_equal(row, np.arange(row.size)) else row

    def _by_requirement(self, spent: Units) -> Units:
        """What each type, or each person, spent; one row may stand for all."""
        if spent.size == 1:
            people = self._entry.feeds == "people"
            return np.broadcast_to(spent, self._requirements.type_of.size if people else len(self._requirements.fixed))
        return spent if self._row is None else spent[self._row]

    def _add_parts(self, which: int, *values: float) -> None:
        self._measured[which] += 1
        for name, value in zip(PARTS[3 * which : 3 * which + 3], values, strict=True):
            self._parts[name] += value


def _group(kind: int) -> str:
    return f"type-{kind}"
