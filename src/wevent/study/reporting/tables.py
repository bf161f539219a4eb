"""Makes the HTML tables of a report from panels of results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wevent.study.experiment import Experiment
from wevent.study.protocols.score import PARTS
from wevent.study.reporting import labels
from wevent.study.reporting.page import Html, join, tag
from wevent.study.reporting.prose import say
from wevent.study.reporting.summary import Panel, Stat, Where

_DOUBT = "accounted, not proven"
_SPREAD = ("median", "least – greatest")
_PAPER = ("paper", "our mean / paper")


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column of a table: a place of a panel."""

    head: Html
    panel: Panel
    where: Where


def metric_tables(experiment: Experiment, panels: Sequence[Panel], metric: str) -> list[Html]:
    """A table for each data set, with a column for each place; where nothing varies, one for all data sets.

    Guarantees:
        The least mean of each column is bold, and nothing else in it.
    """
    if experiment.vary:
        return [metric_table(experiment, _caption(panel), _places(panel), metric) for panel in panels]
    columns = [TableColumn(_stacked(panel), panel, ()) for panel in panels]
    return [metric_table(experiment, Html(""), columns, metric)]


def metric_table(experiment: Experiment, caption: Html, columns: Sequence[TableColumn], metric: str) -> Html:
    """A metric, mechanism by mechanism: mean, median, least and greatest round, and what the paper prints."""
    lines = []
    for name in dict.fromkeys(name for column in columns for name in column.panel.mechanisms):
        panel = next(column.panel for column in columns if name in column.panel.mechanisms)
        in_paper = any(column.panel.printed(metric, name, column.where) is not None for column in columns)
        header = _header(name, _private(panel, name), _SPREAD + (_PAPER if in_paper else ()))
        lines.append(tag("tr", header, *(_cell(column, metric, name) for column in columns)))
    return _table(experiment, [column.head for column in columns], lines, caption)


def parts_table(experiment: Experiment, panel: Panel) -> Html:
    """The parts of the error of budget selection, their means over rounds."""
    lines = []
    for name in panel.mechanisms:
        for part in PARTS:
            stats = [panel.stat(part, name, where) for where in panel.places]
            note = tag("span", labels.metric(part), class_="note")
            header = tag("th", labels.mechanism(name), " ", note, scope="row")
            lines.append(tag("tr", header, *(tag("td", _mean(found)) for found in stats)))
    return _table(experiment, [column.head for column in _places(panel)], lines, _caption(panel))


def decisions_table(panels: Sequence[Panel]) -> Html:
    """What became of the slots, over all places and rounds, and the fullest window."""
    head = ["mechanism", "published", "skipped", "nullified", "worst window", "ms per slot"]
    lines = []
    for name in dict.fromkeys(name for panel in panels for name in panel.mechanisms):
        rows = [row for panel in panels for (other, _), found in panel.rows.items() if other == name for row in found]
        slots = sum(int(row["ran_slots"]) for row in rows)
        shares = [sum(int(row[what]) for row in rows) / slots for what in ("published", "skipped", "nullified")]
        worst = max(float(row["worst_window"]) for row in rows)
        time = 1000 * sum(float(row["seconds_per_slot"]) for row in rows) / len(rows)
        window = tag("span", f"{worst:,.3f}", class_="alarm") if worst > labels.OVERSPENT else f"{worst:.3f}"
        cells = [*(f"{100 * share:.1f} %" for share in shares), window, labels.number(time)]
        lines.append(tag("tr", _header(name, rows[0]["private"], ()), *(tag("td", cell) for cell in cells)))
    header = tag("tr", *(tag("th", word, scope="col") for word in head))
    caption = tag("caption", say("report", "decisions_caption"))
    return _wide(tag("table", caption, tag("thead", header), tag("tbody", *lines)))


def not_private() -> Html:
    """The label of every result of the protocol `printed`."""
    return tag("span", "NOT PRIVATE", class_="label alarm")


def ran(panel: Panel) -> str:
    """What a panel was really run on."""
    rows = panel.all_rows()
    counts = [
        labels.span(min(found), max(found), thing)
        for column, thing in (("ran_slots", "slot"), ("ran_users", "user"), ("ran_cells", "cell"))
        if (found := [int(row[column]) for row in rows])
    ]
    rounds = [len(found) for found in panel.rows.values()]
    return "; ".join([*counts, labels.span(min(rounds), max(rounds), "round")])


def _table(experiment: Experiment, heads: Sequence[Html], lines: Sequence[Html], caption: Html) -> Html:
    corner = ", ".join(name for name, _ in experiment.vary) or "mechanism"
    cells = [tag("th", corner, scope="col", class_="soft"), *(tag("th", head, scope="col") for head in heads)]
    inside = [tag("thead", tag("tr", *cells)), tag("tbody", *lines)]
    return _wide(tag("table", *([tag("caption", caption)] if caption else []), *inside))


def _places(panel: Panel) -> list[TableColumn]:
    return [TableColumn(join(", ".join(value or "usual" for value in where)), panel, where) for where in panel.places]


def _caption(panel: Panel) -> Html:
    """Which data, how much of it, and a warning where there is reason for one."""
    private = {row["private"] for row in panel.all_rows()}
    warning = [" ", not_private()] if "not private" in private else []
    return join(tag("b", panel.label), f" · {ran(panel)}", *warning)


def _stacked(panel: Panel) -> Html:
    """The same, narrow."""
    private = {row["private"] for row in panel.all_rows()}
    warning = ["not private"] if "not private" in private else []
    return join(panel.label, *map(_small, [*ran(panel).split("; "), *warning]))


def _private(panel: Panel, name: str) -> str:
    return next(rows[0]["private"] for (other, _), rows in panel.rows.items() if other == name)


def _header(name: str, private: str, below: Sequence[str]) -> Html:
    note = [" ", tag("span", _DOUBT, class_="doubt note")] if private == _DOUBT else []
    return tag("th", labels.mechanism(name), *note, *map(_small, below), scope="row")


def _cell(column: TableColumn, metric: str, name: str) -> Html:
    """The mean, and below it the lines that the row's header names."""
    panel, where = column.panel, column.where
    found = panel.stat(metric, name, where)
    if found is None:
        return tag("td", "–")
    bold = panel.best(metric, where) == name
    mean = tag("b", labels.number(found.mean)) if bold else join(labels.number(found.mean))
    below = [labels.number(found.median), f"{labels.number(found.least)} – {labels.number(found.greatest)}"]
    printed = panel.printed(metric, name, where)
    if printed is not None:
        below += [labels.number(printed), labels.times(found.mean / printed)]
    return tag("td", mean, *map(_small, below))


def _mean(found: Stat | None) -> str:
    return "–" if found is None else labels.number(found.mean)


def _small(words: str) -> Html:
    return tag("small", words)


def _wide(table: Html) -> Html:
    return tag("div", table, class_="wide", tabindex="0")
