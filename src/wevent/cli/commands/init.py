"""`wevent init`: writes a commented configuration whose first slot is not years away."""

from __future__ import annotations

import json
import sys
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import typer

from wevent.cli.options import CONFIG, instant
from wevent.cli.output import ask

_DAY = 86_400_000_000


def init(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = CONFIG,
    first: Annotated[
        int | None,
        typer.Option(
            parser=instant,
            metavar="TIME",
            help="Slot 1 holds this time; default: today, 00:00 UTC; with --closing arrival, the next slot.",
        ),
    ] = None,
    width: Annotated[str | None, typer.Option(metavar="DURATION", help="Length of a slot, such as '15 min'.")] = None,
    closing: Annotated[Literal["files", "arrival", "operator"] | None, typer.Option(help="What closes a slot.")] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name of the stream.")] = None,
    cells: Annotated[str | None, typer.Option(metavar="NAME,NAME,…", help="Where people can be.")] = None,
) -> None:
    """Write a commented configuration.

    Example: wevent init --first 2024-05-01 --cells market,park
    """
    from wevent.config.durations import to_microseconds
    from wevent.config.read import by_width, example, to_config, write_example
    from wevent.events.names import show_name
    from wevent.events.timeline import show_instant

    begin = first if first is not None else _ask_first(_usual_first(closing, width))
    choices: dict[str, str | None] = {"first": show_instant(begin)}
    if width is not None:
        with suppress(ValueError, ZeroDivisionError):  # what is no length of time is refused with the other choices
            choices |= by_width(to_microseconds(width))
    if cells is not None:
        choices["names"] = json.dumps([cell.strip() for cell in cells.split(",")], ensure_ascii=False)
    for key, value in (("name", name), ("width", width), ("closing", closing)):
        if value is not None:
            choices[key] = json.dumps(value, ensure_ascii=False)
    tree = tomllib.loads(example(choices))
    to_config(
        {**tree, "store": {}}, str(path)
    )  # refuses choices that make no configuration, before anything is written
    write_example(path, choices)
    declare = "Read its comments" if cells else "Read its comments and declare your cells"
    config = "" if path == CONFIG else f" --config {show_name(path)}"
    sys.stdout.write(
        f"wrote {show_name(path)}; slot 1 holds {show_instant(begin)}. {declare}, then try\n"
        f"  wevent check{config} --events FILE --requirements FILE\n"
        "which says what would be accepted and released, and releases nothing\n"
    )


def _usual_first(closing: str | None, width: str | None) -> int:
    """The beginning of today; where a clock closes slots, the next slot, since no requirement is in force before it."""
    from wevent.config.durations import to_microseconds
    from wevent.config.read import example
    from wevent.events.timeline import LATEST
    from wevent.store.opening import system_clock

    moment = system_clock()
    if closing == "arrival":
        with suppress(ValueError, ZeroDivisionError):  # what is no length of time is refused with the other choices
            length = to_microseconds(width or tomllib.loads(example())["slots"]["width"])
            return min(-(-moment // length) * length, LATEST)
    return moment // _DAY * _DAY


def _ask_first(usual: int) -> int:
    """When slot 1 begins: what the operator at a terminal says, else as usual."""
    from wevent.errors import InvalidSetting
    from wevent.events.timeline import show_instant, to_instant

    answer = ask(f"When does slot 1 begin? Events before it are refused. [{show_instant(usual)}] ")
    try:
        return to_instant(answer) if answer else usual
    except ValueError:
        raise InvalidSetting(
            f"{answer!r} is no time in ISO 8601, such as 2024-05-01T00:00Z; nothing was written"
        ) from None
