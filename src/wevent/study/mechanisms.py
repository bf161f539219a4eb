"""Every mechanism that a study can compare: a name comes in, how to build and feed it goes out.

Add your own with `MECHANISMS["mine"] = Entry(build, "personal", "rows", "[Key]")`; docs/how-to/add-a-mechanism.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from wevent import recipes
from wevent.decisions.change import error_threshold
from wevent.errors import UnknownName
from wevent.events.slot import Slot
from wevent.releases.release import Decision
from wevent.study.baselines.base import Baseline
from wevent.study.baselines.fast import Fast
from wevent.study.baselines.lbu import LBU, PLBU, PLBUSum
from wevent.study.baselines.ldp_ids import LBA, LBD
from wevent.study.baselines.ldp_ids_people import LPA, LPD, LPU
from wevent.study.baselines.pegasus import Pegasus
from wevent.study.baselines.rescuedp import RescueDP
from wevent.study.baselines.spas import Spas
from wevent.units import Units


class Shown(Protocol):
    """What a mechanism shows for one slot."""

    @property
    def counts(self) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
        """One number per cell."""
        ...

    @property
    def decision(self) -> Decision:
        """How the slot ended."""
        ...


class Traced(Protocol):
    """What a slot cost."""

    @property
    def spent(self) -> Units:
        """By each row, in units, all parts together."""
        ...


class Stepper(Protocol):
    """What a study needs of a mechanism: a step for each slot, and afterwards what it cost.

    A mechanism that serves dynamic requirements also has `change(name, requirement)`.
    """

    @property
    def trace(self) -> Traced | None:
        """What the last slot cost."""
        ...

    def step(self, slot: Slot) -> Shown:
        """One slot in, one release out."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """How a mechanism is built and fed.

    Attributes:
        build: called with (register, cells, noise=…), gives a `Stepper`; baselines also take `complete=…`.
        serves: one requirement for all ("common"), each type's own fixed one ("personal") or moving ones ("dynamic").
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

_SOURCES = {
    "spas": "Li25",
    "fast": "Fan14",
    "rescuedp": "Wang16",
    "pegasus": "Chen17",
    "plbu": "Du25",
    "plbu_sum": "Du25",
}

MECHANISMS: dict[str, Entry] = {
    "pbd": Entry(recipes.pbd, "personal", "rows", "Du25"),
    "pba": Entry(recipes.pba, "personal", "rows", "Du25"),
    "dpbd": Entry(recipes.dpbd, "dynamic", "rows", "Du25"),
    "dpba": Entry(recipes.dpba, "dynamic", "rows", "Du25"),
    "bd": Entry(recipes.bd, "common", "rows", "Kellaris14"),
    "ba": Entry(recipes.ba, "common", "rows", "Kellaris14"),
    "bd_deviation": Entry(partial(recipes.bd, publish_threshold=error_threshold), "common", "rows", "Kellaris14"),
    "ba_deviation": Entry(partial(recipes.ba, publish_threshold=error_threshold), "common", "rows", "Kellaris14"),
    "uniform": Entry(recipes.uniform, "common", "rows", "Kellaris14"),
    "sample": Entry(recipes.sample, "common", "rows", "Kellaris14"),
    "auto": Entry(recipes.auto, "personal", "rows", "West97"),
    "auto_pooled": Entry(partial(recipes.auto, estimator="pooled"), "personal", "rows", "West97"),
    "auto_uncorrected": Entry(partial(recipes.auto, estimator="uncorrected"), "personal", "rows", "West97"),
    "auto_dynamic": Entry(recipes.auto, "dynamic", "rows", "West97"),
    "auto_dynamic_pooled": Entry(partial(recipes.auto, estimator="pooled"), "dynamic", "rows", "West97"),
} | {
    name: Entry(
        baseline,
        "personal" if name.startswith("plbu") else "common",
        baseline.feeds,
        _SOURCES.get(name, "Ren22"),
        baseline.proven,
    )
    for name, baseline in BASELINES.items()
}
"""Every mechanism by name."""


def known_mechanism(name: str) -> Entry:
    """The mechanism of a name."""
    if name not in MECHANISMS:
        known = tuple(MECHANISMS)
        raise UnknownName(f"no mechanism is called {name!r}; known are {', '.join(known)}", known=known)
    return MECHANISMS[name]


def settings_for(entry: Entry, complete: bool) -> dict[str, Any]:
    """What a mechanism is built with besides register, cells and noise."""
    return {"complete": complete} if isinstance(entry.build, type) and issubclass(entry.build, Baseline) else {}
