"""Writes the report of a study: one page that works offline, and PNGs, from folders of results and experiments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from wevent.study import results
from wevent.study.experiment import Experiment, load
from wevent.study.protocols.score import PARTS
from wevent.study.reporting import labels, plots
from wevent.study.reporting.page import Html, join, page, picture, tag
from wevent.study.reporting.palette import DARK, LIGHT, Theme
from wevent.study.reporting.prose import say as say_on
from wevent.study.reporting.summary import Panel, panels
from wevent.study.reporting.tables import decisions_table, metric_tables, not_private, parts_table

say = partial(say_on, "report")

ORDER = (
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
    "ratio_of_epsilons",
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
"""The order of the paper; experiments of your own come before, by name."""


@dataclass(frozen=True, slots=True)
class ReportedExperiment:
    """An experiment with its results."""

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
    reported, waiting = [], []
    for experiment in sorted((load(path) for path in experiments_folder.glob("*.toml")), key=_place):
        rows = results.read(results_folder / f"{experiment.runs or experiment.name}.csv")
        found = panels(experiment, rows)
        if found:
            reported.append(ReportedExperiment(experiment, found, [row for panel in found for row in panel.all_rows()]))
        else:
            waiting.append(experiment)
    out_folder.mkdir(parents=True, exist_ok=True)
    sections = [_section(each, out_folder) for each in reported]
    path = out_folder / "index.html"
    path.write_text(page(say("title"), _head(reported, waiting), *sections), encoding="utf-8")
    return path


def _place(experiment: Experiment) -> tuple[int, str]:
    return ORDER.index(experiment.name) if experiment.name in ORDER else -1, experiment.name


def _head(reported: Sequence[ReportedExperiment], waiting: Sequence[Experiment]) -> Html:
    lines = []
    for experiment in (each.experiment for each in reported):
        label = [" ", not_private()] if experiment.protocol == "printed" else []
        lines.append(tag("li", tag("a", experiment.title, href=f"#{experiment.name}"), *label))
    pieces = [tag("h1", say("title")), tag("p", say("reading")), _promise(reported)]
    if lines:
        pieces.append(tag("nav", tag("h3", say("contents"), id="contents"), tag("ol", *lines)))
    if waiting:
        names = labels.listing([experiment.name for experiment in waiting])
        pieces.append(tag("p", say("waiting", names=names), class_="soft"))
    return tag("header", *pieces)


def _promise(reported: Sequence[ReportedExperiment]) -> Html:
    """Whether every window was kept, over everything that is claimed to keep them."""
    honest = {results.key_of(row): row for each in reported for row in each.rows if row["protocol"] == "honest"}
    if not honest:
        return Html("")
    worst = max(float(row["worst_window"]) for row in honest.values())
    says, mood = ("kept", "good") if worst <= 1 else ("broken", "alarm")
    said = say(says, runs=labels.many(len(honest), "run"), worst=f"{worst:.3f}")
    return tag("p", tag("strong", said, class_=mood))


def _section(reported: ReportedExperiment, out: Path) -> Html:
    experiment = reported.experiment
    pieces = [tag("h2", experiment.title), tag("a", say("up"), href="#contents", class_="up")]
    if experiment.protocol == "printed":
        pieces += [tag("p", not_private(), " ", say("printed"))]
    if experiment.about:
        pieces.append(tag("p", experiment.about))
    pieces.append(_settings(reported))
    parts = [name for name in experiment.show if name in PARTS]
    for metric in [name for name in experiment.show if name not in parts]:
        pieces += [tag("h3", labels.metric(metric)), _figure(reported, metric, out)]
        pieces += metric_tables(experiment, reported.panels, metric)
    if parts:
        pieces += [tag("h3", say("parts")), _figure(reported, None, out)]
        pieces += [parts_table(experiment, panel) for panel in reported.panels]
    pieces += [tag("h3", say("decisions")), decisions_table(reported.panels)]
    return tag("section", *pieces, id=experiment.name)


def _settings(reported: ReportedExperiment) -> Html:
    experiment, rows = reported.experiment, reported.rows
    private = {row["private"] for row in rows}
    facts: dict[str, str] = {"protocol": experiment.protocol}
    if "accounted, not proven" in private:
        doubtful = dict.fromkeys(labels.mechanism(row["mechanism"]) for row in rows if "not proven" in row["private"])
        note = say("not_proven", names=labels.listing(list(doubtful)))
        facts["privacy"] = join(say("enforced"), "; ", tag("span", note, class_="doubt"))
    elif private == {"yes"}:
        facts["privacy"] = say("enforced")
    for name, values in experiment.vary:
        shown = ", ".join(str(value) for value in values)
        facts[f"varied: {name}"] = say("varied", name=labels.parameter(name), values=shown)
    if experiment.base:
        facts["fixed"] = ", ".join(f"{name} {value}" for name, value in experiment.base)
    rounds = [len(found) for panel in reported.panels for found in panel.rows.values()]
    facts["rounds"] = labels.span(min(rounds), max(rounds), "round")
    if min(rounds) < experiment.rounds:
        facts["rounds"] = say("fewer_rounds", rounds=facts["rounds"], planned=experiment.rounds)
    run = {panel.data for panel in reported.panels}
    if missing := [name for name in experiment.data + experiment.downloads if name not in run]:
        facts["not run"] = say("not_run", names=labels.listing(missing))
    if experiment.paper:
        facts["in the paper"] = experiment.paper
    facts["commit"] = ", ".join(sorted({row["commit"] or say("no_commit") for row in rows}))
    facts["seed"] = ", ".join(sorted({row["seed"] for row in rows}))
    facts["results"] = f"{experiment.runs or experiment.name}.csv"
    return tag("dl", *(join(tag("dt", key), tag("dd", value)) for key, value in facts.items()))


def _figure(reported: ReportedExperiment, metric: str | None, out: Path) -> Html:
    experiment = reported.experiment
    paint: Callable[[Theme], bytes]
    if metric is None:
        words, stem = say("parts_figure", title=experiment.title), experiment.name
        paint = partial(plots.draw_parts, experiment, reported.panels)
    else:
        words = say("figure", title=experiment.title, metric=labels.metric(metric))
        stem, paint = f"{experiment.name}-{metric}", partial(plots.draw, experiment, reported.panels, metric)
    light = paint(LIGHT)
    (out / f"{stem}.png").write_bytes(light)
    caption = tag("figcaption", f"{words}. ", *([not_private()] if experiment.protocol == "printed" else []))
    return tag("figure", picture(light, paint(DARK), say("figure_text", words=words)), caption)
