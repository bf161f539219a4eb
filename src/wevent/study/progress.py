"""Shows a progress bar while an experiment runs, and a table of a comparison."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import mean, median
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from wevent.extend import show_name
from wevent.study.mechanisms import known_mechanism
from wevent.study.reporting import labels
from wevent.study.runner import ExperimentRun


def follow(run: ExperimentRun) -> None:
    """Run to the end with a progress bar on standard error."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tasks"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(escape(show_name(run.experiment.name)), total=run.all, completed=run.kept)
        try:
            for progress in run.go():
                bar.update(task, completed=progress.done)
        except KeyboardInterrupt:
            bar.console.print("interrupted; finished tasks are kept, the same command continues from there")
            raise


def table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print results, one line for each mechanism, the least error first."""
    by_name = defaultdict(list)
    for row in rows:
        by_name[row["mechanism"]].append(row)
    first = rows[0]
    rounds = max(len(rows_of) for rows_of in by_name.values())
    name = escape(show_name(first["data"]))
    title = f"{name}: epsilon {first['epsilon']:g} over {first['window']} slots, {labels.many(rounds, 'round')}"
    shown = Table(title=title, title_justify="left", caption=_caption(rounds, by_name), caption_justify="left")
    shown.add_column("mechanism")
    errors, decisions = ("mae", "mre", "ajsd", "awd"), ("published", "skipped", "nullified")
    for name in ("amre", *(("median",) if rounds > 1 else ()), *errors, *decisions, "worst window", "ms/slot"):
        shown.add_column(name, justify="right")
    for name, rows_of in sorted(by_name.items(), key=lambda item: mean(row["amre"] for row in item[1])):
        middle = [f"{_short(median(row['amre'] for row in rows_of))}"] if rounds > 1 else []
        shown.add_row(
            escape(show_name(name)) + ("" if known_mechanism(name).proven else " *"),
            _error(rows_of, "amre"),
            *middle,
            *(_error(rows_of, key) for key in errors),
            *(f"{mean(row[key] for row in rows_of):,.0f}" for key in decisions),
            f"{max(row['worst_window'] for row in rows_of):.3f}",
            f"{1000 * mean(row['seconds_per_slot'] for row in rows_of):.2f}",
        )
    console = Console()
    (console if console.is_terminal else Console(width=160)).print(shown)


def _error(rows: Sequence[Mapping[str, Any]], key: str) -> str:
    return _short(mean(row[key] for row in rows))


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _caption(rounds: int, by_name: Mapping[str, Sequence[Any]]) -> str:
    notes = []
    if rounds == 1:
        notes.append("One round; rounds scatter widely, --rounds 10 shows by how much.")
    if not all(known_mechanism(name).proven for name in by_name):
        notes.append("* budgets are accounted, privacy over an endless stream is not proven.")
    return "\n".join(notes)
