"""Measures what a slot costs, as a ratio to one `np.bincount` over the users' cells in the same run.

`make bench` prints the table. The floor is measured between the slots, so that both see the same machine; a mean ratio
is the sum over all measured slots over the sum of as many floors. Nothing asserts on times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent import Dynamic, Mechanism, Publisher, Register, Slot
from wevent.budgets.schedules import Distribution, DynamicAbsorption, DynamicDistribution
from wevent.decisions.change import ChangeTrigger, DecisionInput, Verdict
from wevent.settings import has_numba

BUDGETS = (0.2, 0.4, 0.6, 0.8, 1.0)
CELLS = 100


class EveryTenth(ChangeTrigger):
    """Measures change in every slot as always, and publishes one slot in ten."""

    def decide(self, given: DecisionInput) -> Verdict:
        """The measured change, and a verdict by the clock."""
        verdict = super().decide(given)
        return Verdict(publish=given.offer.slot % 10 == 0, change=verdict.change)


def measure(
    step: Callable[[Slot], object],
    people: int,
    slots: Sequence[int],
    prepare: Callable[[], None] | None = None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Seconds of each slot and of the floor beside it; `prepare` runs before both, unmeasured."""
    generator = np.random.default_rng(1)
    streams = [generator.integers(0, CELLS, people) for _ in range(4)]
    taken, floors = [], []
    for slot in slots:
        cells = streams[slot % 4]
        if prepare is not None:
            prepare()
        start = time.perf_counter()
        np.bincount(cells, minlength=CELLS)
        middle = time.perf_counter()
        step(Slot(slot, cells))
        floors.append(middle - start)
        taken.append(time.perf_counter() - middle)
    return np.array(taken), np.array(floors)


def fixed(people: int, slots: int, *, fast: bool) -> dict[str, float]:
    """Fixed requirements in 25 cohorts, noise from OpenDP included."""
    generator = np.random.default_rng(2)
    register = Register.from_arrays(
        generator.choice(BUDGETS, people), generator.choice((40, 80, 120, 160, 200), people)
    )
    publisher = Publisher(register, CELLS, Mechanism("pbd", Distribution, EveryTenth), fast=fast)
    taken, floors = measure(publisher.step, people, range(1, slots + 40))
    return summary(taken[40:], floors[40:], publisher.ledger.nbytes / people)


def dynamic(people: int, slots: int, schedule: Any) -> dict[str, float]:
    """Dynamic requirements, redrawn for all people in every slot from a 5 × 5 grid, longest window 120."""
    generator = np.random.default_rng(3)
    table = [Dynamic((epsilon, window), (10, 1)) for epsilon in BUDGETS for window in (24, 48, 72, 96, 120)]
    register = Register.from_levels(table, generator.integers(0, 25, people))
    publisher = Publisher(register, CELLS, Mechanism("dynamic", schedule, EveryTenth))
    choice = np.zeros(people, np.int8)

    def redraw() -> None:
        choice[:] = generator.integers(0, 25, people, dtype=np.int8)

    def step(slot: Slot) -> None:
        publisher.declare(table, choice)
        publisher.step(slot)

    taken, floors = measure(step, people, range(1, slots + 150), redraw)
    return summary(taken[150:], floors[150:], publisher.ledger.nbytes / people)


def summary(taken: npt.NDArray[np.float64], floors: npt.NDArray[np.float64], bytes_per_user: float) -> dict[str, float]:
    """The ratios of one case; late over early compares the last third of the stream with the first."""
    third = taken.size // 3
    drift = (np.median(taken[-third:]) / np.median(floors[-third:])) / (
        np.median(taken[:third]) / np.median(floors[:third])
    )
    return {
        "mean": taken.sum() / floors.sum(),
        "median": float(np.median(taken / floors)),
        "p99": float(np.quantile(taken, 0.99) / np.median(floors)),
        "worst": float(taken.max() / np.median(floors)),
        "late/early": float(drift),
        "bytes/user": bytes_per_user,
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--slots", type=int, default=300)
    options = parser.parse_args()
    people, slots = options.people, options.slots
    cases: dict[str, tuple[Callable[[], dict[str, float]], str]] = {
        "fixed, numpy": (lambda: fixed(people, slots, fast=False), "mean ≤ 1.5, worst ≤ 2.5"),
    }
    if has_numba():
        cases["fixed, numba"] = (lambda: fixed(people, slots, fast=True), "mean ≤ 0.8, worst ≤ 2.5")
        cases["dpbd, numba"] = (
            lambda: dynamic(people, slots, DynamicDistribution),
            "mean ≤ 25, bytes ≤ 512",
        )
        cases["dpba, numba"] = (lambda: dynamic(people, slots, DynamicAbsorption), "mean ≤ 45, bytes ≤ 512")
    print(f"{people:,} people, {CELLS} cells, {slots} slots; cost of a slot / cost of one np.bincount over the cells")
    print(f"{'case':<14}{'mean':>9}{'median':>9}{'p99':>9}{'worst':>9}{'late/early':>12}{'bytes/user':>12}   aim")
    if has_numba():  # compile, or load what was compiled, before anything is measured
        for schedule in (DynamicDistribution, DynamicAbsorption):
            dynamic(9_000, 40, schedule)
        fixed(9_000, 300, fast=True)
    for name, (run, aim) in cases.items():
        row = run()
        figures = "".join(f"{row[key]:>9.2f}" for key in ("mean", "median", "p99", "worst"))
        print(f"{name:<14}{figures}{row['late/early']:>12.2f}{row['bytes/user']:>12.1f}   {aim}", flush=True)


if __name__ == "__main__":
    main()
