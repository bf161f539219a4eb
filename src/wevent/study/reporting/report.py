"""The report of a study: folders of results and experiments come in, one page that works offline and PNGs go out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wevent.study import results
from wevent.study.experiment import Experiment, load
from wevent.study.protocols.score import PARTS
from wevent.study.reporting import labels, plots
from wevent.study.reporting.page import Html, join, page, picture, tag
from wevent.study.reporting.palette import DARK, LIGHT, Theme
from wevent.study.reporting.summary import Panel, panels
from wevent.study.reporting.tables import decisions_table, metric_tables, parts_table

_READING = (
    "Each cell of a table gives the mean over rounds, then the lines that its row names: the median, the least and the "
    "greatest round and, where there is one, the value that the paper prints and how many times as large our mean is. "
    "The least mean of a column is bold. Plots join medians; their bars reach from the least round to the greatest; "
    "hollow markers are the paper's values."
)
_PRINTED = (
    "This protocol repeats what the authors' released code did, to explain the printed figures. Windows are overspent: "
    "nothing on these lines may be published."
)
_ORDER = (
    "error_by_epsilon",
    "error_by_window",
    "flights_by_epsilon",
    "flights_by_window",
    "frontier",
    "frontier_by_window",
    "ajsd_by_epsilon",
    "ajsd_by_window",
    "awd_by_epsilon",
    "awd_by_window",
    "awd_plane_by_epsilon",
    "ratio_of_budgets",
    "ratio_of_windows",
    "time_by_epsilon",
    "time_by_window",
    "dimension_nycflights",
    "dimension_taxi",
    "dimension_foursquare",
    "decomposition",
    "literature",
    "printed_by_epsilon",
    "printed_by_window",
)
"""The order of the paper; experiments of one's own come before, by name."""


@dataclass(frozen=True, slots=True)
class ReportedExperiment:
    """An experiment with whatever there is to show of it."""

    experiment: Experiment
    panels: tuple[Panel, ...]
    rows: Sequence[results.Row] = field(repr=False)


def write_report(results_folder: Path, experiments_folder: Path, out_folder: Path) -> Path:
    """Write `index.html` and the PNGs of all experiments that have results; returns the page's path.

    Guarantees:
        The page loads nothing from elsewhere: pictures and style are inside.
        Everything that comes from a file is escaped.
        Results of the protocol `printed` are labelled NOT PRIVATE, in tables and pictures.
        The same results give the same page.
    """
    every = sorted((load(path) for path in experiments_folder.glob("*.toml")), key=_place)
    shown, waiting = [], []
    for experiment in every:
        rows = results.read(results_folder / f"{experiment.runs or experiment.name}.csv")
        found = panels(experiment, rows)
        if found:
            shown.append(ReportedExperiment(experiment, found, [row for one in found for row in one.all_rows()]))
        else:
            waiting.append(experiment)
    out_folder.mkdir(parents=True, exist_ok=True)
    sections = [_section(one, out_folder) for one in shown]
    path = out_folder / "index.html"
    title = "Private streams: mechanisms compared"
    path.write_text(page(title, _head(title, shown, waiting), *sections), encoding="utf-8")
    return path


def _place(experiment: Experiment) -> tuple[int, str]:
    return _ORDER.index(experiment.name) if experiment.name in _ORDER else -1, experiment.name


def _head(title: str, shown: Sequence[ReportedExperiment], waiting: Sequence[Experiment]) -> Html:
    lines = [
        tag(
            "li",
            tag("a", one.experiment.title, href=f"#{one.experiment.name}"),
            *([" ", _not_private()] if one.experiment.protocol == "printed" else []),
        )
        for one in shown
    ]
    pieces = [tag("h1", title), tag("p", _READING), _promise(shown)]
    if lines:
        pieces.append(tag("nav", tag("h3", "Contents", id="contents"), tag("ol", *lines)))
    if waiting:
        names = labels.listing([one.name for one in waiting])
        pieces.append(tag("p", f"Without results so far: {names}.", class_="soft"))
    return tag("header", *pieces)


def _promise(shown: Sequence[ReportedExperiment]) -> Html:
    """Whether every window was kept, over everything that is claimed to keep them."""
    honest = {results.key_of(row): row for one in shown for row in one.rows if row["protocol"] == "honest"}
    if not honest:
        return Html("")
    worst = max(float(row["worst_window"]) for row in honest.values())
    if worst <= 1:
        says = (
            f"Every window was kept: in {labels.many(len(honest), 'run')} the fullest held {worst:.3f} of its budget."
        )
        return tag("p", tag("strong", says, class_="good"))
    return tag("p", tag("strong", f"A WINDOW WAS OVERSPENT: {worst:.3f} times its budget.", class_="alarm"))


def _section(one: ReportedExperiment, out: Path) -> Html:
    experiment = one.experiment
    pieces = [tag("h2", experiment.title), tag("a", "↑ contents", href="#contents", class_="up")]
    if experiment.protocol == "printed":
        pieces += [tag("p", _not_private(), " ", _PRINTED)]
    if experiment.about:
        pieces.append(tag("p", experiment.about))
    pieces.append(_settings(one))
    parts = [name for name in experiment.show if name in PARTS]
    for metric in [name for name in experiment.show if name not in parts]:
        pieces += [tag("h3", labels.metric(metric)), _figure(one, metric, out)]
        pieces += metric_tables(experiment, one.panels, metric)
    if parts:
        pieces += [tag("h3", "Expected squared error, by part"), _figure(one, None, out)]
        pieces += [parts_table(experiment, panel) for panel in one.panels]
    pieces += [tag("h3", "What became of the slots"), decisions_table(one.panels)]
    return tag("section", *pieces, id=experiment.name)


def _settings(one: ReportedExperiment) -> Html:
    experiment = one.experiment
    said = {row["private"] for row in one.rows}
    facts: dict[str, str] = {"protocol": experiment.protocol}
    if "accounted, not proven" in said:
        doubtful = dict.fromkeys(
            labels.mechanism(row["mechanism"]) for row in one.rows if "not proven" in row["private"]
        )
        note = f"{labels.listing(list(doubtful))}: accounted, not proven"
        facts["privacy"] = join("every window enforced; ", tag("span", note, class_="doubt"))
    elif said == {"yes"}:
        facts["privacy"] = "every window enforced"
    for name, values in experiment.vary:
        facts[f"varied: {name}"] = f"{labels.parameter(name)}: {', '.join(str(value) for value in values)}"
    if experiment.base:
        facts["fixed"] = ", ".join(f"{name} {value}" for name, value in experiment.base)
    rounds = [len(some) for panel in one.panels for some in panel.rows.values()]
    facts["rounds"] = labels.span(min(rounds), max(rounds), "round")
    if min(rounds) < experiment.rounds:
        facts["rounds"] = f"{facts['rounds']} of {experiment.rounds} that the experiment asks for"
    missing = [name for name in experiment.data + experiment.downloads if name not in {p.data for p in one.panels}]
    if missing:
        facts["not run"] = f"{labels.listing(missing)} (a download, or still to come)"
    if experiment.paper:
        facts["in the paper"] = experiment.paper
    facts["commit"] = ", ".join(sorted({row["commit"] or "outside a repository" for row in one.rows}))
    facts["seed"] = ", ".join(sorted({row["seed"] for row in one.rows}))
    facts["results"] = f"{experiment.runs or experiment.name}.csv"
    return tag("dl", *(join(tag("dt", key), tag("dd", value)) for key, value in facts.items()))


def _figure(one: ReportedExperiment, metric: str | None, out: Path) -> Html:
    experiment = one.experiment
    paint: Callable[[Theme], bytes]
    if metric is None:
        words, stem = f"{experiment.title}: shares, and the whole above each bar", experiment.name
        paint = lambda theme: plots.draw_parts(experiment, one.panels, theme)  # noqa: E731
    else:
        words, stem = f"{experiment.title}: {labels.metric(metric)}", f"{experiment.name}-{metric}"
        paint = lambda theme: plots.draw(experiment, one.panels, metric, theme)  # noqa: E731
    light = paint(LIGHT)
    (out / f"{stem}.png").write_bytes(light)
    caption = tag("figcaption", f"{words}. ", *([_not_private()] if experiment.protocol == "printed" else []))
    return tag("figure", picture(light, paint(DARK), f"{words}; the table below has the numbers"), caption)


def _not_private() -> Html:
    return tag("span", "NOT PRIVATE", class_="label alarm")
