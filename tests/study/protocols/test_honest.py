"""The protocol `honest`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from wevent import mechanisms
from wevent.cohorts.requirement import Fixed
from wevent.errors import BudgetExceeded
from wevent.events.slot import Slot
from wevent.releases.release import Decision
from wevent.study.baselines.base import BaselineRelease, BaselineSpend
from wevent.study.datasets.catalog import open_stream
from wevent.study.datasets.stream import DataOptions
from wevent.study.mechanisms import MECHANISMS, MechanismEntry
from wevent.study.protocols import honest
from wevent.study.requirements import draw_types, two_types


@dataclass(frozen=True)
class Small:
    """A stream of three cells in which some people are absent."""

    name: str = "small"
    cells: tuple[str, ...] = ("a", "b", "c")
    users: int = 40
    slots: int = 30
    complete: bool = False
    plane: tuple[int, int] | None = None

    def places(self, seed: int) -> Iterator[npt.NDArray[np.int64]]:
        random = np.random.default_rng(seed)
        for _ in range(self.slots):
            yield random.integers(-1, 3, self.users)


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_no_mechanism_spends_more_than_a_window_allows(name: str) -> None:
    """Over 120 slots no window holds more than its budget, by a check of its own; each slot has a decision."""
    stream = open_stream("tlns", DataOptions(slots=120, users=500))
    (score,) = honest.run(stream, draw_types(7, 500, 0.6, 40), {name: 1}, ["amre", "ajsd"]).values()
    assert 0 < score.worst_window <= 1
    assert score.slots == sum(score.decisions.values()) == 120 and score.decisions["lost"] == 0
    assert score.errors["amre"] > 0 and score.seconds_per_slot > 0


def test_mechanisms_do_not_influence_each_other() -> None:
    """Alone or side by side: the same numbers."""
    requirements = draw_types(1, 40, 0.6, 40)
    names = ["dpbd", "lpa", "spas", "pba"]
    together = honest.run(Small(), requirements, dict.fromkeys(names, 5), ["amre"])
    for name in names:
        alone = honest.run(Small(), requirements, {name: 5}, ["amre"])
        assert alone[name].errors == together[name].errors and alone[name].decisions == together[name].decisions


class Perfect:
    """Shows the truth and claims to have spent `spend` of its budget in every slot."""

    spend = 0

    def __init__(self, register: Any, cells: int, *, noise: Any) -> None:
        self.rows = register.sizes.size
        self.trace: BaselineSpend | None = None

    def step(self, slot: Slot) -> BaselineRelease:
        assert slot.counts is not None
        self.trace = BaselineSpend(slot.number, np.full(self.rows, self.spend))
        return BaselineRelease(slot.number, slot.counts.sum(axis=0).astype(np.float64), Decision.PUBLISHED)


class Careless(Perfect):
    """One unit more than E/w in every slot."""

    spend = 1_000_000_000 // 10 + 1


def test_the_truth_has_no_error_and_an_overspent_window_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared is the truth of the same slot; a mechanism that overspends by one unit a slot is refused."""
    monkeypatch.setitem(MECHANISMS, "perfect", MechanismEntry(Perfect, "personal", "rows", "Du25"))
    monkeypatch.setitem(MECHANISMS, "careless", MechanismEntry(Careless, "personal", "rows", "Du25"))
    requirements = two_types(1, 40, (1.0, 10), (2.0, 5), 0.5)
    scores = honest.run(Small(), requirements, {"perfect": 1}, ["amre", "mre", "ajsd", "awd"])
    assert all(value == pytest.approx(0, abs=1e-12) for value in scores["perfect"].errors.values())
    with pytest.raises(BudgetExceeded, match="careless spent 1"):
        honest.run(Small(), requirements, {"careless": 1}, ["amre"])


def test_each_kind_gets_what_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """One requirement for all, each type's own, or moving ones."""
    seen: dict[str, list[Any]] = {}

    def spy(name: str) -> Any:
        def build(register: Any, cells: int, *, noise: Any) -> Any:
            seen[name] = [register.table[k] for k in register.required]
            return mechanisms.RECIPES[name](register, cells, noise=noise)

        return build

    requirements = two_types(1, 40, (1.0, 10), (0.5, 20), 0.25)
    for name, serves in (("bd", "common"), ("pbd", "personal"), ("dpbd", "dynamic")):
        monkeypatch.setitem(MECHANISMS, name, MechanismEntry(spy(name), serves, "rows", "Du25"))  # type: ignore[arg-type]
    honest.run(Small(), requirements, dict.fromkeys(("bd", "pbd", "dpbd"), 1), ["amre"])
    assert seen["bd"] == [Fixed("0.5", 20)] * 2
    assert seen["pbd"] == [Fixed(1, 10), Fixed("0.5", 20)]
    assert requirements.changes is not None
    assert seen["dpbd"] == [requirement for _, requirement in requirements.changes.at(1)]


def test_parts_of_the_error_are_means_over_slots() -> None:
    """For one requirement nobody is sampled: noise alone, 2/θ² with θ = E/(2w) for measuring change."""
    stream = open_stream("sin", DataOptions(slots=100, users=500))
    scores = honest.run(stream, draw_types(1, 500, 0.6, 40), {"bd": 1, "pbd": 1, "spas": 1}, ["amre"])
    parts = scores["bd"].parts
    assert parts["change_noise"] == pytest.approx(2 * (2 * 40 / 0.6) ** 2, rel=1e-6)
    assert parts["change_variance"] == parts["change_bias"] == parts["release_variance"] == parts["release_bias"] == 0
    assert parts["release_noise"] >= 2 * (4 / 0.6) ** 2 * (1 - 1e-6)
    assert scores["pbd"].parts["change_noise"] < parts["change_noise"]
    assert scores["spas"].parts == {}


@pytest.mark.slow
def test_personalised_distribution_beats_the_common_one() -> None:
    """PBD below BD in the mean on the synthetic sets, on a part of the stream (seeded, two rounds each)."""
    for data in ("sin", "log", "tlns"):
        stream = open_stream(data, DataOptions(slots=1_500, users=2_000))
        sums = dict.fromkeys(("pbd", "bd"), 0.0)
        for number in (1, 2):
            requirements = draw_types(number, 2_000, 0.6, 120)
            scores = honest.run(stream, requirements, dict.fromkeys(sums, number), ["amre"], data_seed=number)
            sums = {name: sums[name] + scores[name].errors["amre"] for name in sums}
        assert sums["pbd"] < sums["bd"]
