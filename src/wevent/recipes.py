"""Named mechanisms: a register and cells come in, a publisher goes out. A few lines each.

`pbd`, `pba`, `dpbd` and `dpba` serve each person by their own requirement [Du25]; `bd`, `ba`
[Kellaris14], `uniform` and `sample` serve everybody by the strictest one. `auto` is what to begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

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
from wevent.decisions.clock import ClockTrigger
from wevent.decisions.contrasted import PooledWithContrast
from wevent.decisions.estimators import Estimator, Unbiased
from wevent.decisions.pooled import Pooled
from wevent.errors import InvalidRequirement, InvalidSetting, WrongKind
from wevent.releases.filters import StateSpace
from wevent.releases.publisher import Mechanism, Publisher
from wevent.units import show, to_epsilon

Cells = int | Sequence[Hashable]


def pbd(register: Register, cells: Cells, **settings: Any) -> Publisher:
    """Personalised budget distribution: half of what is left, for streams that change often."""
    return Publisher(register, cells, Mechanism("pbd", Distribution, ChangeTrigger), **settings)


def pba(register: Register, cells: Cells, **settings: Any) -> Publisher:
    """Personalised budget absorption: save up, publish well, rest; for streams that change seldom."""
    return Publisher(register, cells, Mechanism("pba", Absorption, ChangeTrigger), **settings)


def dpbd(register: Register, cells: Cells, **settings: Any) -> Publisher:
    """Dynamic PBD: requirements may change in every slot."""
    return Publisher(register, cells, Mechanism("dpbd", DynamicDistribution, ChangeTrigger), **settings)


def dpba(register: Register, cells: Cells, **settings: Any) -> Publisher:
    """Dynamic PBA: requirements may change in every slot."""
    return Publisher(register, cells, Mechanism("dpba", DynamicAbsorption, ChangeTrigger), **settings)


def bd(
    register: Register, cells: Cells, publish_threshold: PublishThreshold = scale_threshold, **settings: Any
) -> Publisher:
    """Budget distribution with one requirement for all."""
    mechanism = Mechanism("bd", Distribution, lambda: ChangeTrigger(publish_threshold))
    return CommonPublisher(register, cells, mechanism, **settings)


def ba(
    register: Register, cells: Cells, publish_threshold: PublishThreshold = scale_threshold, **settings: Any
) -> Publisher:
    """Budget absorption with one requirement for all."""
    mechanism = Mechanism("ba", Absorption, lambda: ChangeTrigger(publish_threshold))
    return CommonPublisher(register, cells, mechanism, **settings)


def uniform(register: Register, cells: Cells, **settings: Any) -> Publisher:
    """The budget E/w in every slot, one requirement for all."""
    return CommonPublisher(register, cells, Mechanism("uniform", Uniform, ClockTrigger), **settings)


def sample(register: Register, cells: Cells, **settings: Any) -> Publisher:
    """The whole budget once in a window, one requirement for all."""
    return CommonPublisher(register, cells, Mechanism("sample", Sample, ClockTrigger), **settings)


ESTIMATORS: dict[str, Callable[[], Estimator]] = {
    "unbiased": Unbiased,
    "pooled": PooledWithContrast,
    "uncorrected": Pooled,
}
"""The words by which `auto` can be told how to count; `uncorrected` is pooled without the contrast that corrects it."""


def auto(register: Register, cells: Cells, estimator: str = "unbiased", **settings: Any) -> Publisher:
    """Paced publishing and a filter that choose by themselves, from public things only: what to begin with.

    Args:
        register: people with fixed or dynamic requirements, or both.
        cells: how many, or their names.
        estimator: one of `ESTIMATORS`. By default nothing is assumed about the stream. `pooled` has far less noise, and
            leans towards lenient people until it has found out by how much; `uncorrected` never finds out. Where many
            people change what they ask for, some often have nothing left for a while: all but `unbiased` go on then.
        settings: as for `Publisher`.
    """
    if estimator not in ESTIMATORS:
        raise InvalidSetting(f"estimator must be one of {', '.join(ESTIMATORS)}; got {estimator!r}")
    name = "auto" if estimator == "unbiased" else f"auto {estimator}"
    mechanism = Mechanism(name, AdaptivePacing, ChangeDetectionTrigger, ESTIMATORS[estimator], StateSpace)
    return Publisher(register, cells, mechanism, **settings)


RECIPES: dict[str, Callable[..., Publisher]] = {
    recipe.__name__: recipe for recipe in (auto, pbd, pba, dpbd, dpba, bd, ba, uniform, sample)
}
"""Every recipe by name."""


class CommonPublisher(Publisher):
    """Serves everybody by one requirement: the least budget over the longest window that anybody asked for.

    Guarantees:
        Everybody's own promise holds, since nobody asked for less budget or a longer window.
        Somebody who does so later is refused.
    """

    def __init__(self, register: Register, cells: Cells, mechanism: Mechanism, **settings: Any) -> None:
        self.common = strictest(register)
        super().__init__(_all_asking(register, self.common), cells, mechanism, **settings)

    def join(self, user: Hashable, requirement: Requirement) -> None:
        """Register somebody who is content with the common requirement."""
        self._content(requirement)
        super().join(user, self.common)

    def change(self, user: Hashable, requirement: Requirement) -> None:
        """Nothing changes for somebody who is content with the common requirement."""
        self._content(requirement)
        super().change(user, self.common)

    def state(self) -> dict[str, Any]:
        """The states of the axes, and the common requirement."""
        return {**super().state(), "common": [self.common.units, self.common.window]}

    def _take(self, states: dict[str, Any]) -> None:
        super()._take(states)
        epsilon, window = states["common"]
        self.common = Fixed(to_epsilon(epsilon), window)

    def _content(self, requirement: Requirement) -> None:
        if not isinstance(requirement, Fixed):
            raise WrongKind(
                f"{self.mechanism.name} serves one fixed requirement for all; use auto, dpbd or dpba for dynamic ones"
            )
        if requirement.units < self.common.units or requirement.window > self.common.window:
            raise InvalidRequirement(
                f"{self.mechanism.name} serves everybody by epsilon={show(self.common.units)} over "
                f"window={self.common.window}; epsilon={show(requirement.units)} over window={requirement.window} is "
                "stricter. Use a personalised recipe, or start a new stream.",
                common=self.common,
            )


def strictest(register: Register) -> Fixed:
    """The least budget over the longest window that anybody in a register asks for."""
    if any(isinstance(requirement, Dynamic) for requirement in register.table):
        raise WrongKind("one requirement for all needs fixed requirements; use auto, dpbd or dpba for dynamic ones")
    fixed = [requirement for requirement in register.table if isinstance(requirement, Fixed)]
    if not fixed:
        return Fixed(1, 1)
    return Fixed(to_epsilon(min(r.units for r in fixed)), max(r.window for r in fixed))


def _all_asking(register: Register, common: Fixed) -> Register:
    """The same people and groups, all with one requirement."""
    alike = Register.from_levels([common], np.zeros(len(register), np.int64), users=list(register.users))
    for name, row in register.groups.items():
        alike.with_group(name, common, int(register.sizes[row]))
    return alike
