"""`wevent releases`, `plot` and `status`: shows what a store holds, and never writes to it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from wevent.cli.ending import naming
from wevent.cli.opening import add_config, open_store, read
from wevent.events.names import show_name

_MOST_COLUMNS = 8
_EVER = 2**62

_WHAT_CLOSES = {
    "files": "run `wevent publish` again with all files once it is over",
    "arrival": "the clock closes it",
    "operator": "close it with `wevent publish --until`",
}


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


def _range(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    parser.add_argument("--first", type=int, default=1, metavar="SLOT")
    parser.add_argument("--last", type=int, default=_EVER, metavar="SLOT")


def _releases(given: argparse.Namespace) -> int:
    from wevent.errors import InvalidSetting
    from wevent.reports.releases import public_releases
    from wevent.reports.tables import write_csv, write_ndjson, write_parquet
    from wevent.store.streams import find_stream

    config = read(given)
    cells, timeline = list(config.cells.declared().names), config.slots.timeline
    with open_store(config, read_only=True) as database:
        stream, _ = find_stream(database, config.stream.name)
        found = public_releases(database, stream.id, len(cells), given.first, given.last)
        if given.format == "parquet":
            if given.output is None:
                raise InvalidSetting("Parquet needs a file to write to (`--output FILE`)")
            with naming(given.output):
                write_parquet(given.output, found, cells, timeline)
        elif given.format == "table":
            _table(found, cells, timeline)
        else:
            write = write_csv if given.format == "csv" else write_ndjson
            if given.output is None:
                write(sys.stdout, found, list(map(show_name, cells)) if sys.stdout.isatty() else cells, timeline)
            else:
                with naming(given.output), given.output.open("w", encoding="utf-8", newline="") as out:
                    write(out, found, cells, timeline)
    return 0


def _table(found: Any, cells: list[str], timeline: Any) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from wevent.events.timeline import show_instant
    from wevent.reports.tables import known_counts

    shown = cells[:_MOST_COLUMNS]
    more = len(cells) - len(shown)
    table = Table(caption=f"and {more:,} more cells; `--format csv` has all" if more else None)
    for name in ("slot", "start", "decision"):
        table.add_column(name)
    for name in shown:
        table.add_column(Text(show_name(name)), justify="right")
    for release in found:
        whole = release.counts.dtype.kind == "i"
        known = known_counts(release)[:_MOST_COLUMNS].tolist()
        counts = ["-" if count is None else f"{count:,}" if whole else f"{count:,.1f}" for count in known]
        table.add_row(str(release.slot), show_instant(timeline.start(release.slot)), release.decision, *counts)
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _plot(given: argparse.Namespace) -> int:
    from wevent.errors import InvalidSetting
    from wevent.reports.history import read_history
    from wevent.reports.plot import draw, save_html, save_png
    from wevent.reports.releases import public_releases
    from wevent.store.streams import find_stream

    if given.output.suffix not in (".png", ".html"):
        raise InvalidSetting("the name of a plot must end with .png or .html")
    config = read(given)
    cells, charges = list(config.cells.declared().names), None
    with open_store(config, read_only=True) as database:
        stream, _ = find_stream(database, config.stream.name)
        found = list(public_releases(database, stream.id, len(cells), given.first, given.last))
        if not given.public:
            past = read_history(database, stream.name).slots
            charges = [record for record in past if given.first <= record.slot <= given.last]
    title = f"{stream.name}: {config.privacy.mechanism}, {len(found):,} slots"
    figure = draw(title, found, cells, charges)
    with naming(given.output):
        if given.output.suffix == ".png":
            save_png(figure, given.output)
        else:
            save_html(figure, given.output, title)
    return 0


def _status(given: argparse.Namespace) -> int:
    from wevent.cli.summary import refused_lines
    from wevent.reports.combined_loss import read_combined_losses
    from wevent.reports.history import read_history
    from wevent.reports.status import stream_status
    from wevent.reports.times import SlotTimes
    from wevent.store.accounting import read_account, read_tallies
    from wevent.store.streams import find_stream
    from wevent.store.witnessed_changes import count_lost_changes

    config = read(given)
    with open_store(config, read_only=True) as database:
        stream, _ = find_stream(database, config.stream.name)
        past = read_history(database, stream.name)
        with database.read() as connection:
            tallies, account = read_tallies(connection, stream.id), read_account(connection, stream.id)
            lost_changes = count_lost_changes(connection, stream.id)
        losses = read_combined_losses(database)
        together = [line for line in losses if stream.name in [part.stream for part in line.parts]]
    now, times, closing = stream_status(past), SlotTimes(past.settings), config.slots.closing
    out = [f"stream {show_name(stream.name)}: {now.slots:,} slots, {len(past.listed):,} people ever listed"]
    coming = now.slots + 1
    out.append(f"  next is slot {times.slot(coming)}, over at {times.end(coming)}; {_WHAT_CLOSES[closing]}")
    if now.held_until:
        out.append(f"  {now.held_back(times)}")
    if now.worth_saying:
        out += [f"  {now}", *(f"    {line}" for line in now.advice)]
    out.append(
        f"  events accepted: {account.accepted:,}, of which released with their slot: {account.released:,}, waiting "
        f"for it: {account.waiting:,}, lost with it: {account.lost:,}"
    )
    if account.lost:
        out.append("  (a lost slot shows the counts before it; its events are in no release)")
    if lost_changes:
        out.append(f"  requirement changes that were given up after a restore (--requirements-lost): {lost_changes:,}")
    if refused := refused_lines(tallies, closing):
        out.append(f"  events refused {'in the last run' if closing == 'files' else 'so far'}, by reason:")
        out += [f"    {line}" for line in refused]
    out += [f"  {show_name(str(line))}" for line in together]
    sys.stdout.write("\n".join(out) + "\n")
    return 0
