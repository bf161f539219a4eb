"""The command `wevent`: words from the shell come in, an exit code goes out.

    wevent run            a day of a simulated city, in memory
    wevent demo           the whole way on the same city: events, store, plot, audit
    wevent init           write a commented wevent.toml
    wevent check          what `publish` would accept and release; nothing is released
    wevent publish        turn events into kept releases
    wevent requirements   who requires what since when: set, import, list, show
    wevent releases       what was released: table, CSV, NDJSON, Parquet
    wevent plot           released counts, decisions and spends as PNG or HTML
    wevent smooth         a better history from releases that are already public
    wevent status         where a stream stands, for the operator
    wevent study …        compare mechanisms and repeat the paper: run, report, compare, list
    wevent audit          prove from the store that every promise was kept

Exit codes: 0, all is well and every promise was kept; 1, a promise was broken; 2, the command line or a file makes no
sense, or output cannot be written; 3, the store cannot do what it should; 70, an error of this program; 130,
stopped (by SIGTERM: 0).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn, get_args

from wevent import RECIPES, __version__
from wevent.cli import ending
from wevent.cli.asking import add_asking
from wevent.cli.auditing import add_auditing
from wevent.cli.numbers import whole
from wevent.cli.publishing import add_publishing
from wevent.cli.reading import add_reading
from wevent.cli.smooth import add_smooth
from wevent.cli.study import add_study
from wevent.events.names import show_name
from wevent.settings import Rest

MOST_PEOPLE, LEAST_PEOPLE = 20_000, 20
MOST_SLOTS = 1_000
MOST_PACE = 60.0


GROUPS = (add_publishing, add_asking, add_reading, add_smooth, add_study, add_auditing)
"""Each adds its commands to the parser and names, by `set_defaults(command=…)`, the function that runs them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Guarantees:
        Arguments out of range end with exit code 2 and a message that names the limit.
        1 is returned for a broken promise and for nothing else.
    """
    given = _parser().parse_args(arguments)
    return ending.run(lambda: int(given.command(given)))


class _Parser(argparse.ArgumentParser):
    """Shows words of the command line as they are, and not as they would steer a terminal."""

    def error(self, message: str) -> NoReturn:
        super().error(show_name(message))


def _run(given: argparse.Namespace) -> int:
    from wevent.cli.demo import Order, run
    from wevent.cli.table import Table

    out = sys.stdout
    colour = out.isatty() and not os.environ.get("NO_COLOR")
    order = Order(given.mechanism, given.people, given.slots, given.seed, given.rest, given.pace)
    return 0 if run(order, Table(out, colour=colour)) else 1


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
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
    run.set_defaults(command=_run)
    for add in GROUPS:
        add(commands)
    return parser


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MOST_PACE:  # refuses nan too
        raise argparse.ArgumentTypeError(f"must be a number of seconds from 0 to {MOST_PACE:g}, got {text!r}")
    return seconds
