"""Running experiments: kept, repeatable, on any number of processes."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from wevent.errors import InvalidSetting
from wevent.study import results
from wevent.study.experiment import Experiment, from_table, load
from wevent.study.runner import ExperimentRun, RunSettings, run_task

FAST = {
    "title": "T",
    "data": ["sin", "tlns"],
    "mechanisms": ["pbd", "dpba", "plbu"],
    "vary": {"epsilon": [0.6, 1.0]},
    "base": {"window": 40, "slots": 60, "users": 200},
    "rounds": 2,
}
TIMED = ("seconds_per_slot", "commit")


def experiment(**changes: object) -> Experiment:
    return from_table("small", {**FAST, **changes})


def numbers(path: Path) -> list[dict[str, str]]:
    """Everything but times and commit."""
    return [{key: value for key, value in row.items() if key not in TIMED} for row in results.read(path)]


def finish(given: Experiment, path: Path, jobs: int = 1) -> ExperimentRun:
    run = ExperimentRun(given, path, RunSettings(jobs=jobs))
    *_, last = run.go()
    assert last.done == last.all
    return run


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the whole experiment, to look at only."""
    path = tmp_path_factory.mktemp("study") / "whole.csv"
    finish(experiment(), path)
    return path


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing(tmp_path: Path) -> None:
    """One process, two and three give the same file, times apart."""
    for jobs in (1, 2, 3):
        finish(experiment(), tmp_path / f"{jobs}.csv", jobs)
    assert numbers(tmp_path / "1.csv") == numbers(tmp_path / "2.csv") == numbers(tmp_path / "3.csv")


def test_every_row_says_what_it_is(uninterrupted: Path) -> None:
    """Settings, seed, version and privacy stand in every row; no window is above what was allowed."""
    rows = results.read(uninterrupted)
    assert len(rows) == 2 * 2 * 2 * 3
    for row in rows:
        assert row["experiment"] == "small" and row["protocol"] == "honest" and row["private"] == "yes"
        assert row["slots"] == row["ran_slots"] == "60" and row["ran_users"] == "200" and row["ran_cells"] == "2"
        assert row["seed"] == "1" and row["version"] and float(row["worst_window"]) <= 1
        assert int(row["published"]) + int(row["skipped"]) + int(row["nullified"]) == 60
        assert float(row["amre"]) > 0 and float(row["seconds_per_slot"]) > 0
        assert (row["release_noise"] != "") == (row["mechanism"] != "plbu")
    assert len({row["amre"] for row in rows}) == len(rows)


def test_finished_tasks_are_kept(uninterrupted: Path, tmp_path: Path) -> None:
    """Interrupted after three cells and in the middle of a line: the next run does the rest, and nothing twice."""
    path = tmp_path / "r.csv"
    run = ExperimentRun(experiment(), path, RunSettings(jobs=1))
    steps = run.go()
    for _ in range(4):  # the first says where it starts
        next(steps)
    steps.close()
    with path.open("a") as file:
        file.write("small,honest,sin,0.6,4")
    again = ExperimentRun(experiment(), path, RunSettings(jobs=1))
    assert (again.kept, again.all, len(again.tasks)) == (3, 8, 5)
    for _ in again.go():
        pass
    assert numbers(path) == numbers(uninterrupted)
    done = ExperimentRun(experiment(), path)
    assert done.tasks == [] and done.kept == 8


def test_a_mechanism_can_be_added_later(uninterrupted: Path, tmp_path: Path) -> None:
    """Only the new one is run; what the others drew stays as it was, with any mechanisms beside them."""
    path = tmp_path / "r.csv"
    finish(experiment(mechanisms=["pbd"]), path)
    run = ExperimentRun(experiment(), path, RunSettings(jobs=1))
    assert {task.mechanisms for task in run.tasks} == {("dpba", "plbu")}
    for _ in run.go():
        pass
    assert numbers(path) == numbers(uninterrupted)


def test_more_rounds_keep_the_first_ones(tmp_path: Path) -> None:
    """Rows of other rounds stay; those of another seed go."""
    path = tmp_path / "r.csv"
    finish(experiment(rounds=1), path)
    first = numbers(path)
    finish(experiment(rounds=2), path)
    assert [row for row in numbers(path) if row["round"] == "1"] == first
    finish(experiment(rounds=1), path)
    assert len(numbers(path)) == 2 * len(first)
    finish(experiment(rounds=1, seed=2), path)
    assert {row["seed"] for row in numbers(path)} == {"2"}


def test_rounds_differ_and_mechanisms_of_a_round_share_the_data() -> None:
    """Another round draws other data; a task that runs again gives the same rows."""
    tasks = list(experiment().tasks())
    first, again = (run_task("small", tasks[0], Path()) for _ in range(2))
    other = run_task("small", replace(tasks[0], round=2), Path())
    assert [row["amre"] for row in first] == [row["amre"] for row in again]
    assert all(a["amre"] != b["amre"] for a, b in zip(first, other, strict=True))


def test_a_file_of_another_version_is_not_touched(tmp_path: Path) -> None:
    """Different columns are refused, and nothing is written."""
    path = tmp_path / "r.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InvalidSetting, match="another version"):
        ExperimentRun(experiment(), path)
    assert path.read_text() == "a,b\n1,2\n"


def test_downloads_that_are_missing_are_left_out_and_named(tmp_path: Path) -> None:
    """`downloads` are run where their files are; in `data` they are an error that names files, source and folder."""
    settings = RunSettings(folder=tmp_path, jobs=1)
    run = ExperimentRun(experiment(downloads=["taxi"]), tmp_path / "r.csv", settings)
    assert list(run.missing) == ["taxi"] and run.all == 8
    message = str(run.missing["taxi"])
    assert str(tmp_path) in message and "T-Drive" in message


def test_two_types(tmp_path: Path) -> None:
    """A share of two types runs too, and the share matters."""
    base = {"epsilon": 1.0, "window": 40, "other_epsilon": 0.2, "other_window": 40, "slots": 60, "users": 200}
    two = experiment(vary={"share": [0.1, 0.9]}, base=base, data=["sin"], rounds=1, mechanisms=["pbd", "bd"])
    finish(two, tmp_path / "r.csv")
    rows = results.read(tmp_path / "r.csv")
    assert [row["share"] for row in rows] == ["0.1", "0.1", "0.9", "0.9"]


@pytest.mark.slow
def test_plugins_add_mechanisms(tmp_path: Path) -> None:
    """One small file adds a mechanism, also for worker processes."""
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from wevent import mechanisms\n"
        "from wevent.study.mechanisms import MECHANISMS, MechanismEntry\n"
        "MECHANISMS['mine'] = MechanismEntry(mechanisms.pbd, 'personal', 'rows', 'Du25')\n"
    )
    from wevent.study.mechanisms import MECHANISMS
    from wevent.study.runner import load_plugins

    try:
        load_plugins([plugin])
        given = experiment(mechanisms=["mine"], rounds=1, data=["sin"])
        run = ExperimentRun(given, tmp_path / "r.csv", RunSettings(jobs=2, plugins=(plugin,)))
        for _ in run.go():
            pass
        assert {row["mechanism"] for row in results.read(tmp_path / "r.csv")} == {"mine"}
    finally:
        MECHANISMS.pop("mine", None)
    with pytest.raises(InvalidSetting, match="no Python file"):
        load_plugins([tmp_path / "absent.py"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_killed_run_leaves_nobody_behind_and_goes_on(tmp_path: Path) -> None:
    """Killed outright: its workers end too, every row is whole, and the next run finishes."""
    file = tmp_path / "small.toml"
    file.write_text(
        'title = "T"\ndata = ["sin"]\nmechanisms = ["dpbd"]\nrounds = 40\n'
        "[base]\nwindow = 40\nslots = 500\nusers = 500\n"
    )
    words = [sys.executable, "-m", "wevent", "study", "run", str(file), "--jobs", "2"]
    target = tmp_path / "results" / "small.csv"
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while len(results.read(target)) < 3 and time.monotonic() < deadline:
            time.sleep(0.1)
        children = _children(process.pid)
        process.kill()
    assert len(children) >= 2
    deadline = time.monotonic() + 30
    while any(_alive(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(_alive(child) for child in children)
    kept = len(results.read(target))
    run = ExperimentRun(load(file), target, RunSettings(jobs=1))
    assert 3 <= kept == run.kept < run.all


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
