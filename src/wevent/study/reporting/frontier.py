"""Writes the page and the picture on what the sharper mechanisms gain, from result files alone.

The prose stands in `templates/frontier.md`. Mechanisms are compared on the same data and requirements, round by round.
"""

from __future__ import annotations

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
from wevent.study.metrics import geometric_mean
from wevent.study.reporting import labels
from wevent.study.reporting.plots import draw
from wevent.study.reporting.prose import fill, say
from wevent.study.reporting.reproduction_tables import table
from wevent.study.reporting.summary import panels
from wevent.study.results import Row

EXPERIMENTS = ("frontier", "frontier_by_window")
PAPER = ("pbd", "pba", "dpbd", "dpba")
OTHERS = ("bd", "ba", "spas", "lbu", "plbu", "fast", "rescuedp", "pegasus", "uniform", "sample")
OURS = ("auto", "auto_pooled")


@dataclass(frozen=True, slots=True)
class FrontierRow:
    """One data set, strictest epsilon and longest window: mean errors over the rounds that every mechanism has run."""

    data: str
    epsilon: float
    window: int
    rounds: int
    errors: dict[str, float]

    def best(self, names: Iterable[str]) -> tuple[float, str]:
        """The least error among mechanisms, and whose it is."""
        return min((self.errors[name], name) for name in names)


def write_frontier(results_folder: Path, experiments_folder: Path, path: Path) -> Path:
    """Write the page, and beside it the picture of error against epsilon; returns the path of the page.

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
    compared = compare(rows)
    if not compared:
        raise InvalidSetting(f"no setting of {EXPERIMENTS[0]} has been run with every mechanism; run it again")
    rounds = [each.rounds for each in compared]
    sets = {data: [each for each in compared if each.data == data] for data in sorted({x.data for x in compared})}
    return fill(
        "frontier.md",
        rounds=labels.span(min(rounds), max(rounds), "round"),
        worst=f"{max(float(row['worst_window']) for row in rows if row['mechanism'] in OURS):.3f}",
        settings=len(compared),
        paper=labels.listing([labels.mechanism(name) for name in PAPER]),
        others=labels.listing([labels.mechanism(name) for name in OTHERS]),
        means=_means(compared),
        sets="\n".join(_section(data, rows_of) for data, rows_of in sets.items()).strip(),
    )


def compare(rows: Iterable[Row]) -> list[FrontierRow]:
    """Mean errors of every setting that all mechanisms have run, over the rounds that all have; in order."""
    errors: dict[tuple[str, float, int], dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        setting = row["data"], float(row["epsilon"]), int(row["window"])
        errors[setting][row["mechanism"]][row["round"]] = float(row["amre"])
    compared, names = [], (*OURS, *PAPER, *OTHERS)
    for setting, by_name in sorted(errors.items(), key=lambda item: item[0]):
        shared = set.intersection(*(set(by_name[name]) for name in names))
        if shared:
            means = {name: fmean(by_name[name][each] for each in sorted(shared, key=int)) for name in names}
            compared.append(FrontierRow(*setting, len(shared), means))
    return compared


def geometric(compared: Sequence[FrontierRow], name: str, against: Iterable[str]) -> float:
    """Geometric mean over settings of an error over the least of others."""
    others = tuple(against)
    return geometric_mean(each.errors[name] / each.best(others)[0] for each in compared)


def _rows(folder: Path) -> list[Row]:
    """Rows of both experiments, each once."""
    found: dict[results.Key, Row] = {}
    for name in EXPERIMENTS:
        path = folder / f"{name}.csv"
        if not path.exists():
            raise InvalidSetting(f"there are no results at {path}; run `wevent study run {name}` first")
        found |= {results.key_of(row): row for row in results.read(path)}
    return list(found.values())


def _means(compared: Sequence[FrontierRow]) -> str:
    rows = []
    for name in OURS:
        first, second = geometric(compared, name, PAPER), geometric(compared, name, OTHERS)
        ratios = [(each.errors[name] / each.best((*PAPER, *OTHERS))[0], each) for each in compared]
        above = sorted((pair for pair in ratios if pair[0] > 1), key=lambda pair: -pair[0])
        settings = [{"data": at.data, "epsilon": f"{at.epsilon:g}", "window": at.window} for _, at in above]
        listed = [
            say("frontier", "above", **setting, ratio=labels.times(ratio))
            for (ratio, _), setting in zip(above, settings, strict=True)
        ]
        count = f"{len(above)} of {len(compared)}"
        words = "; ".join(listed) or say("frontier", "none")
        rows.append([f"`{name}`", f"1/{1 / first:.2f}", f"1/{1 / second:.2f}", count, words])
    head = ["mechanism", "of the paper's best", "of the others' best", "above the best of all", "where, by how much"]
    return table(head, rows, len(head))


def _section(data: str, compared: Sequence[FrontierRow]) -> str:
    floor = floor_of(data)
    said = "" if floor is None else say("frontier", "floor", error=labels.number(floor))
    rows = [
        [
            f"{each.epsilon:g}",
            str(each.window),
            str(each.rounds),
            *(labels.number(each.errors[name]) for name in OURS),
            *(f"{labels.number(error)} ({labels.mechanism(name)})" for error, name in map(each.best, (PAPER, OTHERS))),
        ]
        for each in compared
    ]
    head = ["E", "w", "rounds", *OURS, "best of the paper", "best of the others"]
    return fill("frontier_set.md", data=data, floor=said, table=table(head, rows, len(head)))


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
