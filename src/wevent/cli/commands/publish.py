"""`wevent publish`: turns events into kept releases."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from wevent.cli import options as opt

_AFTER_A_RESTORE = "After a restore"


def _restored(text: str) -> int | str:
    if text != "now" and not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise typer.BadParameter(f"must be the number of a slot, 0 for none, or `now`, got {text!r}")
    return text if text == "now" else int(text)


def publish(
    context: typer.Context,
    files: opt.MoreEventFiles = None,
    events: opt.EventFiles = None,
    requirements: opt.RequirementsFile = None,
    overwrite: Annotated[
        bool, opt.flag("--overwrite", "With --requirements: also change people who have set their own.")
    ] = False,
    until: opt.Until = None,
    follow: Annotated[bool, opt.flag("--follow", "Go on reading one growing file (closing = arrival).")] = False,
    line_format: opt.StandardInputFormat = "ndjson",
    yes: opt.Yes = False,
    allow_empty: opt.AllowEmpty = False,
    dry_run: Annotated[
        bool, opt.flag("--dry-run", "Say what would be done, as `wevent check` does; do nothing.")
    ] = False,
    as_json: opt.Json = False,
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
    config: opt.ConfigFile = opt.CONFIG,
) -> int:
    """Read events, release every slot that is over, and keep it. Run it again to go on where it stopped.

    Example: wevent publish --events events.csv --requirements people.csv --until 2024-05-02
    """
    from wevent.cli.dry_run import check_sources
    from wevent.cli.publication import publish_until_stopped
    from wevent.cli.run_options import read_options

    sources = (*(events or ()), *(files or ()))
    options = read_options(config, sources, requirements, until, line_format, opt.volume_of(context))
    options = replace(options, yes=yes, allow_empty=allow_empty, as_json=as_json, follow=follow, overwrite=overwrite)
    if dry_run:
        check_sources(options)
        return 0
    return publish_until_stopped(replace(options, restored=restored, requirements_lost=requirements_lost))
