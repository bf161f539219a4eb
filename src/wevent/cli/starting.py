"""`wevent init`: writes a commented configuration whose first slot is not years away."""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

from wevent.cli.opening import instant, now

_DAY = 86_400_000_000


def add_starting(commands: Any) -> None:
    """Add the command to a parser."""
    init = commands.add_parser("init", help="write a commented wevent.toml", description="Write a configuration.")
    init.add_argument("path", type=Path, nargs="?", default=Path("wevent.toml"))
    init.add_argument(
        "--first",
        type=instant,
        metavar="TIME",
        help="slot 1 holds this instant; default: today, 00:00 UTC; with --closing arrival, the next slot",
    )
    init.add_argument("--width", metavar="DURATION", help="of a slot, such as '15 min'")
    init.add_argument("--closing", choices=("files", "arrival", "operator"), help="who closes a slot")
    init.add_argument("--name", help="of the stream")
    init.add_argument("--cells", metavar="NAME,NAME,…", help="where people can be")
    init.set_defaults(command=_init)


def _init(given: argparse.Namespace) -> int:
    from wevent.config.read import example, to_config, write_example
    from wevent.events.names import show_name
    from wevent.events.timeline import show_instant

    first = given.first if given.first is not None else _ask_first(_usual_first(given))
    choices = {"first": show_instant(first)}
    if given.cells is not None:
        choices["names"] = json.dumps([name.strip() for name in given.cells.split(",")], ensure_ascii=False)
    for key in ("name", "width", "closing"):
        if getattr(given, key) is not None:
            choices[key] = json.dumps(getattr(given, key), ensure_ascii=False)
    _check(example(choices), to_config, str(given.path))
    write_example(given.path, choices)
    config = "" if given.path == Path("wevent.toml") else f" --config {show_name(given.path)}"
    sys.stdout.write(
        f"wrote {show_name(given.path)}; slot 1 holds {show_instant(first)}. Read its comments and declare your cells, "
        "then try\n"
        f"  wevent check{config} --events FILE --requirements FILE\n"
        "which says what would be accepted and released, and releases nothing\n"
    )
    return 0


def _check(text: str, to_config: Any, name: str) -> None:
    """Refuse choices that make no configuration, before anything is written."""
    tree = tomllib.loads(text)
    tree["store"] = {}
    to_config(tree, name)


def _usual_first(given: argparse.Namespace) -> int:
    """The beginning of today; where a clock closes slots, the next slot, since nobody's requirement holds before it."""
    from wevent.config.durations import to_microseconds
    from wevent.config.read import example
    from wevent.events.timeline import LATEST

    moment = now()
    if given.closing == "arrival":
        width = given.width or tomllib.loads(example())["slots"]["width"]
        with suppress(ValueError, ZeroDivisionError):  # what is no length of time is refused with the other choices
            first = -(-moment // to_microseconds(width)) * to_microseconds(width)
            return min(first, LATEST)
    return moment // _DAY * _DAY


def _ask_first(usual: int) -> int:
    """When slot 1 begins: what somebody at a terminal says, else as usual."""
    from wevent.errors import InvalidSetting
    from wevent.events.timeline import show_instant, to_instant

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return usual
    said = input(f"When does slot 1 begin? Events before it are refused. [{show_instant(usual)}] ").strip()
    try:
        return to_instant(said) if said else usual
    except ValueError:
        raise InvalidSetting(
            f"{said!r} is no time in ISO 8601, such as 2024-05-01T00:00Z; nothing was written"
        ) from None
