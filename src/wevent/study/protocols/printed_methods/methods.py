"""NOT PRIVATE: the name of a method comes in, how the released code ran it goes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wevent.study.protocols.printed_methods.choice import by_error, by_scale
from wevent.study.protocols.printed_methods.local import report
from wevent.study.protocols.printed_methods.play import Played, play
from wevent.study.protocols.printed_methods.schedules import (
    Absorption,
    Distribution,
    DynamicAbsorption,
    DynamicDistribution,
    Forward,
    Schedule,
)
from wevent.study.protocols.printed_methods.segments import LENGTH, Array, Floats, cut, join
from wevent.study.protocols.printed_methods.spas import play_spas
from wevent.study.protocols.printed_methods.windows import fullest
from wevent.study.wishes import Wishes


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a method released in the order of the run.

    Attributes:
        released: axes slot, cell.
        published: axes slot.
        worst_window: the largest spent/allowed over all types and windows.
    """

    released: Floats
    published: Array
    worst_window: float


class Scene:
    """What all methods of a round see: shuffled counts and what everybody asks for.

    Attributes:
        counts: in the order of the run (axes: slot, type, cell).
        segments: the same by segment (axes: segment, slot, type, cell).
        together: the same with everybody as one type (axes: segment, slot, 1, cell).
        sizes: registered people (axes: type).
        common: budget and window that serve everybody (axes: 1).
        own: budget and window of each type (axes: type).
        forward: what types ask for where that moves.
    """

    def __init__(self, counts: Array, wishes: Wishes) -> None:
        self.counts = counts
        self.slots = len(counts)
        self.sizes = wishes.sizes
        self.segments = cut(counts)
        self.together = self.segments.sum(axis=2, keepdims=True)
        self.common = (np.array([float(wishes.common.epsilon)]), np.array([wishes.common.window]))
        self.own = (
            np.array([float(one.epsilon) for one in wishes.fixed]),
            np.array([one.window for one in wishes.fixed]),
        )
        self.forward = alternate(wishes, len(self.segments))


def alternate(wishes: Wishes, segments: int) -> Forward:
    """What types ask for in the first two slots of each segment, by turns until its end."""
    now = np.array([[float(one.epsilon) for one in wishes.fixed], [one.window for one in wishes.fixed]])
    asked = np.empty((2, segments, *now.shape))
    for slot in range(segments * LENGTH):
        for kind, one in wishes.moves.at(slot + 1) if wishes.moves is not None else ():
            now[:, kind] = float(one.forward.epsilon), one.forward.window
        segment, place = divmod(slot, LENGTH)
        if place < 2:
            asked[place, segment] = now
    by_turns = asked[np.arange(LENGTH) % 2]
    return Forward(by_turns[:, :, 0], by_turns[:, :, 1].astype(np.int64))


Method = Callable[[Scene, np.random.Generator], Outcome]


def bd(scene: Scene, random: np.random.Generator) -> Outcome:
    """BD [Kellaris14] that sums one slot too many."""
    return _for_all(scene, Distribution(*scene.common, len(scene.segments)), random)


def ba(scene: Scene, random: np.random.Generator) -> Outcome:
    """BA [Kellaris14] that never rests."""
    return _for_all(scene, Absorption(*scene.common, len(scene.segments)), random)


def pbd(scene: Scene, random: np.random.Generator) -> Outcome:
    """PBD that sums one slot too many."""
    return _for_each(scene, Distribution(*scene.own, len(scene.segments)), random)


def pba(scene: Scene, random: np.random.Generator) -> Outcome:
    """PBA that never rests."""
    return _for_each(scene, Absorption(*scene.own, len(scene.segments)), random)


def dpbd(scene: Scene, random: np.random.Generator) -> Outcome:
    """DPBD that charges slots in which it published nothing."""
    return _for_moving(scene, DynamicDistribution(scene.forward), random)


def dpba(scene: Scene, random: np.random.Generator) -> Outcome:
    """DPBA that never rests and takes a share too many."""
    return _for_moving(scene, DynamicAbsorption(scene.forward), random)


def spas(scene: Scene, random: np.random.Generator) -> Outcome:
    """SPAS [Li25] with its refund."""
    (epsilon,), (window,) = (part.tolist() for part in scene.common)
    return _outcome(scene, play_spas(scene.together[:, :, 0], epsilon, window, random), *scene.common)


def plbu(scene: Scene, random: np.random.Generator) -> Outcome:
    """PLBU with the least share for everybody and its bias; it publishes in every slot and has no use for segments."""
    epsilon, window = scene.own
    share = float((epsilon / window).min())
    released = report(scene.counts.sum(axis=1), int(scene.sizes.sum()), share, random)
    spent = np.full((scene.slots, len(epsilon)), share)
    return Outcome(released.astype(np.float64), np.ones(scene.slots, bool), fullest(spent, epsilon, window))


METHODS: dict[str, Method] = {method.__name__: method for method in (bd, ba, plbu, spas, pbd, pba, dpbd, dpba)}
"""Every method that the paper has printed figures of."""


def _for_all(scene: Scene, schedule: Schedule, random: np.random.Generator) -> Outcome:
    sizes = scene.sizes.sum(keepdims=True)
    return _outcome(scene, play(schedule, scene.together, sizes, by_scale, random), *scene.common)


def _for_each(scene: Scene, schedule: Schedule, random: np.random.Generator) -> Outcome:
    return _outcome(scene, play(schedule, scene.segments, scene.sizes, by_error, random), *scene.own)


def _for_moving(scene: Scene, schedule: Schedule, random: np.random.Generator) -> Outcome:
    played = play(schedule, scene.segments, scene.sizes, by_error, random)
    asked = (join(part.swapaxes(0, 1), scene.slots) for part in (scene.forward.epsilon, scene.forward.window))
    return _outcome(scene, played, *asked)


def _outcome(scene: Scene, played: Played, epsilon: Floats, window: Array) -> Outcome:
    released, published, spent = (join(part, scene.slots) for part in (played.released, played.published, played.spent))
    return Outcome(released, published, fullest(spent, epsilon, window))
