"""What the sharper mechanisms gain, written down: result files come in, a page of Markdown and a picture go out.

Every number comes from the files; mechanisms are compared on the same data and requirements, round by round.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

from wevent.errors import InvalidSetting, MissingData
from wevent.study import results
from wevent.study.datasets.catalog import open_stream
from wevent.study.datasets.stream import DataOptions
from wevent.study.datasets.synthetic import SyntheticStream
from wevent.study.experiment import load
from wevent.study.reporting import labels
from wevent.study.reporting.plots import draw
from wevent.study.reporting.summary import panels
from wevent.study.results import Row

EXPERIMENTS = ("frontier", "frontier_by_window")
PAPER = ("pbd", "pba", "dpbd", "dpba")
OTHERS = ("bd", "ba", "spas", "lbu", "plbu", "fast", "rescuedp", "pegasus", "uniform", "sample")
OURS = ("auto", "auto_pooled")


@dataclass(frozen=True, slots=True)
class FrontierSetting:
    """A data set, the strictest budget and the longest window."""

    data: str
    epsilon: float
    window: int


@dataclass(frozen=True, slots=True)
class FrontierRow:
    """One setting: mean errors over the rounds that every mechanism has run."""

    setting: FrontierSetting
    rounds: int
    errors: dict[str, float]

    def best(self, names: Iterable[str]) -> tuple[float, str]:
        """The least error among mechanisms, and whose it is."""
        return min((self.errors[name], name) for name in names)


def write_frontier(results_folder: Path, experiments_folder: Path, path: Path) -> Path:
    """Write the page, and beside it the picture of error against budget; returns the path of the page.

    Guarantees:
        The same result files give the same page.
        A missing file of results raises `InvalidSetting` that says how to make it, and nothing is written.
    """
    text = frontier(results_folder)
    rows = list(results.read(results_folder / f"{EXPERIMENTS[0]}.csv"))
    experiment = load(experiments_folder / f"{EXPERIMENTS[0]}.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".png").write_bytes(draw(experiment, panels(experiment, rows), "amre"))
    path.write_text(text, encoding="utf-8")
    return path


def frontier(results_folder: Path) -> str:
    """The page as text."""
    rows = _rows(results_folder)
    lines = compare(rows)
    if not lines:
        raise InvalidSetting(f"no setting of {EXPERIMENTS[0]} has been run with every mechanism; run it again")
    worst = max(float(row["worst_window"]) for row in rows if row["mechanism"] in OURS)
    tables = [_table(data, [line for line in lines if line.setting.data == data]) for data in _sets(lines)]
    return "\n\n".join([_opening(lines, worst), _means(lines), *tables]) + "\n"


def compare(rows: Iterable[Row]) -> list[FrontierRow]:
    """Mean errors of every setting that all mechanisms have run, over the rounds that all have; in order."""
    errors: dict[FrontierSetting, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        setting = FrontierSetting(row["data"], float(row["epsilon"]), int(row["window"]))
        errors[setting][row["mechanism"]][row["round"]] = float(row["amre"])
    lines = []
    for setting, by_name in sorted(errors.items(), key=lambda one: (one[0].data, one[0].epsilon, one[0].window)):
        names = (*OURS, *PAPER, *OTHERS)
        shared = set.intersection(*(set(by_name[name]) for name in names))
        if shared:
            means = {name: fmean(by_name[name][each] for each in sorted(shared, key=int)) for name in names}
            lines.append(FrontierRow(setting, len(shared), means))
    return lines


def geometric(lines: Sequence[FrontierRow], name: str, against: Iterable[str]) -> float:
    """Geometric mean over settings of an error over the least of others."""
    others = tuple(against)
    return math.exp(fmean(math.log(line.errors[name] / line.best(others)[0]) for line in lines))


def _rows(folder: Path) -> list[Row]:
    """Rows of both experiments, each once."""
    found: dict[results.Key, Row] = {}
    for name in EXPERIMENTS:
        path = folder / f"{name}.csv"
        if not path.exists():
            raise InvalidSetting(f"there are no results at {path}; run `wevent study run {name}` first")
        found |= {results.key_of(row): row for row in results.read(path)}
    return list(found.values())


def _sets(lines: Sequence[FrontierRow]) -> list[str]:
    return sorted({line.setting.data for line in lines})


def _opening(lines: Sequence[FrontierRow], worst: float) -> str:
    least, most = min(line.rounds for line in lines), max(line.rounds for line in lines)
    return f"""# What the sharper mechanisms gain

This page and its picture are made from the files in `experiments/results` by `wevent study report --frontier FILE`;
a test compares it with them. AMRE is the mean squared error of a cell. Protocol `honest`: slots in the order of time,
every window enforced and watched; {labels.span(least, most, "round")} of the same data and requirements for every
mechanism. The fullest window of `auto` and `auto_pooled` held {worst:.3f} of what was allowed.

`auto` assumes nothing. `auto_pooled` assumes at first that what people ask for says nothing about where they are, and
finds out by how much that is wrong. How they work: [sharper](sharper.md).

![Error against budget, all mechanisms](frontier.png)"""


def _means(lines: Sequence[FrontierRow]) -> str:
    rows = []
    for name in OURS:
        first, second = geometric(lines, name, PAPER), geometric(lines, name, OTHERS)
        above = [(line.errors[name] / line.best((*PAPER, *OTHERS))[0], line.setting) for line in lines]
        over = sorted((one for one in above if one[0] > 1), key=lambda one: -one[0])
        said = "; ".join(f"{s.data} E = {s.epsilon:g}, w = {s.window}: {labels.times(ratio)}" for ratio, s in over)
        many = f"{len(over)} of {len(lines)}"
        rows.append(f"| `{name}` | 1/{1 / first:.2f} | 1/{1 / second:.2f} | {many} | {said or 'none'} |")
    body = "\n".join(rows)
    paper, others = (labels.listing([labels.mechanism(name) for name in names]) for names in (PAPER, OTHERS))
    return f"""## In short

Geometric means over {len(lines)} settings of the error, as a part of the least error of any of the paper's own
({paper}) and of any other ({others}); and the settings in which it is above the least error of all of them.

| mechanism | of the paper's best | of the others' best | above the best of all | where, by how much |
| --- | --- | --- | --- | --- |
{body}"""


def _table(data: str, lines: Sequence[FrontierRow]) -> str:
    floor = floor_of(data)
    said = ""
    if floor is not None:
        said = (
            f" People flip a coin in every slot here, which adds {labels.number(floor)} to whatever is shown of a slot "
            "that was not published: no mechanism that publishes seldom can pass that."
        )
    rows = "\n".join(_row(line) for line in lines)
    return f"""## {data}

AMRE.{said}

| E | w | rounds | auto | auto_pooled | best of the paper | best of the others |
| --- | --- | --- | --- | --- | --- | --- |
{rows}"""


def _row(line: FrontierRow) -> str:
    ours = " | ".join(labels.number(line.errors[name]) for name in OURS)
    best = (line.best(PAPER), line.best(OTHERS))
    theirs = " | ".join(f"{labels.number(error)} ({labels.mechanism(name)})" for error, name in best)
    return f"| {line.setting.epsilon:g} | {line.setting.window} | {line.rounds} | {ours} | {theirs} |"


@cache
def floor_of(data: str) -> float | None:
    """Mean over slots of the variance of a count of independent coins; None if it is not known what people do."""
    try:
        stream = open_stream(data, DataOptions())
    except MissingData:
        return None
    if not isinstance(stream, SyntheticStream):
        return None
    return float((stream.users * stream.chances * (1 - stream.chances)).mean())
