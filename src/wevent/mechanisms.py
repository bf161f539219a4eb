"""Builds a publisher for each named mechanism, in a few lines.

`pbd`, `pba`, `dpbd` and `dpba` serve each person by their own requirement [Du25]; `bd`, `ba` [Kellaris14], `uniform`
and `sample` serve all people by the strictest one. Begin with `auto`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, Protocol, TypedDict, Unpack, get_args

import numpy as np

from wevent.budgets.paced import AdaptivePacing
from wevent.budgets.schedules import (
    Absorption,
    Distribution,
    DynamicAbsorption,
    DynamicDistribution,
    Sample,
    Uniform,
)
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Dynamic, Fixed, Requirement
from wevent.decisions.change import ChangeTrigger, PublishThreshold, scale_threshold
from wevent.decisions.change_detection import ChangeDetectionTrigger
from wevent.decisions.contrasted import PooledWithContrast
from wevent.decisions.estimators import Estimator, Unbiased
from wevent.decisions.pooled import Pooled
from wevent.decisions.scheduled import ScheduledTrigger
from wevent.errors import InvalidRequirement, InvalidSetting, WrongRequirementKind
from wevent.noise import Noise
from wevent.releases.journal import Journal
from wevent.releases.publisher import Mechanism, Publisher
from wevent.releases.state_space import StateSpace
from wevent.settings import Privacy
from wevent.units import show, to_epsilon

CellsOrNumber = int | Sequence[Hashable]
"""How many cells there are, or their names."""

EstimatorName = Literal["unbiased", "pooled", "uncorrected"]
"""How `auto` counts; `uncorrected` is pooled without the contrast that corrects it."""


class PublisherOptions(TypedDict, total=False):
    """What every recipe takes besides register and cells; `Publisher` says what each option means."""

    privacy: Privacy | None
    noise: Noise | None
    journal: Journal | None
    history_slots: int
    fast: bool | None


class Recipe(Protocol):
    """Builds a publisher of one mechanism."""

    __name__: str

    def __call__(self, register: Register, cells: CellsOrNumber, **options: Unpack[PublisherOptions]) -> Publisher:
        """A publisher for the people of a register and these cells."""
        ...


def pbd(register: Register, cells: CellsOrNumber, **options: Unpack[PublisherOptions]) -> Publisher:
    """Personalised budget distribution: offers half of what is left; for streams that change often."""
    return Publisher(register, cells, Mechanism("pbd", Distribution, ChangeTrigger), **options)


def pba(register: Register, cells: CellsOrNumber, **options: Unpack[PublisherOptions]) -> Publisher:
    """Personalised budget absorption: saves up, publishes, then rests; for streams that change seldom."""
    return Publisher(register, cells, Mechanism("pba", Absorption, ChangeTrigger), **options)


def dpbd(register: Register, cells: CellsOrNumber, **options: Unpack[PublisherOptions]) -> Publisher:
    """Dynamic PBD: requirements may change in every slot."""
    return Publisher(register, cells, Mechanism("dpbd", DynamicDistribution, ChangeTrigger), **options)


def dpba(register: Register, cells: CellsOrNumber, **options: Unpack[PublisherOptions]) -> Publisher:
    """Dynamic PBA: requirements may change in every slot."""
    return Publisher(register, cells, Mechanism("dpba", DynamicAbsorption, ChangeTrigger), **options)


def bd(
    register: Register,
    cells: CellsOrNumber,
    publish_threshold: PublishThreshold = scale_threshold,
    **options: Unpack[PublisherOptions],
) -> Publisher:
    """Budget distribution by one requirement for all."""
    mechanism = Mechanism("bd", Distribution, lambda: ChangeTrigger(publish_threshold))
    return CommonPublisher(register, cells, mechanism, **options)


def ba(
    register: Register,
    cells: CellsOrNumber,
    publish_threshold: PublishThreshold = scale_threshold,
    **options: Unpack[PublisherOptions],
) -> Publisher:
    """Budget absorption by one requirement for all."""
    mechanism = Mechanism("ba", Absorption, lambda: ChangeTrigger(publish_threshold))
    return CommonPublisher(register, cells, mechanism, **options)


def uniform(register: Register, cells: CellsOrNumber, **options: Unpack[PublisherOptions]) -> Publisher:
    """Spends E/w in every slot, by one requirement for all."""
    return CommonPublisher(register, cells, Mechanism("uniform", Uniform, ScheduledTrigger), **options)


def sample(register: Register, cells: CellsOrNumber, **options: Unpack[PublisherOptions]) -> Publisher:
    """Spends the whole budget once in a window, by one requirement for all."""
    return CommonPublisher(register, cells, Mechanism("sample", Sample, ScheduledTrigger), **options)


ESTIMATORS: dict[EstimatorName, Callable[[], Estimator]] = {
    "unbiased": Unbiased,
    "pooled": PooledWithContrast,
    "uncorrected": Pooled,
}
"""The estimator of each name."""


def auto(
    register: Register, cells: CellsOrNumber, estimator: EstimatorName = "unbiased", **options: Unpack[PublisherOptions]
) -> Publisher:
    """Paces publications and filters counts by itself, from public values only; begin with this one.

    Args:
        register: people with fixed or dynamic requirements, or both.
        cells: how many, or their names.
        estimator: by default nothing is assumed about the stream. `pooled` has far less noise, and is biased towards
            lenient people until it has measured by how much; `uncorrected` never measures it. Where many people change
            their requirements, some often have no budget left for a while: all but `unbiased` still publish then.
        options: as for `Publisher`.

    Example:
        >>> from wevent import Fixed, Register, Slot, auto
        >>> publisher = auto(Register.from_rows({"ann": Fixed(epsilon=1, window=8)}), cells=["north", "south"])
        >>> publisher.step(Slot(1, {"ann": "north"})).slot
        1
    """
    if estimator not in ESTIMATORS:
        raise InvalidSetting(f"estimator must be one of {', '.join(get_args(EstimatorName))}; got {estimator!r}")
    name = "auto" if estimator == "unbiased" else f"auto {estimator}"
    mechanism = Mechanism(name, AdaptivePacing, ChangeDetectionTrigger, ESTIMATORS[estimator], StateSpace)
    return Publisher(register, cells, mechanism, **options)


_ALL: tuple[Recipe, ...] = (auto, pbd, pba, dpbd, dpba, bd, ba, uniform, sample)

RECIPES: dict[str, Recipe] = {recipe.__name__: recipe for recipe in _ALL}
"""Every recipe by name."""


def publisher_of(
    name: str,
    register: Register,
    cells: CellsOrNumber,
    estimator: EstimatorName | None = None,
    **options: Unpack[PublisherOptions],
) -> Publisher:
    """A publisher of the mechanism of a name; an estimator goes with `auto` alone."""
    if estimator is not None:
        if name != "auto":
            raise InvalidSetting(f"an estimator goes with auto; {name} has one of its own")
        return auto(register, cells, estimator, **options)
    return RECIPES[name](register, cells, **options)


class CommonPublisher(Publisher):
    """Serves all people by one requirement: the least epsilon over the longest window that any of them requires.

    Guarantees:
        The promise to each person holds, since nobody requires less epsilon or a longer window.
        A person who does so later is refused.
    """

    def __init__(
        self, register: Register, cells: CellsOrNumber, mechanism: Mechanism, **options: Unpack[PublisherOptions]
    ) -> None:
        self.common = strictest(register)
        super().__init__(_with_requirement(register, self.common), cells, mechanism, **options)

    def state(self) -> dict[str, Any]:
        """The states of the axes, and the common requirement."""
        return {**super().state(), "common": [self.common.units, self.common.window]}

    def restore_axes(self, states: dict[str, Any]) -> None:
        """Restore the axes and the common requirement."""
        super().restore_axes(states)
        epsilon, window = states["common"]
        self.common = Fixed(to_epsilon(epsilon), window)

    def served_requirement(self, requirement: Requirement) -> Requirement:
        """The common requirement; a stricter one is refused."""
        if not isinstance(requirement, Fixed):
            raise WrongRequirementKind(
                f"{self.mechanism.name} serves one fixed requirement for all; use auto, dpbd or dpba for dynamic ones"
            )
        if requirement.units < self.common.units or requirement.window > self.common.window:
            raise InvalidRequirement(
                f"{self.mechanism.name} serves all people by epsilon={show(self.common.units)} over "
                f"window={self.common.window}; epsilon={show(requirement.units)} over window={requirement.window} is "
                "stricter. Use a personalised recipe, or start a new stream.",
                common=self.common,
            )
        return self.common


def strictest(register: Register) -> Fixed:
    """The least epsilon over the longest window that any person in a register requires."""
    if any(isinstance(requirement, Dynamic) for requirement in register.table):
        raise WrongRequirementKind(
            "one requirement for all needs fixed requirements; use auto, dpbd or dpba for dynamic ones"
        )
    fixed = [requirement for requirement in register.table if isinstance(requirement, Fixed)]
    if not fixed:
        return Fixed(1, 1)
    return Fixed(to_epsilon(min(r.units for r in fixed)), max(r.window for r in fixed))


def _with_requirement(register: Register, common: Fixed) -> Register:
    """The same people and groups, all with one requirement."""
    alike = Register.from_levels([common], np.zeros(len(register), np.int64), users=list(register.users))
    for name, row in register.groups.items():
        alike.with_group(name, common, int(register.sizes[row]))
    return alike
