"""The commands `wevent study …`, from the shell's side."""

from __future__ import annotations

from pathlib import Path

import pytest

from wevent.cli.main import main
from wevent.study import results

SMALL = """
title = "Small"
data = ["sin"]
mechanisms = ["pbd", "uniform"]
rounds = 2
[vary]
epsilon = [0.6, 1.0]
[base]
window = 40
slots = 50
users = 100
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_run_writes_rows_beside_the_file_and_goes_on(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Results lie in results/ beside the file; the same command again runs nothing."""
    assert main(["study", "run", str(file), "--jobs", "1"]) == 0
    target = file.parent / "results" / "small.csv"
    assert str(target) in capsys.readouterr().out
    rows = results.read(target)
    assert len(rows) == 8
    assert main(["study", "run", str(file), "--jobs", "1"]) == 0
    assert results.read(target) == rows  # times too: nothing was run again
    assert main(["study", "run", str(file), "--jobs", "1", "--fresh", "--rounds", "1"]) == 0
    assert len(results.read(target)) == 4


def test_quick_runs_apart(file: Path) -> None:
    """Quick results lie in a folder of their own and never mix with real ones."""
    assert main(["study", "run", str(file), "--jobs", "1", "--quick"]) == 0
    rows = results.read(file.parent / "results" / "quick" / "small.csv")
    assert {row["ran_slots"] for row in rows} == {"400"}
    assert not (file.parent / "results" / "small.csv").exists()


def test_an_experiment_may_show_the_runs_of_another(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Running it runs the other one."""
    other = file.with_name("shown.toml")
    other.write_text(SMALL.replace("title", 'runs = "small"\ntitle'))
    assert main(["study", "run", str(other), "--jobs", "1"]) == 0
    assert (file.parent / "results" / "small.csv").exists()
    assert "shows the runs of small" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('"uniform"', '"unifrom"'), "no mechanism is called 'unifrom'; known are pbd"),
        (('"sin"', '"cos"'), "no data set is called 'cos'; known are sin"),
        (("rounds", "round"), "no key is called 'round'; known are title"),
        (('"sin"', '"taxi"'), "T-Drive"),
    ],
)
def test_mistakes_take_one_line(
    file: Path, change: tuple[str, str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, one line on standard error that lists the known names or the files that are missing."""
    file.write_text(SMALL.replace(*change))
    assert main(["study", "run", str(file), "--folder", str(file.parent)]) == 2
    said = capsys.readouterr().err
    assert says in said and said.startswith("wevent: ") and said.count("\n") == 1


def test_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    """Data sets, mechanisms, metrics."""
    assert main(["study", "list"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("tlns", "nycflights", "dpba", "rescuedp", "lpa", "ajsd", "awd_plane"))


@pytest.mark.parametrize("words", [["--epsilon", "0"], ["--window", "0"], ["--rounds", "x"], ["--presence", "never"]])
def test_numbers_out_of_range_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """With the limits in the message, and exit code 2."""
    assert main(["study", "compare", "--data", "sin", "--mechanisms", "pbd", *words]) == 2
    assert "must be" in (said := capsys.readouterr().err) or "is not one of" in said


def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything fails half-way."""
    monkeypatch.setattr("wevent.cli.commands.study.find_spec", lambda name: None)
    assert main(["study", "list"]) == 2
    assert "pip install 'wevent[study]'" in capsys.readouterr().err
