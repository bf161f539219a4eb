"""`wevent simulate`: publishes a simulated city in memory."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from wevent.cli.options import MechanismName, RestName, number, whole_option

MOST_PEOPLE, LEAST_PEOPLE = 20_000, 20
MOST_SLOTS = 1_000
MOST_PACE = 60

People = Annotated[int, whole_option(LEAST_PEOPLE, MOST_PEOPLE, "How many people live in the city.")]
Slots = Annotated[int, whole_option(1, MOST_SLOTS, "How many slots to publish, 96 to a day.")]
Seed = Annotated[int, whole_option(0, 2**32, "Seed of movement and requirements; the noise cannot be seeded.")]
_PACE = number(0, MOST_PACE, f"a number of seconds from 0 to {MOST_PACE}", or_least=True)


def simulate(
    mechanism: Annotated[MechanismName, typer.Option(help="The recipe that publishes.")] = "auto",
    slots: Slots = 96,
    people: People = 2_000,
    seed: Seed = 1,
    rest: Annotated[RestName, typer.Option(help="Whom a resting person makes rest (pba, dpba, ba).")] = "all",
    pace: Annotated[
        float, typer.Option(parser=_PACE, metavar="SECONDS", help="How long to wait after each slot.")
    ] = 0.0,
) -> int:
    """Publish a simulated city in memory: a live table of releases, then errors and the worst window.

    Example: wevent simulate --mechanism pbd --slots 48
    """
    from wevent.cli.simulation import Order, run
    from wevent.cli.table import Table

    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    order = Order(mechanism, people, slots, seed, rest, pace)
    return 0 if run(order, Table(sys.stdout, colour=colour)) else 1
