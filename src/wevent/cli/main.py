"""The command `wevent`: words from the shell come in, an exit code goes out.

    wevent run        publish the embedded example: a day of a simulated city
    wevent smooth     a better history from releases that are already public
    wevent study …    compare mechanisms and repeat the paper: run, report, compare, list

Exit codes: 0, every promise was kept; 1, one was broken; 2, what was asked for cannot be done; 130, stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import get_args

from wevent import RECIPES, __version__
from wevent.cli import smooth, study
from wevent.cli.numbers import whole
from wevent.errors import WeventError
from wevent.settings import Rest

MOST_PEOPLE, LEAST_PEOPLE = 20_000, 20
MOST_SLOTS = 1_000
MOST_PACE = 60.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Guarantees:
        Arguments out of range end with exit code 2 and a message that names the limit.
    """
    given = _parser().parse_args(arguments)
    try:
        return int(given.handler(given))
    except WeventError as error:
        print(f"wevent: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has seen enough, as in `wevent run | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(given: argparse.Namespace) -> int:
    from wevent.cli.demo import Order, run
    from wevent.cli.table import Table

    out = sys.stdout
    colour = out.isatty() and not os.environ.get("NO_COLOR")
    order = Order(given.mechanism, given.people, given.slots, given.seed, given.rest, given.pace)
    return 0 if run(order, Table(out, colour=colour)) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wevent",
        description="Private counts from endless event streams; each person chooses a budget and a window.",
    )
    parser.add_argument("--version", action="version", version=f"wevent {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="command")
    run = commands.add_parser(
        "run",
        help="publish the embedded example",
        description="Publish a simulated city: a live table of releases, then errors and the worst window.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    run.add_argument("--mechanism", choices=list(RECIPES), default="pbd", help="which recipe publishes")
    run.add_argument("--slots", type=whole(1, MOST_SLOTS), default=96, help="how many to publish, 96 to a day")
    run.add_argument("--people", type=whole(LEAST_PEOPLE, MOST_PEOPLE), default=2_000, help="how many live in the city")
    run.add_argument(
        "--seed", type=whole(0, 2**32), default=1, help="of movement and wishes; the noise cannot be seeded"
    )
    run.add_argument(
        "--rest",
        choices=get_args(Rest),
        default="all",
        help="whom a resting person makes rest (pba, dpba, ba)",
    )
    run.add_argument("--pace", type=_seconds, default=0.0, help="seconds to wait after each slot")
    run.set_defaults(handler=_run)
    smooth.add_commands(commands)
    study.add_commands(commands)
    return parser


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MOST_PACE:  # refuses nan too
        raise argparse.ArgumentTypeError(f"must be a number of seconds from 0 to {MOST_PACE:g}, got {text!r}")
    return seconds
