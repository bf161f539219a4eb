"""Lists every mechanism that a study can compare, with how to build and feed it.

Add your own with `MECHANISMS["mine"] = MechanismEntry(build, "personal", "rows", "[Key]")`, as
docs/how-to/add-a-mechanism.md shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

import wevent
from wevent import Decision, Slot
from wevent.errors import UnknownName
from wevent.extend import Units, error_threshold
from wevent.study.baselines.base import Baseline
from wevent.study.baselines.fast_w import Fast
from wevent.study.baselines.lbu import LBU, PLBU, PLBUSum
from wevent.study.baselines.ldp_ids import LBA, LBD
from wevent.study.baselines.ldp_ids_people import LPA, LPD, LPU
from wevent.study.baselines.pegasus import Pegasus
from wevent.study.baselines.rescuedp import RescueDP
from wevent.study.baselines.spas import Spas


class StudyRelease(Protocol):
    """What a mechanism shows for one slot."""

    @property
    def counts(self) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
        """One number per cell."""

    @property
    def decision(self) -> Decision:
        """How the slot ended."""


class SlotCost(Protocol):
    """What a slot cost."""

    @property
    def spent(self) -> Units:
        """By each row, in units, all parts together."""


class Stepper(Protocol):
    """What a study needs of a mechanism: a step for each slot, and afterwards what it cost.

    A mechanism that serves dynamic requirements also has `change(name, requirement)`.
    """

    @property
    def trace(self) -> SlotCost | None:
        """What the last slot cost."""

    def step(self, slot: Slot) -> StudyRelease:
        """Run one slot."""


@dataclass(frozen=True, slots=True)
class MechanismEntry:
    """How a mechanism is built and fed.

    Attributes:
        build: called with (register, cells, noise=…), gives a `Stepper`; baselines also take `complete=…`.
        serves: one requirement for all ("common"), each type's own fixed one ("personal") or dynamic ones ("dynamic").
        feeds: "rows" gets counts of shape (type, cell), "people" gets the cell of every person.
        source: the key of its source in docs/references.md.
        proven: False where budgets are counted but the proof of the mechanism does not cover an endless stream.
    """

    build: Callable[..., Stepper]
    serves: Literal["common", "personal", "dynamic"]
    feeds: Literal["rows", "people"]
    source: str
    proven: bool = True


BASELINES: dict[str, type[Baseline]] = {
    baseline.name: baseline for baseline in (LBU, PLBU, PLBUSum, Spas, Fast, RescueDP, Pegasus, LBD, LBA, LPU, LPD, LPA)
}
"""Mechanisms of the literature that live in the study only."""

_SOURCES = {"spas": "Li25", "fast": "Fan14", "rescuedp": "Wang16", "pegasus": "Chen17"}

_bd_deviation, _ba_deviation = (partial(each, publish_threshold=error_threshold) for each in (wevent.bd, wevent.ba))

MECHANISMS: dict[str, MechanismEntry] = {
    "pbd": MechanismEntry(wevent.pbd, "personal", "rows", "Du25"),
    "pba": MechanismEntry(wevent.pba, "personal", "rows", "Du25"),
    "dpbd": MechanismEntry(wevent.dpbd, "dynamic", "rows", "Du25"),
    "dpba": MechanismEntry(wevent.dpba, "dynamic", "rows", "Du25"),
    "bd": MechanismEntry(wevent.bd, "common", "rows", "Kellaris14"),
    "ba": MechanismEntry(wevent.ba, "common", "rows", "Kellaris14"),
    "bd_deviation": MechanismEntry(_bd_deviation, "common", "rows", "Kellaris14"),
    "ba_deviation": MechanismEntry(_ba_deviation, "common", "rows", "Kellaris14"),
    "uniform": MechanismEntry(wevent.uniform, "common", "rows", "Kellaris14"),
    "sample": MechanismEntry(wevent.sample, "common", "rows", "Kellaris14"),
    "auto": MechanismEntry(wevent.auto, "personal", "rows", "West97"),
    "auto_pooled": MechanismEntry(partial(wevent.auto, estimator="pooled"), "personal", "rows", "West97"),
    "auto_uncorrected": MechanismEntry(partial(wevent.auto, estimator="uncorrected"), "personal", "rows", "West97"),
    "auto_dynamic": MechanismEntry(wevent.auto, "dynamic", "rows", "West97"),
    "auto_dynamic_pooled": MechanismEntry(partial(wevent.auto, estimator="pooled"), "dynamic", "rows", "West97"),
} | {
    name: MechanismEntry(each, "personal", each.feeds, "Du25", each.proven)
    if issubclass(each, PLBU)
    else MechanismEntry(each, "common", each.feeds, _SOURCES.get(name, "Ren22"), each.proven)
    for name, each in BASELINES.items()
}
"""Every mechanism by name."""


def known_mechanism(name: str) -> MechanismEntry:
    """The mechanism of a name."""
    if name not in MECHANISMS:
        known = tuple(MECHANISMS)
        raise UnknownName(f"no mechanism is called {name!r}; known are {', '.join(known)}", known=known)
    return MECHANISMS[name]


def settings_for(entry: MechanismEntry, complete: bool) -> dict[str, Any]:
    """What a mechanism is built with besides register, cells and noise."""
    return {"complete": complete} if isinstance(entry.build, type) and issubclass(entry.build, Baseline) else {}
