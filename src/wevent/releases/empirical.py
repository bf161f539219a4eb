"""Estimates a lower bound on the privacy loss of a mechanism from runs on two neighbouring streams.

The first half of the runs chooses the set of outputs that separates the streams best; the second half
estimates the probability of that set under each of them ([Ding18], intervals as in [Jagielski20]). A bound above
the promise refutes the promise. A bound below it proves nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from wevent.errors import InvalidSetting
from wevent.releases.release import Decision, Release

Run = Callable[[int, int], Hashable]
"""Runs the mechanism on stream 0 or 1 (first argument) for the n-th time (second); returns the observed output."""

_SHRINK = 2.0  # pseudo-counts of every output under both streams, so that rare ones weigh little
_ROUNDING = 1 - 1e-6  # covers the rounding of the binomial tail
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class EmpiricalLoss:
    """The privacy loss that runs show.

    Attributes:
        epsilon: with `confidence`, the loss is at least this; 0 if the runs do not separate the streams.
        confidence: how often, at least, a bound made like this one is not above the true loss.
        stream: the stream under which the event is likelier.
        event: the outputs that were chosen to separate the streams.
        hits: how often the event occurred in the runs that estimate, under `stream` and under the other.
        trials: how many runs of each of the streams estimate.
    """

    epsilon: float
    confidence: float
    stream: int
    event: frozenset[Hashable] = field(repr=False)
    hits: tuple[int, int]
    trials: tuple[int, int]

    def refutes(self, promise: float) -> bool:
        """Whether the runs show more loss than was promised."""
        return self.epsilon > promise


def lower_bound(run: Run, runs: int, confidence: float = 0.999) -> EmpiricalLoss:
    """A lower confidence bound on the privacy loss between two neighbouring streams.

    Args:
        run: the mechanism with fresh, independent randomness in every run; its output should take few
            values, see `observed`.
        runs: how many on each stream, at least 2.
        confidence: of the bound, both directions and all intervals together.

    Guarantees:
        If no output is likelier under one stream than e^L times its probability under the other, then
        `epsilon` is at most L, except in a share `1 - confidence` of all calls.
    """
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 2:
        raise InvalidSetting("runs must be an integer from 2 on: one half chooses, the other estimates")
    outputs: tuple[list[Hashable], list[Hashable]] = ([], [])
    for number in range(runs):
        for stream in (0, 1):
            outputs[stream].append(run(stream, number))
    return compare(*outputs, confidence)


def compare(first: Sequence[Hashable], second: Sequence[Hashable], confidence: float = 0.999) -> EmpiricalLoss:
    """As `lower_bound`, from outputs on stream 0 and on stream 1 that were collected before.

    Guarantees:
        The guarantee of `lower_bound` holds if the outputs of each stream are independent of one another.
    """
    if not 0 < confidence < 1:
        raise InvalidSetting(f"confidence must lie between 0 and 1, got {confidence}")
    if min(len(first), len(second)) < 2:
        raise InvalidSetting("each stream needs at least 2 outputs: one half chooses, the other estimates")
    error = (1 - confidence) / 4  # two directions, an interval's end for each stream
    chosen, fresh = [], []
    for outputs in (first, second):
        half = len(outputs) // 2
        chosen.append(Counter(outputs[:half]))
        fresh.append(Counter(outputs[half:]))
    trials = (fresh[0].total(), fresh[1].total())
    losses = []
    for stream in (0, 1):
        event = _separating(chosen[stream], chosen[1 - stream], error)
        often, seldom = (sum(fresh[k][output] for output in event) for k in (stream, 1 - stream))
        low = at_least(often, trials[stream], error)
        high = at_most(seldom, trials[1 - stream], error)
        epsilon = max(0.0, math.log(low / high)) if low > 0 else 0.0
        tried = (trials[stream], trials[1 - stream])
        losses.append(EmpiricalLoss(epsilon, confidence, stream, event, (often, seldom), tried))
    return max(losses, key=lambda loss: loss.epsilon)


def observed(releases: Iterable[Release], around: Sequence[npt.ArrayLike], largest_step: int = 1) -> tuple[int, ...]:
    """The output to compare: the decisions, and released counts as integer steps from `around`, cut at `largest_step`.

    With a filter the raw counts of publications are compared: all that the filter shows follows from them.

    The ratio of two discrete Laplace probabilities one apart takes two values, so that steps up to 1
    around the counts without the person lose nothing of the last slot. In earlier slots larger steps say more about the
    decisions that follow.

    Args:
        releases: of one run, slot by slot.
        around: for each slot integers, usually the counts without the person (axes: cell).
        largest_step: larger steps count as this one.
    """
    output: list[int] = []
    for release, middle in zip(releases, around, strict=True):
        if release.decision is Decision.PUBLISHED:
            counts = release.counts if release.raw is None else release.raw.counts
            output += np.clip(
                np.rint(counts).astype(np.int64) - np.asarray(middle), -largest_step, largest_step
            ).tolist()
        else:
            output.append(largest_step + 1 + _KINDS[release.decision])  # above any step
    return tuple(output)


_KINDS = {decision: k for k, decision in enumerate(Decision)}


def at_least(hits: int, trials: int, error: float) -> float:
    """The lower end of the interval of Clopper and Pearson.

    Guarantees:
        A probability below the result gives `hits` or more of `trials` with probability at most `error`.
    """
    if hits == 0:
        return 0.0
    low, high = 0.0, hits / trials
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle > 0 and _tail(hits, trials, middle) <= error * _ROUNDING:
            low = middle
        else:
            high = middle
    return low


def at_most(hits: int, trials: int, error: float) -> float:
    """The upper end: a probability above it gives `hits` or fewer with probability at most `error`."""
    return 1.0 - at_least(trials - hits, trials, error)


def _tail(hits: int, trials: int, p: float) -> float:
    """The probability of `hits` or more, for p up to hits / trials, where the terms fall."""
    if p >= 1:
        return 1.0
    choices = math.lgamma(trials + 1) - math.lgamma(hits + 1) - math.lgamma(trials - hits + 1)
    first = math.exp(choices + hits * math.log(p) + (trials - hits) * math.log1p(-p))
    total = term = 1.0
    for k in range(hits, trials):
        term *= (trials - k) / (k + 1) * p / (1 - p)
        total += term
        if term < 1e-17 * total:
            break
    return first * total


def _separating(likely: Counter[Hashable], other: Counter[Hashable], error: float) -> frozenset[Hashable]:
    """Outputs of the largest ratios, as many as give the best bound on these runs (approximate intervals)."""
    outputs = list(likely)
    a = np.array([likely[output] for output in outputs], np.float64)
    b = np.array([other[output] for output in outputs], np.float64)
    order = np.argsort(-(a + _SHRINK) / (b + _SHRINK), kind="stable")
    z = NormalDist().inv_cdf(1 - error)
    low = _wilson(np.cumsum(a[order]), likely.total(), -z)
    high = _wilson(np.cumsum(b[order]), other.total(), z)
    best = int(np.argmax(low / high))
    return frozenset(outputs[k] for k in order[: best + 1])


def _wilson(hits: npt.NDArray[np.float64], trials: int, z: float) -> npt.NDArray[np.float64]:
    """An end of the interval of Wilson: the upper one for z > 0, the lower one for z < 0."""
    share = hits / trials
    root = np.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return np.maximum((share + z * z / (2 * trials) + z * root) / (1 + z * z / trials), 1e-300)
