"""`wevent check`: says what `publish` would accept and release, and does nothing of it."""

from __future__ import annotations

import typer

from wevent.cli.options import (
    CONFIG,
    AllowEmpty,
    ConfigFile,
    EventFiles,
    Json,
    MoreEventFiles,
    RequirementsFile,
    StandardInputFormat,
    Until,
    Yes,
    volume_of,
)


def check(
    context: typer.Context,
    files: MoreEventFiles = None,
    events: EventFiles = None,
    requirements: RequirementsFile = None,
    until: Until = None,
    line_format: StandardInputFormat = "ndjson",
    yes: Yes = False,
    allow_empty: AllowEmpty = False,
    as_json: Json = False,
    config: ConfigFile = CONFIG,
) -> None:
    """Say what `publish` would accept, refuse and release; release nothing.

    Example: wevent check --events events.csv --requirements people.csv --until 2024-05-02
    """
    from wevent.cli.dry_run import check_sources
    from wevent.cli.run_options import read_options

    sources = (*(events or ()), *(files or ()))
    volume = volume_of(context)
    check_sources(
        read_options(
            config,
            sources,
            requirements,
            until,
            line_format,
            yes=yes,
            allow_empty=allow_empty,
            volume=volume,
            as_json=as_json,
        )
    )
