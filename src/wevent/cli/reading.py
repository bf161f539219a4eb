"""`wevent releases`, `plot`, `status` and `audit`: a store comes in; tables, pictures and verdicts go out."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wevent.cli.opening import add_config, open_store, read

if TYPE_CHECKING:
    from wevent.reports.audit import Audit
    from wevent.reports.neighbours import Trial
    from wevent.store.database import Database

_MOST_COLUMNS = 8
_EVER = 2**62


def add_reading(commands: Any) -> None:
    """Add the commands to a parser."""
    releases = commands.add_parser("releases", help="what was released: table, CSV, NDJSON, Parquet")
    _range(releases)
    releases.add_argument("--format", choices=("table", "csv", "ndjson", "parquet"), default="table")
    releases.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
    releases.set_defaults(command=_releases)
    plot = commands.add_parser("plot", help="released counts, decisions and spends as PNG or HTML")
    _range(plot)
    plot.add_argument("--output", type=Path, required=True, metavar="FILE", help="ends with .png or .html")
    plot.add_argument("--public", action="store_true", help="without spends per cohort, which are the operator's")
    plot.set_defaults(command=_plot)
    status = commands.add_parser("status", help="where a stream stands, for the operator")
    add_config(status)
    status.set_defaults(command=_status)
    audit = commands.add_parser("audit", help="prove from the store that every promise was kept")
    audit.add_argument("store", help="path or URL of a store")
    audit.add_argument("--stream", help="default: all of them")
    audit.add_argument("--html", type=Path, metavar="FILE", help="also write a page for a privacy officer")
    audit.add_argument("--empirical", action="store_true", help="also run the mechanism on neighbouring streams")
    audit.add_argument("--runs", type=int, default=2_000, help="of --empirical, on each stream")
    audit.set_defaults(command=_audit)


def _range(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    parser.add_argument("--first", type=int, default=1, metavar="SLOT")
    parser.add_argument("--last", type=int, default=_EVER, metavar="SLOT")


def _releases(given: argparse.Namespace) -> int:
    from wevent.errors import InvalidSetting
    from wevent.reports.history import public_releases
    from wevent.reports.tables import write_csv, write_ndjson, write_parquet
    from wevent.store.streams import find_stream

    config = read(given)
    database = open_store(config)
    stream, _ = find_stream(database, config.stream.name)
    cells, timeline = list(config.cells.declared().names), config.slots.timeline
    found = public_releases(database, stream.id, len(cells), given.first, given.last)
    if given.format == "parquet":
        if given.output is None:
            raise InvalidSetting("Parquet needs a file to write to (`--output FILE`)")
        write_parquet(given.output, found, cells, timeline)
    elif given.format == "table":
        _table(found, cells, timeline)
    else:
        write = write_csv if given.format == "csv" else write_ndjson
        if given.output is None:
            write(sys.stdout, found, cells, timeline)
        else:
            with given.output.open("w", encoding="utf-8", newline="") as out:
                write(out, found, cells, timeline)
    return 0


def _table(found: Any, cells: list[str], timeline: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    from wevent.events.timeline import show_instant

    shown = cells[:_MOST_COLUMNS]
    more = len(cells) - len(shown)
    table = Table(caption=f"and {more:,} more cells; `--format csv` has all" if more else None)
    for name in ("slot", "start", "decision"):
        table.add_column(name)
    for name in shown:
        table.add_column(name, justify="right")
    for release in found:
        whole = release.counts.dtype.kind == "i"
        counts = [f"{count:,}" if whole else f"{count:,.1f}" for count in release.counts[:_MOST_COLUMNS].tolist()]
        table.add_row(str(release.slot), show_instant(timeline.start(release.slot)), release.decision, *counts)
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _plot(given: argparse.Namespace) -> int:
    from wevent.errors import InvalidSetting
    from wevent.reports.history import public_releases, read_history
    from wevent.reports.plot import draw, save_html, save_png
    from wevent.store.streams import find_stream

    if given.output.suffix not in (".png", ".html"):
        raise InvalidSetting("the name of a plot must end with .png or .html")
    config = read(given)
    database = open_store(config)
    stream, _ = find_stream(database, config.stream.name)
    cells = list(config.cells.declared().names)
    found = list(public_releases(database, stream.id, len(cells), given.first, given.last))
    charges = None
    if not given.public:
        past = read_history(database, stream.name).slots
        charges = [record for record in past if given.first <= record.slot <= given.last]
    title = f"{stream.name}: {config.privacy.mechanism}, {len(found):,} slots"
    figure = draw(title, found, cells, charges)
    if given.output.suffix == ".png":
        save_png(figure, given.output)
    else:
        save_html(figure, given.output, title)
    return 0


def _status(given: argparse.Namespace) -> int:
    from wevent.reports.history import read_history
    from wevent.store.intake import read_tallies
    from wevent.store.streams import find_stream

    config = read(given)
    database = open_store(config)
    stream, _ = find_stream(database, config.stream.name)
    past = read_history(database, stream.name)
    with database.read() as connection:
        tallies = read_tallies(connection, stream.id)
    out = [f"stream {stream.name}: {len(past.slots):,} slots, {len(past.asked):,} people ever listed"]
    out += [f"  events {kind}: {number:,}" for kind, number in tallies.items()]
    sys.stdout.write("\n".join(out) + "\n")
    return 0


def _audit(given: argparse.Namespace) -> int:
    from wevent.reports.audit import audit
    from wevent.reports.history import read_history
    from wevent.reports.officer import officer_page
    from wevent.store.database import open_database
    from wevent.store.streams import all_streams

    database: Database = open_database(given.store)
    names = [given.stream] if given.stream else [stream.name for stream in all_streams(database)]
    broken, pages = False, []
    for name in names:
        history = read_history(database, name)
        found = audit(history)
        trial = _trial(history.settings, found, given.runs) if given.empirical else None
        broken |= not found.kept or (trial is not None and trial.refuted)
        _say(found, trial)
        loss = None if trial is None else trial.loss
        pages.append(officer_page(found, history.settings, loss, history.assumptions))
    if given.html is not None:
        given.html.write_text("\n".join(pages), "utf-8")
    return 1 if broken else 0


def _say(found: Audit, trial: Trial | None) -> None:
    from wevent.units import show

    out = [
        f"stream {found.stream}: {found.slots:,} slots, {found.people:,} people of {found.classes:,} different pasts"
    ]
    for line in sorted(found.lines, key=lambda line: str(line.terms)):
        worst = "nothing was spent"
        if line.worst is not None:
            use = line.worst
            worst = f"worst window: slots {max(1, use.first)} to {use.last}, {show(use.spent)} of {show(use.allowed)}"
        out.append(f"  {line.terms}, {line.people:,} people; {worst}")
    out += [
        f"  VIOLATION in slot {violation.slot}, {violation.people:,} people: {violation.what}"
        for violation in found.violations
    ]
    out.append("  every promise was kept" if found.kept else "  A PROMISE WAS BROKEN")
    if trial is not None:
        verdict = "MORE than" if trial.refuted else "within"
        out.append(
            f"  on neighbouring streams the loss over {trial.window} slots is at least {trial.loss.epsilon:.3f}, "
            f"{verdict} the promised {trial.promise:g}"
        )
    sys.stdout.write("\n".join(out) + "\n")


def _trial(settings: dict[str, Any], found: Audit, runs: int) -> Trial:
    from wevent.reports.neighbours import try_mechanism
    from wevent.settings import Privacy

    privacy = Privacy(
        settings["privacy.neighbours"], infeasible=settings["privacy.infeasible"], rest=settings["privacy.rest"]
    )
    most = max(found.lines, key=lambda line: line.people, default=None)
    epsilon, window = (10**9, 2) if most is None else (most.terms.epsilon, most.terms.window)
    told = {"estimator": settings["privacy.estimator"]} if "privacy.estimator" in settings else {}
    return try_mechanism(settings["privacy.mechanism"], privacy, epsilon, window, runs, **told)
