"""`wevent releases`: shows what was released, as a table or as CSV, NDJSON, JSON or Parquet."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast, get_args

import typer

from wevent.cli.options import CONFIG, ConfigFile, First, Json, Last, file_option, slot_range
from wevent.cli.output import naming

if TYPE_CHECKING:
    from wevent.events.timeline import Timeline
    from wevent.reports.releases import PublicRelease

_MOST_COLUMNS = 8
_Format = Literal["table", "csv", "ndjson", "parquet"]


def releases(
    config: ConfigFile = CONFIG,
    first: First = None,
    last: Last = None,
    format_: Annotated[
        _Format | None,
        typer.Option("--format", help="How to write it; default: what the name of --output ends with, or a table."),
    ] = None,
    json: Json = False,
    output: Annotated[Path | None, file_option("--output", "Where to write; default: standard output.")] = None,
) -> None:
    """Show what was released: counts with 95 % intervals, and raw ones.

    Example: wevent releases --first 2024-05-01T12:00Z --format csv --output counts.csv
    """
    from wevent.config.read import read_config
    from wevent.errors import InvalidSetting
    from wevent.events.names import show_name
    from wevent.reports.releases import public_releases
    from wevent.reports.tables import write_csv, write_ndjson, write_parquet
    from wevent.store.opening import open_store
    from wevent.store.streams import find_stream

    if format_ is None and output is not None:
        endings = get_args(_Format)
        if (suffix := output.suffix.removeprefix(".").lower()) not in endings[1:]:
            raise InvalidSetting(f"say how to write {show_name(output)}: --format {', '.join(endings[1:])}")
        format_ = cast(_Format, suffix)
    format_ = format_ or "table"
    if output is not None and (json or format_ == "table"):
        raise InvalidSetting("--output takes csv, ndjson or parquet; a table and --json go to standard output")
    settings = read_config(config)
    cells, timeline = list(settings.cells.declared().names), settings.slots.timeline
    with open_store(settings, read_only=True) as database:
        stream, _ = find_stream(database, settings.stream.name)
        found = public_releases(database, stream.id, len(cells), *slot_range(timeline, first, last))
        if json:
            lines = io.StringIO()
            write_ndjson(lines, found, cells, timeline)
            sys.stdout.write("[" + ",\n".join(lines.getvalue().splitlines()) + "]\n")
        elif format_ == "parquet":
            if output is None:
                raise InvalidSetting("Parquet needs a file to write to (`--output FILE`)")
            with naming(output):
                write_parquet(output, found, cells, timeline)
        elif format_ == "table":
            _print_table(found, cells, timeline)
        else:
            write = write_csv if format_ == "csv" else write_ndjson
            if output is None:
                write(sys.stdout, found, list(map(show_name, cells)) if sys.stdout.isatty() else cells, timeline)
            else:
                with naming(output), output.open("w", encoding="utf-8", newline="") as out:
                    write(out, found, cells, timeline)


def _print_table(found: Iterable[PublicRelease], cells: list[str], timeline: Timeline) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from wevent.events.names import show_name
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
        integer = release.counts.dtype.kind == "i"
        known = known_counts(release)[:_MOST_COLUMNS].tolist()
        counts = ["-" if count is None else f"{count:,}" if integer else f"{count:,.1f}" for count in known]
        table.add_row(str(release.slot), show_instant(timeline.start(release.slot)), release.decision, *counts)
    Console(width=None if sys.stdout.isatty() else 160).print(table)
