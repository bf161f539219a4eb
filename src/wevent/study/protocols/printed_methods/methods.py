"""Names the methods of the released code, NOT PRIVATE, and how it ran them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator

from wevent.study.protocols.printed_methods.choice import by_error, by_scale
from wevent.study.protocols.printed_methods.local import report
from wevent.study.protocols.printed_methods.loop import PrintedRun, run_segments
from wevent.study.protocols.printed_methods.schedules import (
    ForwardRequirements,
    PrintedAbsorption,
    PrintedDistribution,
    PrintedDynamicAbsorption,
    PrintedDynamicDistribution,
)
from wevent.study.protocols.printed_methods.segments import LENGTH, Array, Floats, cut, join
from wevent.study.protocols.printed_methods.spas import run_spas
from wevent.study.protocols.printed_methods.windows import fullest
from wevent.study.requirements import StudyRequirements


@dataclass(frozen=True, slots=True)
class PrintedOutcome:
    """What a method released in the order of the run.

    Attributes:
        released: axes slot, cell.
        published: axes slot.
        worst_window: the largest spent/allowed over all types and windows.
    """

    released: Floats
    published: Array
    worst_window: float


class PrintedScene:
    """What all methods of a round see: shuffled counts and the requirements.

    Attributes:
        counts: in the order of the run (axes: slot, type, cell).
        segments: the same by segment (axes: segment, slot, type, cell).
        together: the same with everybody as one type (axes: segment, slot, 1, cell).
        sizes: registered people (axes: type).
        common: budget and window that serve everybody (axes: 1).
        own: budget and window of each type (axes: type).
        forward: the forward requirements of types that change.
    """

    def __init__(self, counts: Array, requirements: StudyRequirements) -> None:
        self.counts = counts
        self.slots = len(counts)
        self.sizes = requirements.sizes
        self.segments = cut(counts)
        self.together = self.segments.sum(axis=2, keepdims=True)
        self.common = (np.array([float(requirements.common.epsilon)]), np.array([requirements.common.window]))
        self.own = (
            np.array([float(requirement.epsilon) for requirement in requirements.fixed]),
            np.array([requirement.window for requirement in requirements.fixed]),
        )
        self.forward = alternate(requirements, len(self.segments))


def alternate(requirements: StudyRequirements, segments: int) -> ForwardRequirements:
    """What types require in the first two slots of each segment, by turns until its end."""
    current = np.array([(float(requirement.epsilon), requirement.window) for requirement in requirements.fixed]).T
    required = np.empty((2, segments, *current.shape))
    for slot in range(segments * LENGTH):
        for kind, requirement in requirements.changes.at(slot + 1) if requirements.changes is not None else ():
            current[:, kind] = float(requirement.forward.epsilon), requirement.forward.window
        segment, place = divmod(slot, LENGTH)
        if place < 2:
            required[place, segment] = current
    by_turns = required[np.arange(LENGTH) % 2]
    return ForwardRequirements(by_turns[:, :, 0], by_turns[:, :, 1].astype(np.int64))


Method = Callable[[PrintedScene, Generator], PrintedOutcome]
FixedSchedule = PrintedDistribution | PrintedAbsorption
DynamicSchedule = PrintedDynamicDistribution | PrintedDynamicAbsorption


def spas(scene: PrintedScene, random: Generator) -> PrintedOutcome:
    """SPAS [Li25] with its refund."""
    (epsilon,), (window,) = (part.tolist() for part in scene.common)
    return _outcome(scene, run_spas(scene.together[:, :, 0], epsilon, window, random), *scene.common)


def plbu(scene: PrintedScene, random: Generator) -> PrintedOutcome:
    """PLBU with the least share for everybody and its bias; it publishes in every slot and has no use for segments."""
    epsilon, window = scene.own
    share = float((epsilon / window).min())
    released = report(scene.counts.sum(axis=1), int(scene.sizes.sum()), share, random)
    spent = np.full((scene.slots, len(epsilon)), share)
    return PrintedOutcome(released.astype(np.float64), np.ones(scene.slots, bool), fullest(spent, epsilon, window))


def _for_all(fixed: type[FixedSchedule], scene: PrintedScene, random: Generator) -> PrintedOutcome:
    schedule, sizes = fixed(*scene.common, len(scene.segments)), scene.sizes.sum(keepdims=True)
    return _outcome(scene, run_segments(schedule, scene.together, sizes, by_scale, random), *scene.common)


def _for_each(fixed: type[FixedSchedule], scene: PrintedScene, random: Generator) -> PrintedOutcome:
    schedule = fixed(*scene.own, len(scene.segments))
    return _outcome(scene, run_segments(schedule, scene.segments, scene.sizes, by_error, random), *scene.own)


def _for_moving(dynamic: type[DynamicSchedule], scene: PrintedScene, random: Generator) -> PrintedOutcome:
    played = run_segments(dynamic(scene.forward), scene.segments, scene.sizes, by_error, random)
    required = (join(part.swapaxes(0, 1), scene.slots) for part in (scene.forward.epsilon, scene.forward.window))
    return _outcome(scene, played, *required)


def _outcome(scene: PrintedScene, played: PrintedRun, epsilon: Floats, window: Array) -> PrintedOutcome:
    released, published, spent = (join(part, scene.slots) for part in (played.released, played.published, played.spent))
    return PrintedOutcome(released, published, fullest(spent, epsilon, window))


METHODS: dict[str, Method] = {
    "bd": partial(_for_all, PrintedDistribution),  # [Kellaris14], but it sums one slot too many
    "ba": partial(_for_all, PrintedAbsorption),  # [Kellaris14], but it never rests
    "plbu": plbu,
    "spas": spas,
    "pbd": partial(_for_each, PrintedDistribution),  # sums one slot too many
    "pba": partial(_for_each, PrintedAbsorption),  # never rests
    "dpbd": partial(_for_moving, PrintedDynamicDistribution),  # charges slots in which it published nothing
    "dpba": partial(_for_moving, PrintedDynamicAbsorption),  # never rests and takes a share too many
}
"""Every method that the paper has printed figures of."""
