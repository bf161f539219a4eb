"""How the count of a cell may move: what is known of a level comes in, what will be known some slots later goes out.

A model is a level that walks, values that vary around it, and perhaps a second component: a *slope* that walks
itself, so that the level glides ([West97] ch. 7), or a *swing* around the level that is forgotten little by little,
such as that of the day. All variances are multiples of a cell's `scale`, which is its level. A state is an array
with the axes (part, model, cell); its parts are level, second, and the variance of the level, their covariance and
the variance of the second.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

WALKS = tuple(10.0**k for k in range(-5, 2))
"""Variances of a level's walk per slot, as multiples of the level; what moves faster swings, glides or jumps."""

VARIATIONS = (0.0, *(10.0 ** (k / 2) for k in range(-3, 4)))
"""Variances of a slot around the level, as multiples of it: 1 is what people who come independently would give."""

SLOPES = tuple(10.0**k for k in range(-7, 0))
"""Variances of a slope's walk per slot: from a wave of ten thousand slots to one of a hundred."""

SWINGS = tuple(10.0**k for k in range(4))
"""Variances of a swing: up to that of a cell of a thousand people that empties and fills again."""

MEMORIES = (4.0, 16.0, 64.0)
"""Slots until a swing is forgotten to a third."""

_SLOW = 1e-3
"""The walk of the level that a swing goes around."""


@dataclass(frozen=True, slots=True)
class Models:
    """Several models side by side (axes: model, 1).

    Attributes:
        walk: variance of the level's walk per slot.
        white: variance of a slot's value around it.
        slope: variance of a slope's walk per slot; 0 without one.
        swing: variance of a swing; 0 without one.
        memory: how much of a swing is left after one slot; 1 without one.
        belief: weight before anything is known; they sum to 1.
        glides: 1 where the second component is a slope.
        swings: 1 where it is a swing.
        memories: all there are (axes: memory).
        kinds: 1 where the second component is a slope, and then where it is a swing of each memory (axes: kind, model).
    """

    walk: Floats
    white: Floats
    slope: Floats
    swing: Floats
    memory: Floats
    belief: Floats
    glides: Floats = field(init=False)
    swings: Floats = field(init=False)
    memories: Floats = field(init=False)
    kinds: Floats = field(init=False)

    def __post_init__(self) -> None:
        memories = np.unique(self.memory[self.swing > 0])
        kinds = [self.slope[:, 0] > 0, *((self.swing[:, 0] > 0) & (self.memory[:, 0] == each) for each in memories)]
        object.__setattr__(self, "memories", memories)
        object.__setattr__(self, "kinds", np.array(kinds, np.float64))
        object.__setattr__(self, "glides", np.where(self.slope > 0, 1.0, 0.0))
        object.__setattr__(self, "swings", np.where(self.swing > 0, 1.0, 0.0))

    @property
    def size(self) -> int:
        """How many."""
        return int(self.walk.size)

    def begin(self, value: Floats, noise: Floats, most: float) -> Floats:
        """The state after a first value, if no level is above `most`."""
        trust = 1 / (1 + noise / (most * most))
        scale = np.maximum(trust * value, 1.0)
        state = np.zeros((5, self.size, value.size))
        swing, slope = self.swing * scale, self.slope * scale * _FIRST
        state[0], state[2] = trust * value, trust * noise + swing + self.white * scale
        state[3], state[4] = -swing, swing + slope
        return state

    def ahead(self, state: Floats, gap: float, scale: Floats) -> Floats:
        """The state `gap` slots later, without news."""
        level, second, of_level, both, of_second = state
        step, left = self.glides * gap, self.memory**gap
        turns, forgets = self.slope * scale, self.swing * scale * (1 - left * left)
        moved = np.empty_like(state)
        moved[0] = level + step * second
        moved[1] = left * second
        moved[2] = of_level + step * (2 * both + step * of_second) + gap * (self.walk * scale + turns * (gap * gap / 3))
        moved[3] = left * (both + step * of_second) + turns * (gap * gap / 2)
        moved[4] = left * left * of_second + turns * gap + forgets
        return moved

    def shown(self, state: Floats) -> tuple[Floats, Floats]:
        """The value of each model without a slot's own variation, and its variance (axes: model, cell)."""
        swings = self.swings
        return state[0] + swings * state[1], state[2] + swings * (2 * state[3] + state[4])

    def learn(self, state: Floats, surprise: Floats, total: Floats) -> Floats:
        """The state after a value that is off by `surprise`, of variance `total`."""
        swings = self.swings
        with_level, with_second = state[2] + swings * state[3], state[3] + swings * state[4]
        gain, other = with_level / total, with_second / total
        return state + np.stack(
            [gain * surprise, other * surprise, -gain * with_level, -gain * with_second, -other * with_second]
        )

    def forecast_error(self, k: Floats, noise: Floats, scale: Floats) -> Floats:
        """Mean squared error over a cycle of k slots, once the filter has settled (axes: model, interval).

        *Level.* Just before a publication it has variance P = (kq + √(k²q² + 4kqV))/2, just after it P - kq = kqV/P;
        V is the variance of everything else in a value. *Swing.* Just before, P = S(1-ρ²) + ρ²PV/(P+V). *Slope.* The
        gains of the steady state in closed form ([Kalata84]). The published slot is off by what is left of its own
        variation, the i-th one after it by what was known, what has moved, and all of its own variation.

        Args:
            k: slots from one publication to the next (axes: interval).
            noise: variance of each publication (axes: interval).
            scale: the level at which each model is at home (axes: model, 1).
        """
        walk, white, S = self.walk * scale, self.white * scale, self.swing * scale
        others = noise + white
        own = others + S
        P = (k * walk + np.sqrt(np.square(k * walk) + 4 * k * walk * own)) / 2
        level = k * walk * own / np.maximum(P, 1e-300)
        mean, before = level + white + walk * k / 2, P
        swinging = self.swings[:, 0] > 0
        if swinging.any():
            m, V = self.memory[swinging], others[swinging]
            of_swing, kept = _swing(k, S[swinging], m, V)
            before[swinging] += of_swing
            mean[swinging] += S[swinging] - (S[swinging] - kept) * _mean_power(m * m, k)
        gliding = self.glides[:, 0] > 0
        if gliding.any():
            turn, V = (self.slope * scale)[gliding], others[gliding]
            of_slope, drift = _glide(k, turn, V)
            before[gliding] += of_slope
            mean[gliding] += drift
        fresh = (before + white) * (noise / (before + white + noise))
        return np.asarray((fresh + (k - 1) * mean) / k)


def _swing(k: Floats, S: Floats, memory: Floats, V: Floats) -> tuple[Floats, Floats]:
    """Variance of a swing just before and just after a publication."""
    left = memory ** (2 * k)
    half = (V - S * (1 - left) - left * V) / 2
    before = np.sqrt(half * half + S * (1 - left) * V) - half
    return before, before * (V / (before + V))


def _mean_power(base: Floats, k: Floats) -> Floats:
    """Mean of base^i over i from 1 to k-1; 1 where there are none."""
    many = np.maximum(k - 1, 1)
    return np.asarray(base * (1 - base**many) / ((1 - base) * many))


def _glide(k: Floats, turn: Floats, V: Floats) -> tuple[Floats, Floats]:
    """Variance of a gliding level just before a publication, and its mean over the slots after one."""
    index = np.sqrt(turn * k**3 / V)
    r = (4 + index - np.sqrt(8 * index + index * index)) / 4
    alpha = 1 - r * r
    beta = 2 * (2 - alpha) - 4 * r
    level, both = alpha * V, beta * V / k
    slope = beta * (alpha - beta / 2) / (r * r) * V / (k * k)
    late = k - 1
    mean = level + both * k + slope * k * (2 * k - 1) / 6 + turn * late * k * k / 12
    return level / (r * r), mean


_FIRST = 50.0
"""A first slope is as uncertain as one that has walked for so many slots."""


def all_models() -> Models:
    """Every model of a state-space filter.

    The error at the best pace grows like κ^(2/3). Believing in κ^(-1/3) goes half of the way to models that count alike
    in it, so that where noise hides everything no budget is lost with chasing what is hardly ever there.
    """
    walk, white = (grid.ravel() for grid in np.meshgrid(WALKS, VARIATIONS))
    plain = np.stack([walk, white, 0 * walk, 0 * walk, 1 + 0 * walk, _sum_to(0.5, walk ** (-1 / 3))])
    swing, memory, white = (grid.ravel() for grid in np.meshgrid(SWINGS, MEMORIES, (0.0, 1.0)))
    even = np.ones(swing.size)
    swinging = np.stack([_SLOW * even, white, 0 * even, swing, np.exp(-1 / memory), _sum_to(0.25, swing**-0.5)])
    slope, white = (grid.ravel() for grid in np.meshgrid(SLOPES, (0.1, 1.0, 10.0)))
    even = np.ones(slope.size)
    gliding = np.stack([0 * even, white, slope, 0 * even, even, _sum_to(0.25, slope**-0.25)])
    return Models(*np.concatenate([plain, swinging, gliding], axis=1)[:, :, None])


def _sum_to(total: float, belief: Floats) -> Floats:
    return belief * (total / belief.sum())
