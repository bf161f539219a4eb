"""`wevent publish`: turns events into kept releases."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

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
    flag,
    volume_of,
)

_AFTER_A_RESTORE = "After a restore"


def _restored(text: str) -> int | str:
    if text != "now" and not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise typer.BadParameter(f"must be the number of a slot, 0 for none, or `now`, got {text!r}")
    return text if text == "now" else int(text)


def publish(
    context: typer.Context,
    files: MoreEventFiles = None,
    events: EventFiles = None,
    requirements: RequirementsFile = None,
    overwrite: Annotated[
        bool, flag("--overwrite", "With --requirements: also change people who have set their own.")
    ] = False,
    until: Until = None,
    follow: Annotated[bool, flag("--follow", "Go on reading one growing file (closing = arrival).")] = False,
    line_format: StandardInputFormat = "ndjson",
    yes: Yes = False,
    allow_empty: AllowEmpty = False,
    dry_run: Annotated[bool, flag("--dry-run", "Say what would be done, as `wevent check` does; do nothing.")] = False,
    as_json: Json = False,
    restored: Annotated[
        Any,
        typer.Option(
            parser=_restored,
            metavar="SLOT|now",
            show_default=False,
            rich_help_panel=_AFTER_A_RESTORE,
            help="Slots up to this one may have been shown and are given up, 0 for none; `now` is the current one "
            "(closing = arrival). Also needed where the witness is lost.",
        ),
    ] = None,
    requirements_lost: Annotated[
        bool,
        typer.Option(
            "--requirements-lost",
            metavar="",
            rich_help_panel=_AFTER_A_RESTORE,
            help="Go on without the requirement changes that are missing; the store remembers how many.",
        ),
    ] = False,
    config: ConfigFile = CONFIG,
) -> int:
    """Read events, release every slot that is over, and keep it. Run it again to go on where it stopped.

    Example: wevent publish --events events.csv --requirements people.csv --until 2024-05-02
    """
    from wevent.cli.dry_run import check_sources
    from wevent.cli.publication import publish_until_stopped
    from wevent.cli.run_options import read_options

    options = read_options(
        config,
        (*(events or ()), *(files or ())),
        requirements,
        until,
        line_format,
        yes=yes,
        allow_empty=allow_empty,
        volume=volume_of(context),
        as_json=as_json,
    )
    if dry_run:
        check_sources(options)
        return 0
    return publish_until_stopped(
        replace(options, follow=follow, overwrite=overwrite, restored=restored, requirements_lost=requirements_lost)
    )
