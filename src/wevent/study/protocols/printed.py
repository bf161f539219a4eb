"""Runs the protocol `printed`, NOT PRIVATE: what the released code of [Du25] did.

It exists so that the printed tables can be reproduced, and for nothing else: slots run in a random order, everything
restarts every 250 slots, and most methods forget what they spent. No ledger stands behind it, noise is continuous
and seeded. Nothing outside the study may import it. SPEC §10 and
docs/explanation/reproduction.md list what the released code did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from time import perf_counter

import numpy as np
import numpy.typing as npt

from wevent.errors import UnknownName, WrongShape
from wevent.study.datasets.catalog import SERIES
from wevent.study.datasets.stream import DataStream
from wevent.study.datasets.synthetic import SyntheticStream
from wevent.study.metrics import Scorer
from wevent.study.protocols.printed_methods.methods import METHODS, PrintedScene
from wevent.study.protocols.score import RunScore
from wevent.study.requirements import StudyRequirements
from wevent.study.seeds import seed_for

NOT_PRIVATE = "not private"
"""What every result of this protocol is labelled."""

CountsByType = npt.NDArray[np.int32] | npt.NDArray[np.int64]
"""True counts (axes: slot, type, cell)."""


@dataclass(frozen=True, slots=True)
class PrintedResult:
    """NOT PRIVATE: what one method released, in the order in which it ran.

    Attributes:
        released: axes slot, cell.
        true: what was to be released, in the same order (axes: slot, cell).
        published: axes slot; all others are skipped, since nothing rests.
        worst_window: what the draws really cost in the fullest window of anybody, in the order of the run, over what
            was allowed; a draw costs a person at most its threshold, so this is no exaggeration.
        seconds: per slot, in the method itself.
        label: says that this is not private.
    """

    released: npt.NDArray[np.float64] = field(repr=False)
    true: npt.NDArray[np.float64] = field(repr=False)
    published: npt.NDArray[np.bool_] = field(repr=False)
    worst_window: float
    seconds: float
    label: str = NOT_PRIVATE


@dataclass(frozen=True, slots=True)
class PrintedScore(RunScore):
    """NOT PRIVATE: a score that says so; its worst window may well be above 1."""

    label: str = NOT_PRIVATE


def run(
    stream: DataStream,
    requirements: StudyRequirements,
    seeds: Mapping[str, int],
    metrics: Sequence[str],
    *,
    data_seed: int = 0,
) -> dict[str, RunScore]:
    """Run methods as the released code did. NOT PRIVATE.

    Args:
        stream: the data; sin, log and tlns are drawn with probabilities rounded to two decimals.
        requirements: those of all users.
        seeds: methods by name, each with the seed of its draws.
        metrics: names of metrics.
        data_seed: for synthetic data and for the order of slots.

    Guarantees:
        Every score is a `PrintedScore`, labelled not private.
        All methods see the same counts in the same order; none sees another's draws.
        The same arguments give the same scores, times apart.
    """
    check_methods(seeds)
    counts = count_by_type(stream, requirements, data_seed)
    scores: dict[str, RunScore] = {}
    for name, result in replay(counts, requirements, seeds, order_seed=seed_for(data_seed, "order")).items():
        scorer = Scorer(metrics, stream.plane)
        scorer.add_all(result.true, result.released)
        errors = scorer.errors()
        fresh = int(result.published.sum())
        decisions = {"published": fresh, "skipped": errors.slots - fresh, "nullified": 0}
        worst = Fraction(result.worst_window)
        scores[name] = PrintedScore(errors.slots, errors.means, decisions, worst, result.seconds)
    return scores


def replay(
    counts: CountsByType, requirements: StudyRequirements, seeds: Mapping[str, int], *, order_seed: int
) -> dict[str, PrintedResult]:
    """Run methods on counts, as the released code did. NOT PRIVATE.

    Args:
        counts: true ones in the order of time (axes: slot, type, cell).
        requirements: those of all users.
        seeds: methods by name, each with the seed of its draws.
        order_seed: of the one shuffle of slots that all methods share.

    Guarantees:
        A method's result depends on its own seed and on `order_seed`, not on the other methods.
    """
    check_methods(seeds)
    types = len(requirements.fixed)
    if counts.ndim != 3 or counts.shape[1] != types or not counts.size:
        raise WrongShape(f"counts must have the axes slot, type, cell and {types} types, got shape {counts.shape}")
    order = np.random.default_rng(order_seed).permutation(len(counts))
    scene = PrintedScene(counts[order], requirements)
    true = scene.counts.sum(axis=1).astype(np.float64)
    results = {}
    for name, seed in seeds.items():
        begin = perf_counter()
        outcome = METHODS[name](scene, np.random.default_rng(seed))
        seconds = (perf_counter() - begin) / scene.slots
        results[name] = PrintedResult(outcome.released, true, outcome.published, outcome.worst_window, seconds)
    return results


def count_by_type(stream: DataStream, requirements: StudyRequirements, data_seed: int) -> CountsByType:
    """True counts of a stream in the order of time (axes: slot, type, cell).

    Guarantees:
        For sin, log and tlns, bits are drawn with the probabilities that the released code rounded.
    """
    types, cells = len(requirements.fixed), len(stream.cells)
    if isinstance(stream, SyntheticStream) and stream.name in SERIES:
        chances = SERIES[stream.name](stream.slots, True)
        ones = np.random.default_rng(seed_for(data_seed, "bits")).binomial(requirements.sizes, chances[:, None])
        return np.stack([requirements.sizes - ones, ones], axis=2)
    counts = np.zeros((stream.slots, types, cells), np.int32)
    for slot, places in enumerate(stream.places(data_seed)):
        counts[slot] = requirements.count(places, cells)
    return counts


def check_methods(names: Mapping[str, int] | Sequence[str]) -> None:
    """Raise `UnknownName` for a method that the released code did not have."""
    for name in names:
        if name not in METHODS:
            said = f"protocol printed has no method {name!r}; known are {', '.join(METHODS)}. Run it under honest."
            raise UnknownName(said, known=tuple(METHODS))
