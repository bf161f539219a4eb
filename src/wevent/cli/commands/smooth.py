"""`wevent smooth`: makes a better history from releases that are already public."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from wevent.cli.options import CONFIG, OtherConfigFile, file_option, named_on_the_command_line
from wevent.cli.output import naming


def smooth(
    context: typer.Context,
    releases: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="A CSV with the columns slot, cell, raw, raw_standard_error; without it the store is read.",
        ),
    ] = None,
    config: OtherConfigFile = None,
    output: Annotated[Path | None, file_option("--output", "Where to write; default: standard output.")] = None,
) -> None:
    """Run the filter backwards over raw releases: better counts for past slots, no budget spent.

    Example: wevent smooth --output history.csv
    """
    from wevent.cli.raw_releases import read_file, read_store, write
    from wevent.errors import InvalidInput
    from wevent.events.names import show_name
    from wevent.releases.smoothing import smooth as smooth_releases

    if releases is not None and named_on_the_command_line(context, "config"):
        raise InvalidInput("give the path of a CSV or a configuration (`--config FILE`), not both")
    publications, last, cells = read_store(config or CONFIG) if releases is None else read_file(releases)
    smoothed = smooth_releases(publications, last)
    if output is None:
        write(sys.stdout, smoothed, list(map(show_name, cells)) if sys.stdout.isatty() else cells)
        return
    with naming(output), output.open("w", encoding="utf-8", newline="") as out:
        write(out, smoothed, cells)
