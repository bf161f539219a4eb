"""What the sharper mechanisms cost beside PBD, and how often their intervals hold: two tables of ratios.

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

OURS: dict[str, Callable[..., Publisher]] = {"auto": auto, "auto_pooled": partial(auto, estimator="pooled")}
SETS = ("sin", "log", "tlns", "nycflights")
NOWHERE = Path("data")


def of_people(people: int, cells: int, slots: int) -> None:
    """Everybody in a cell of their own choice, drawn anew in each of four slots; 25 kinds of requirements."""

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

    beside = run(pbd)
    for name, build in OURS.items():
        print(f"{people:>9,} people, {cells:>3} cells   {name:<12} {run(build) / beside:5.2f} x PBD", flush=True)


def of_types(data: str, slots: int) -> None:
    """A data set of the study, ten types."""
    costs = {name: _over(data, build, slots)[0] for name, build in {"pbd": pbd, **OURS}.items()}
    for name in OURS:
        print(f"{data:>16}, ten types   {name:<12} {costs[name] / costs['pbd']:5.2f} x PBD", flush=True)


def covered(data: str, slots: int | None) -> None:
    """Coverage in published and in repeated slots."""
    for name, build in OURS.items():
        _, published, repeated = _over(data, build, slots)
        print(f"{data:>10}  {name:<12} published {published:6.1%}  repeated {repeated:6.1%}", flush=True)


def _over(data: str, build: Callable[..., Publisher], slots: int | None) -> tuple[float, float, float]:
    """Processor time, and coverage in published and in repeated slots."""
    stream = open_point(Point(data, slots=slots), NOWHERE)
    requirements, cells, register = requirements_at(Point(data), stream, 1, 1), len(stream.cells), Register()
    for kind, (asked, size) in enumerate(zip(requirements.fixed, requirements.sizes.tolist(), strict=True)):
        register.with_group(kind, asked, size)
    publisher = build(register, cells, noise=StudyNoise(1))
    order = np.argsort([publisher.members.groups[kind] for kind in range(len(requirements.fixed))])
    taken, held = 0.0, {True: [0, 0], False: [0, 0]}
    for number, places in enumerate(stream.places(1), start=1):
        there = places >= 0
        kinds = (requirements.type_of * cells)[there] + places[there]
        counts = np.bincount(kinds, minlength=len(order) * cells).reshape(-1, cells)
        begin = time.process_time()
        release = publisher.step(Slot(number, counts=counts[order]))
        taken += time.process_time() - begin
        if build is not pbd:
            tally, true = held[release.decision is Decision.PUBLISHED], counts.sum(axis=0)
            tally[0] += int(((release.low <= true) & (true <= release.high)).sum())
            tally[1] += cells
    published, repeated = (good / max(all_, 1) for good, all_ in (held[True], held[False]))
    return taken, published, repeated


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("cost", "coverage"))
    parser.add_argument("--slots", type=int, default=None, help="of the data sets; all by default")
    given = parser.parse_args()
    if given.only != "coverage":
        for people, cells, slots in ((2_000, 10, 400), (10_000, 100, 400), (1_000_000, 100, 120)):
            of_people(people, cells, slots)
        for data in SETS:
            of_types(data, given.slots or 2_500)
    if given.only != "cost":
        for data in SETS:
            covered(data, given.slots)


if __name__ == "__main__":
    main()
