"""`wevent demo`: walks the whole way on a simulated city, from events to the audit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from wevent.cli.commands.simulate import People, Seed, Slots
from wevent.cli.options import file_option


def demo(
    folder: Annotated[
        Path | None, file_option("--folder", "Where to work; default: a temporary folder.", "FOLDER")
    ] = None,
    people: People = 2_000,
    slots: Slots = 96,
    seed: Seed = 1,
) -> int:
    """Walk the whole way on a simulated city: events, store, releases, plot, smoothing, audit.

    Example: wevent demo --folder city --slots 24
    """
    from wevent.cli.tour import tour

    return tour(folder, people, slots, seed, sys.stdout)
