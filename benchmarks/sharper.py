"""Measures what `auto` costs beside PBD, and how often its intervals hold: two tables of ratios.

`python benchmarks/sharper.py` prints both. Costs are processor time per slot over that of PBD with the same people,
cells and data, in the same run. Coverage is the share of true counts within 95 % intervals, over data sets of the
study.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from wevent import Publisher, Register, Slot, auto, pbd
from wevent.noise import StudyNoise
from wevent.releases.release import Decision
from wevent.study.experiment import Point
from wevent.study.runner import open_point, requirements_at

MECHANISMS: dict[str, Callable[..., Publisher]] = {"auto": auto, "auto_pooled": partial(auto, estimator="pooled")}
SETS = ("sin", "log", "tlns", "nycflights")
DATA_FOLDER = Path("data")


def print_cost_for_people(people: int, cells: int, slots: int) -> None:
    """Every person in a random cell, drawn anew in each of four slots; 25 fixed requirements."""

    def run(build: Callable[..., Publisher]) -> float:
        random = np.random.default_rng(2)
        epsilon, window = (
            random.choice((0.2, 0.4, 0.6, 0.8, 1.0), people),
            random.choice((40, 80, 120, 160, 200), people),
        )
        publisher = build(Register.from_arrays(epsilon, window), cells)
        places, taken = [random.integers(0, cells, people) for _ in range(4)], 0.0
        for number in range(1, slots + 1):
            begin = time.process_time()
            publisher.step(Slot(number, places[number % 4]))
            taken += (time.process_time() - begin) * (number > 20)
        return taken

    baseline = run(pbd)
    for name, build in MECHANISMS.items():
        print(f"{people:>9,} people, {cells:>3} cells   {name:<12} {run(build) / baseline:5.2f} x PBD", flush=True)


def print_cost_on_dataset(data: str, slots: int) -> None:
    """The cost on a data set of the study, with ten requirements."""
    costs = {name: _run(data, build, slots)[0] for name, build in {"pbd": pbd, **MECHANISMS}.items()}
    for name in MECHANISMS:
        print(f"{data:>16}, ten requirements   {name:<12} {costs[name] / costs['pbd']:5.2f} x PBD", flush=True)


def print_coverage(data: str, slots: int | None) -> None:
    """Coverage in published and in repeated slots."""
    for name, build in MECHANISMS.items():
        _, published, repeated = _run(data, build, slots)
        print(f"{data:>10}  {name:<12} published {published:6.1%}  repeated {repeated:6.1%}", flush=True)


def _run(data: str, build: Callable[..., Publisher], slots: int | None) -> tuple[float, float, float]:
    """Processor time, and coverage in published and in repeated slots."""
    stream = open_point(Point(data, slots=slots), DATA_FOLDER)
    requirements, cells, register = requirements_at(Point(data), stream, 1, 1), len(stream.cells), Register()
    for kind, (requirement, size) in enumerate(zip(requirements.fixed, requirements.sizes.tolist(), strict=True)):
        register.with_group(kind, requirement, size)
    publisher = build(register, cells, noise=StudyNoise(1))
    order = np.argsort([publisher.members.groups[kind] for kind in range(len(requirements.fixed))])
    taken, tallies = 0.0, {True: [0, 0], False: [0, 0]}
    for number, places in enumerate(stream.places(1), start=1):
        present = places >= 0
        kinds = (requirements.type_of * cells)[present] + places[present]
        counts = np.bincount(kinds, minlength=len(order) * cells).reshape(-1, cells)
        begin = time.process_time()
        release = publisher.step(Slot(number, counts=counts[order]))
        taken += time.process_time() - begin
        if build is not pbd:
            tally, true = tallies[release.decision is Decision.PUBLISHED], counts.sum(axis=0)
            tally[0] += int(((release.low <= true) & (true <= release.high)).sum())
            tally[1] += cells
    published, repeated = (inside / max(total, 1) for inside, total in (tallies[True], tallies[False]))
    return taken, published, repeated


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("cost", "coverage"))
    parser.add_argument("--slots", type=int, default=None, help="of the data sets; all by default")
    options = parser.parse_args()
    if options.only != "coverage":
        for people, cells, slots in ((2_000, 10, 400), (10_000, 100, 400), (1_000_000, 100, 120)):
            print_cost_for_people(people, cells, slots)
        for data in SETS:
            print_cost_on_dataset(data, options.slots or 2_500)
    if options.only != "cost":
        for data in SETS:
            print_coverage(data, options.slots)


if __name__ == "__main__":
    main()
