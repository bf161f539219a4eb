"""The experiments that come with the package: one file for each table and figure of the paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from wevent.study.experiment import Experiment, load
from wevent.study.protocols.printed_methods.methods import METHODS
from wevent.study.protocols.score import PARTS
from wevent.study.reporting.report import ORDER

FOLDER = Path(__file__).parents[2] / "experiments"
FILES = sorted(FOLDER.glob("*.toml"))
EPSILONS, WINDOWS = (0.2, 0.4, 0.6, 0.8, 1.0), (40, 80, 120, 160, 200)


def named(name: str) -> Experiment:
    return load(FOLDER / f"{name}.toml")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_loads(path: Path) -> None:
    """Each names only what is known, says what it shows, and has points to run."""
    experiment = load(path)
    assert experiment.title and experiment.about
    assert list(experiment.points())


def test_every_table_and_figure_is_there() -> None:
    """The paper's two tables and its figures, ours besides, and a template; the report knows their order."""
    assert {path.stem for path in FILES} == {*ORDER, "compare"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shared_runs_are_shared(path: Path) -> None:
    """An experiment that shows the runs of another names points, mechanisms and metrics that the other runs."""
    experiment = load(path)
    if experiment.runs is None:
        return
    other = load(FOLDER / f"{experiment.runs}.toml")
    assert other.runs is None
    assert set(experiment.points()) <= set(other.points())
    assert set(experiment.mechanisms) <= set(other.mechanisms)
    assert set(experiment.show) <= {*other.metrics, *PARTS, "seconds_per_slot"}
    assert (experiment.protocol, experiment.seed, experiment.rounds) == (other.protocol, other.seed, other.rounds)


@pytest.mark.parametrize("prefix", ["error", "ajsd", "awd", "time", "printed"])
def test_sweeps_are_those_of_the_paper(prefix: str) -> None:
    """E from 0.2 to 1.0 at w = 120, w from 40 to 200 at E = 0.6."""
    by_budget, by_window = named(f"{prefix}_by_epsilon"), named(f"{prefix}_by_window")
    assert by_budget.vary == (("epsilon", EPSILONS),) and {point.window for point in by_budget.points()} == {120}
    assert by_window.vary == (("window", WINDOWS),) and {point.epsilon for point in by_window.points()} == {0.6}
    for experiment in (by_budget, by_window):
        assert {"bd", "ba", "pbd", "pba", "dpbd", "dpba"} <= set(experiment.mechanisms)
        assert {"sin", "log", "tlns"} <= set(experiment.data) and experiment.downloads == ("taxi", "foursquare")


def test_ratios() -> None:
    """Two types: E of 1.0 and 0.6 at w = 120, w of 40 and 120 at E = 0.6; the first has 10 % to 90 % of the users."""
    for name, first in (("ratio_of_epsilons", (1.0, 120)), ("ratio_of_windows", (0.6, 40))):
        points = list(named(name).points(["sin"]))
        assert [point.share for point in points] == [0.1, 0.3, 0.5, 0.7, 0.9]
        assert {(point.epsilon, point.window) for point in points} == {first}
        assert {(point.other_epsilon, point.other_window) for point in points} == {(0.6, 120)}


def test_dimensions() -> None:
    """The cells that the paper's figure has, and what the free data set can give."""
    assert [point.cells for point in named("dimension_foursquare").points()] == [2, 20, 38, 56, 74]
    assert [point.cells for point in named("dimension_nycflights").points()] == [3, 105]


def test_times_are_taken_alone() -> None:
    """One process at a time, or others would be timed along."""
    for name in ("time_by_epsilon", "time_by_window"):
        assert named(name).jobs == 1 and named(name).show == ("seconds_per_slot",)


def test_printed_asks_for_what_the_protocol_has() -> None:
    """Every mechanism of the experiments under `printed` is one of its methods."""
    for name in ("printed_by_epsilon", "printed_by_window"):
        assert named(name).protocol == "printed" and set(named(name).mechanisms) <= set(METHODS)
