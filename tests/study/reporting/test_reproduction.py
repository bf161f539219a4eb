"""What of the paper is reproduced, from result files alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.study.reporting.made_up import row, whole_study

from wevent.errors import InvalidSetting
from wevent.study import results
from wevent.study.experiment import Point
from wevent.study.reporting.comparisons import read_runs
from wevent.study.reporting.reproduction import reproduction, write_reproduction

ROOT = Path(__file__).parents[3]


def section(text: str, title: str) -> str:
    return next(part for part in text.split("\n## ") if part.startswith(title))


def test_the_page_is_made_from_the_results() -> None:
    """The page that is checked in is what the checked-in result files give.

    If it is not: `wevent study report --reproduction docs/explanation/reproduction.md`.
    """
    written = (ROOT / "docs/explanation/reproduction.md").read_text("utf-8")
    assert written == reproduction(ROOT / "experiments/results")


def test_perfect_agreement_is_said(tmp_path: Path) -> None:
    """Where all means are the paper's, all values are within every factor and none is listed as outside."""
    whole_study(tmp_path, {})
    text = reproduction(tmp_path)
    assert "all 16 values lie within a factor of 1.5 and all 16 values within 2" in text
    assert "Over both tables all 144 values lie within 1.5 and all 144 values within 2." in text
    assert section(text, "`printed` at").count("×1.00") == 32
    assert "Neither mean nor median" not in text


def test_disagreement_is_counted_and_listed(tmp_path: Path) -> None:
    """PBA at 1.7 and BD at 3 times the paper: 12 of 16 within 1.5, 14 within 2, and the farthest is named."""
    whole_study(tmp_path, {("printed", "pba"): 1.7, ("printed", "bd"): 3.0})
    text = reproduction(tmp_path)
    assert "12 of 16 values lie within a factor of 1.5 and 14 of 16 values within 2" in text
    assert re.search(r"The farthest is BD on \w+ \(E = [\d.]+, w = \d+\): ×3.00 in the mean, ×3.00 in the median", text)
    outside = section(text, "`printed` at").partition("Neither")[2]
    assert outside.count("BD on") == 2 and outside.count("PBA on") == 2 and "and 24 others" in text


@pytest.mark.parametrize(("factor", "word"), [(0.5, "below"), (1.0, "level with"), (2.0, "above")])
def test_words_follow_the_numbers(tmp_path: Path, factor: float, word: str) -> None:
    """Whether PBA is below, level with or above BA is decided by the files, test by test."""
    ratios = {("honest", name): 1.0 for name in ("ba", "ba_deviation", "pba")}
    whole_study(tmp_path, ratios, data=("sin",))
    rows = [row for row in results.read(tmp_path / "error_by_epsilon.csv") if row["mechanism"] != "ba_deviation"]
    pba = [row for row in rows if row["mechanism"] == "pba"]
    rows += [{**row, "mechanism": "ba_deviation", "amre": str(float(row["amre"]) / factor)} for row in pba]
    results.write(tmp_path / "error_by_epsilon.csv", rows)
    said = section(reproduction(tmp_path), "BA hinges")
    assert f"{word} BA with the deviation" in said


def test_orders_are_counted(tmp_path: Path) -> None:
    """An honest PBD a hundred times dearer than printed loses all nine settings to BD, where the paper wins them."""
    whole_study(tmp_path, {("honest", "pbd"): 100.0})
    line = next(line for line in reproduction(tmp_path).splitlines() if line.startswith("| PBD below BD | sin"))
    assert [cell.split(" (")[0].strip() for cell in line.split("|")[3:6]] == ["9 of 9", "9 of 9", "0 of 9"]


def test_windows_are_reported(tmp_path: Path) -> None:
    """BA overspends under `printed` in the made-up files, nobody under `honest`."""
    whole_study(tmp_path, {})
    text = reproduction(tmp_path)
    assert "every window was kept; the fullest of any mechanism held 1.000 of its budget" in text
    assert "Under `printed` BA overspends its own; the fullest, of BA, held 2.4 budgets." in text
    assert "| BA | 2.400 | 1.000 |" in text
    broken = results.read(tmp_path / "error_by_epsilon.csv")
    broken[0]["worst_window"] = "1.00001"
    results.write(tmp_path / "error_by_epsilon.csv", broken)
    assert "**Under `honest` a window was overspent**: it held 1.000010" in reproduction(tmp_path)


def test_the_simplest_come_with_their_results(tmp_path: Path) -> None:
    """With results of Uniform and Sample there is a section on them, without there is none."""
    whole_study(tmp_path, {})
    assert "simplest publishers" not in reproduction(tmp_path)
    errors = {"uniform": 9e9, "sample": 1.0}
    made = [row(Point(data), name, error) for data in ("sin", "log") for name, error in errors.items()]
    results.write(tmp_path / "literature.csv", made)
    said = section(reproduction(tmp_path), "Against the simplest")
    assert "on sin the best of the six, DPBA, is above Sample" in said


def test_runs_of_both_files_count_once(tmp_path: Path) -> None:
    """The setting that both tables share is in both files, and counts as two rounds, not four."""
    whole_study(tmp_path, {})
    runs = read_runs(tmp_path, "printed", ("printed_by_epsilon", "printed_by_window"))
    assert runs.rounds() == (2, 2) and len(runs.compared()) == 144


def test_the_same_files_give_the_same_page(tmp_path: Path) -> None:
    """Written twice, it is the same."""
    whole_study(tmp_path, {})
    first = write_reproduction(tmp_path, tmp_path / "docs/one.md").read_text("utf-8")
    assert first == write_reproduction(tmp_path, tmp_path / "docs/two.md").read_text("utf-8") == reproduction(tmp_path)


def test_without_results_nothing_is_written(tmp_path: Path) -> None:
    """A missing file, or one of quick runs only, is named with the command that makes it."""
    with pytest.raises(InvalidSetting, match="wevent study run printed_by_epsilon"):
        write_reproduction(tmp_path, tmp_path / "page.md")
    whole_study(tmp_path, {})
    quick = [{**row, "slots": "400"} for row in results.read(tmp_path / "error_by_window.csv")]
    results.write(tmp_path / "error_by_window.csv", quick)
    with pytest.raises(InvalidSetting, match=r"error_by_window\.csv holds no complete runs"):
        write_reproduction(tmp_path, tmp_path / "page.md")
    assert not (tmp_path / "page.md").exists()
