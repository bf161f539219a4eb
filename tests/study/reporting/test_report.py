"""The page of a study."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.study.reporting.made_up import Error, row, rows

from wevent.study import results
from wevent.study.experiment import Point, load
from wevent.study.reporting import plots
from wevent.study.reporting.report import write_report

HONEST = """
title = "Mine & <yours>"
about = "Half > a <script>alert(1)</script>"
paper = "Table: <i>"
data = ["sin"]
downloads = ["taxi"]
mechanisms = ["pbd", "ba", "spas"]
rounds = 3
[vary]
epsilon = [0.4, 0.6]
"""
PRINTED = 'title = "As it was"\nprotocol = "printed"\ndata = ["sin"]\nmechanisms = ["ba"]\nrounds = 2\n'
ERRORS: dict[str, Error] = {"pbd": (10_000.0, 20_000.0, 60_000.0), "ba": 40_000.0, "spas": 50_000.0}


class Seen(HTMLParser):
    """Tags and texts of a page; complains about tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.bold: list[str] = []
        self.cells: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.loads += [given[key] or "" for key in ("src", "srcset") if key in given]
        self.loads += [given["href"] or ""] if "href" in given else []
        if tag not in ("meta", "img", "source"):
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)
        if "td" in self.open:
            self.cells[-1] += f"{data}\n"
            if self.open[-1] == "b":
                self.bold.append(data)


def fill(folder: Path) -> Path:
    """An honest experiment and one as printed, with made-up results, and one without any."""
    for name, text in (("honest", HONEST), ("printed", PRINTED), ("later", HONEST)):
        (folder / f"{name}.toml").write_text(text)
    honest, printed = load(folder / "honest.toml"), load(folder / "printed.toml")
    results.write(folder / "results/honest.csv", rows(honest, ERRORS, private={"spas": "accounted, not proven"}))
    results.write(folder / "results/printed.csv", rows(printed, ERRORS))
    return folder


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study to change."""
    return fill(tmp_path)


@pytest.fixture
def unpainted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any picture does where only the words matter."""
    for name in ("draw", "draw_parts"):
        monkeypatch.setattr(plots, name, lambda *given: b"picture")


@dataclass(frozen=True)
class Made:
    """A study that has been reported, to look at only."""

    folder: Path
    text: str
    seen: Seen


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A page for all tests that only read it."""
    folder = fill(tmp_path_factory.mktemp("study"))
    return Made(folder, *report(folder))


def report(study: Path) -> tuple[str, Seen]:
    path = write_report(study / "results", study, study / "out")
    assert path == study / "out/index.html"
    seen = Seen()
    seen.feed(text := path.read_text("utf-8"))
    assert seen.open == []
    return text, seen


def test_the_page_needs_nothing_from_elsewhere(made: Made) -> None:
    """Pictures are inside, links lead to places on the page, there is no script and no address."""
    text, seen = made.text, made.seen
    assert seen.loads and all(link.startswith(("data:image/png;base64,", "#")) for link in seen.loads)
    assert "://" not in text and "<script" not in text and "url(" not in text and "@import" not in text
    targets = {link[1:] for link in seen.loads if link.startswith("#")}
    assert targets == set(re.findall(r' id="([^"]+)"', text))


def test_everything_is_escaped(made: Made) -> None:
    """Titles, descriptions and sources come out as they were written, not as HTML."""
    text, seen = made.text, made.seen
    assert "Mine &amp; &lt;yours&gt;" in text and "&lt;script&gt;" in text
    said = "".join(seen.words)
    assert "Mine & <yours>" in said and "Half > a <script>alert(1)</script>" in said and "Table: <i>" in said


def test_the_best_of_each_column_is_bold(made: Made) -> None:
    """PBD has the least mean at both budgets; where only one mechanism ran, none is best."""
    assert made.seen.bold == ["30,000", "30,000"]


def test_a_cell_has_mean_median_spread_and_the_paper_with_the_ratio(made: Made) -> None:
    """PBD at E = 0.6: mean 30,000, median 20,000, from 10,000 to 60,000; the paper has 796,008."""
    assert "30,000\n20,000\n10,000 – 60,000\n796,000\n×0.0377\n" in made.seen.cells


def test_labels(made: Made) -> None:
    """`printed` is NOT PRIVATE in contents, section, figure and table; SPAS is accounted, not proven."""
    text, seen = made.text, made.seen
    assert text.count('<span class="label alarm">NOT PRIVATE</span>') >= 3
    honest, _, printed = text.partition('<section id="printed">')
    assert "NOT PRIVATE" not in honest.partition('<section id="honest">')[2]
    assert printed.count("NOT PRIVATE") + printed.count("not private") >= 3
    assert 'SPAS <span class="doubt note">accounted, not proven</span>' in text
    assert '<span class="alarm">3.500</span>' in printed
    assert "Every window was kept: in 18 runs the fullest held 1.000 of its budget." in "".join(seen.words)


def test_settings_rounds_and_commit_are_said(made: Made) -> None:
    """What was run, how often, from which commit; what was left out, and what has no results."""
    said = " ".join(made.seen.words)
    commit = results.read(made.folder / "results/honest.csv")[0]["commit"] or "outside a repository"
    for words in ("3 rounds", "100 slots; 50 users; 2 cells", commit, "taxi (a download, or still to come)"):
        assert words in said
    assert "Without results so far: later." in said


def test_pngs_lie_beside_the_page(made: Made) -> None:
    """One for each experiment and metric."""
    assert sorted(path.name for path in (made.folder / "out").glob("*.png")) == ["honest-amre.png", "printed-amre.png"]


@pytest.mark.slow
def test_the_same_results_give_the_same_page(made: Made, study: Path) -> None:
    """Nothing of the day, the machine or the folder is in it."""
    assert report(study)[0] == made.text


@pytest.mark.usefixtures("unpainted")
def test_an_unfinished_run_says_so(study: Path) -> None:
    """One round of three is shown as one of three."""
    results.write(study / "results/honest.csv", [row(Point("sin", epsilon=0.6), "pbd", 5.0)])
    _, seen = report(study)
    assert "1 round of 3 that the experiment plans" in " ".join(seen.words)


@pytest.mark.usefixtures("unpainted")
def test_an_overspent_window_cannot_be_overlooked(study: Path) -> None:
    """Should a file hold one under `honest`, the page says so at its head."""
    path = study / "results/honest.csv"
    broken: list[dict[str, Any]] = results.read(path)
    broken[0]["worst_window"] = "1.25"
    results.write(path, broken)
    assert "A WINDOW WAS OVERSPENT: 1.250 times its budget." in report(study)[0]


@pytest.mark.slow
def test_parts_and_times_are_shown(study: Path) -> None:
    """An experiment that shows the runs of another: its parts as a table, its times in milliseconds."""
    shown = '"change_noise", "release_bias", "seconds_per_slot"'
    text = HONEST.replace("rounds = 3", f'rounds = 3\nruns = "honest"\nshow = [{shown}]')
    (study / "parts.toml").write_text(text)
    _, seen = report(study)
    said = " ".join(seen.words)
    assert "Expected squared error, by part" in said and "release: squared bias" in said
    assert "in 18 runs" in said  # shown twice, run once
    assert "milliseconds per slot" in said and "2.00\n2.00\n2.00 – 2.00\n" in seen.cells
    assert (study / "out/parts.png").exists() and (study / "out/parts-seconds_per_slot.png").exists()


def test_nothing_at_all_is_a_page_too(tmp_path: Path) -> None:
    """Without experiments and results there is a page that shows none."""
    assert write_report(tmp_path / "none", tmp_path, tmp_path / "out").read_text("utf-8").endswith("</html>\n")
