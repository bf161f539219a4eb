"""The page on what the sharper mechanisms gain: made from result files, with means over shared rounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.study.reporting.made_up import row

from wevent.errors import InvalidSetting
from wevent.study import results
from wevent.study.experiment import Point
from wevent.study.reporting import frontier as page
from wevent.study.reporting.frontier import EXPERIMENTS, OTHERS, OURS, PAPER, compare, frontier, geometric

ROOT = Path(__file__).parents[3]


def made(point: Point, number: int = 1, **errors: float) -> list[dict[str, str]]:
    """One round of all mechanisms; 1,000 where no error is given."""
    return [row(point, name, errors.get(name, 1_000.0), number=number) for name in (*OURS, *PAPER, *OTHERS)]


def write(folder: Path, *rows: dict[str, str]) -> None:
    results.write(folder / f"{EXPERIMENTS[0]}.csv", list(rows))
    results.write(folder / f"{EXPERIMENTS[1]}.csv", [row for row in rows if row["epsilon"] == "0.6"])


def test_the_page_is_made_of_the_files() -> None:
    """What stands in the docs is what the checked-in results say.

    If it is not: `wevent study report --frontier docs/explanation/frontier.md`.
    """
    written = (ROOT / "docs/explanation/frontier.md").read_text("utf-8")
    assert written == frontier(ROOT / "experiments/results")


def test_means_over_shared_rounds() -> None:
    """Rounds that some mechanism has not run do not count, and a setting without shared rounds is left out."""
    point, incomplete = Point("sin", 0.6, 120), Point("sin", 0.8, 120)
    rows = made(point, 1, auto=10.0) + made(point, 2, auto=30.0) + [row(point, "auto", 500.0, number=3)]
    rows += [row(incomplete, "auto", 1.0)]
    (line,) = compare(rows)
    assert (line.rounds, line.errors["auto"]) == (2, 20.0)


def test_geometric_means() -> None:
    """The error over the least one of others, setting by setting."""
    lines = compare(made(Point("sin"), auto=10.0, pba=40.0) + made(Point("log"), auto=30.0, dpbd=30.0))
    assert geometric(lines, "auto", PAPER) == pytest.approx(0.5)
    assert lines[1].best(PAPER) == (40.0, "pba")


def test_what_is_worse_is_said(tmp_path: Path) -> None:
    """A setting above the best of all others is named with its factor."""
    write(tmp_path, *made(Point("sin", 0.6, 120), auto=12.0, auto_pooled=5.0, sample=10.0))
    text = frontier(tmp_path)
    assert "| `auto` | 1/83.33 | 1/0.83 | 1 of 1 | sin E = 0.6, w = 120: ×1.20 |" in text
    assert "| `auto_pooled` | 1/200.00 | 1/2.00 | 0 of 1 | none |" in text
    assert "10.0 (Sample)" in text


def test_floor() -> None:
    """Of independent coins N·p(1-p) in the mean over slots; nothing is known of recorded people."""
    assert page.floor_of("sin") == pytest.approx(682, abs=1)
    assert page.floor_of("nycflights") is None


def test_page_and_picture(tmp_path: Path) -> None:
    """Both are written; without results nothing is, and the error says how to make them."""
    with pytest.raises(InvalidSetting, match="wevent study run frontier"):
        page.write_frontier(tmp_path, ROOT / "experiments", tmp_path / "page.md")
    write(tmp_path, *made(Point("sin", 0.6, 120)), *made(Point("sin", 0.8, 120)))
    path = page.write_frontier(tmp_path, ROOT / "experiments", tmp_path / "docs" / "page.md")
    assert path.read_text("utf-8") == frontier(tmp_path)
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
