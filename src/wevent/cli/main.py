"""The command `wevent`: words from the shell come in, an exit code goes out.

    wevent run        publish the embedded example: a day of a simulated city

Exit codes: 0, every promise was kept; 1, one was broken; 2, the command line makes no sense; 130, stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TextIO, get_args

from wevent import RECIPES, __version__
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
        return _run(given, sys.stdout)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has seen enough, as in `wevent run | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(given: argparse.Namespace, out: TextIO) -> int:
    from wevent.cli.demo import Order, run
    from wevent.cli.table import Table

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
    run.add_argument("--slots", type=_whole(1, MOST_SLOTS), default=96, help="how many to publish, 96 to a day")
    run.add_argument(
        "--people", type=_whole(LEAST_PEOPLE, MOST_PEOPLE), default=2_000, help="how many live in the city"
    )
    run.add_argument(
        "--seed", type=_whole(0, 2**32), default=1, help="of movement and wishes; the noise cannot be seeded"
    )
    run.add_argument(
        "--rest",
        choices=get_args(Rest),
        default="all",
        help="whom a resting person makes rest (pba, dpba, ba)",
    )
    run.add_argument("--pace", type=_seconds, default=0.0, help="seconds to wait after each slot")
    return parser


def _whole(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers within limits."""
    limits = f"a whole number from {least:,} to {most:,}"

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {limits}, got {text!r}") from None
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"must be {limits}, got {number}")
        return number

    return read


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MOST_PACE:  # refuses nan too
        raise argparse.ArgumentTypeError(f"must be a number of seconds from 0 to {MOST_PACE:g}, got {text!r}")
    return seconds
