"""Compares mechanisms on one stream, one row of results for each mechanism and round."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from wevent.errors import InvalidSetting
from wevent.study.datasets.catalog import check_name, open_stream
from wevent.study.datasets.stream import Presence
from wevent.study.experiment import METRICS, Point
from wevent.study.mechanisms import known_mechanism
from wevent.study.protocols import honest
from wevent.study.runner import RunSettings, requirements_at, workers
from wevent.study.seeds import seed_for


@dataclass(frozen=True, slots=True)
class Comparison:
    """What to compare.

    Attributes:
        data: a data set, or the path of a CSV or Parquet file.
        mechanisms: their names.
        epsilon: the least epsilon of all users, if there is no file of requirements.
        window: the longest window of all users, if there is no file of requirements.
        requirements: a file with user, epsilon, window.
        dynamic: a file with user, slot, epsilon, window and, if wanted, backward_epsilon, backward_window.
        slot_width: how long a slot is, where the file has times.
    """

    data: str
    mechanisms: tuple[str, ...]
    epsilon: float = 0.6
    window: int = 120
    slots: int | None = None
    users: int | None = None
    cells: int | None = None
    rounds: int = 1
    seed: int = 1
    presence: Presence = "carry"
    slot_width: str | None = None
    requirements: Path | None = None
    dynamic: Path | None = None


def compare(comparison: Comparison, settings: RunSettings | None = None) -> list[dict[str, Any]]:
    """One row for each mechanism and round, under the protocol `honest`.

    Guarantees:
        All mechanisms of a round see the same data and requirements.
        The same seed gives the same rows, times apart, whatever the number of processes.
        An unknown data set or mechanism raises `UnknownName` before anything runs.
    """
    settings = settings or RunSettings()
    check_name(comparison.data)
    for name in comparison.mechanisms:
        known_mechanism(name)
    if not comparison.mechanisms:
        raise InvalidSetting("name at least one mechanism to compare")
    one_round = partial(_one_round, comparison, settings.folder)
    rounds = range(1, comparison.rounds + 1)
    jobs = min(settings.jobs or os.cpu_count() or 1, comparison.rounds)
    return [row for rows in _mapped(one_round, rounds, jobs, settings.plugins) for row in rows]


def _mapped(one_round: Any, rounds: range, jobs: int, plugins: tuple[Path, ...]) -> Iterator[list[dict[str, Any]]]:
    if jobs == 1:
        yield from map(one_round, rounds)
        return
    with workers(jobs, plugins) as pool:
        yield from pool.map(one_round, rounds)


def _one_round(comparison: Comparison, folder: Path, number: int) -> list[dict[str, Any]]:
    files = (None if path is None else str(path) for path in (comparison.requirements, comparison.dynamic))
    point = Point(
        comparison.data,
        comparison.epsilon,
        comparison.window,
        cells=comparison.cells,
        slots=comparison.slots,
        users=comparison.users,
        presence=comparison.presence,
        slot_width=comparison.slot_width,
        requirements=next(files),
        dynamic=next(files),
    )
    stream = open_stream(point.data, point.options(folder))
    requirements = requirements_at(point, stream, comparison.seed, number)
    seeds = {name: seed_for(comparison.seed, "noise", comparison.data, number, name) for name in comparison.mechanisms}
    data_seed = seed_for(comparison.seed, "data", comparison.data, number)
    scores = honest.run(stream, requirements, seeds, METRICS, data_seed=data_seed)
    return [
        {
            "data": comparison.data,
            "mechanism": name,
            "epsilon": float(requirements.common.epsilon),
            "window": requirements.common.window,
            "round": number,
            **{metric: score.errors[metric] for metric in METRICS},
            **{decision: score.decisions[decision] for decision in ("published", "skipped", "nullified")},
            "worst_window": float(score.worst_window),
            "seconds_per_slot": score.seconds_per_slot,
        }
        for name, score in scores.items()
    ]
