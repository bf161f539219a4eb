"""`wevent check`: says what `publish` would accept and release, and does nothing of it."""

from __future__ import annotations

from dataclasses import replace

import typer

from wevent.cli import options as opt


def check(
    context: typer.Context,
    files: opt.MoreEventFiles = None,
    events: opt.EventFiles = None,
    requirements: opt.RequirementsFile = None,
    until: opt.Until = None,
    line_format: opt.StandardInputFormat = "ndjson",
    yes: opt.Yes = False,
    allow_empty: opt.AllowEmpty = False,
    as_json: opt.Json = False,
    config: opt.ConfigFile = opt.CONFIG,
) -> None:
    """Say what `publish` would accept, refuse and release; release nothing.

    Example: wevent check --events events.csv --requirements people.csv --until 2024-05-02
    """
    from wevent.cli.dry_run import check_sources
    from wevent.cli.run_options import read_options

    sources = (*(events or ()), *(files or ()))
    options = read_options(config, sources, requirements, until, line_format, opt.volume_of(context))
    check_sources(replace(options, yes=yes, allow_empty=allow_empty, as_json=as_json))
