"""Prints the releases and the results of a simulation as aligned lines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TextIO

import numpy as np

from wevent.cli.city import DISTRICTS, QUARTERS, clock
from wevent.cli.score import Score
from wevent.releases.release import Decision, Release

_SHOWN = ("Harbour", "Old Town", "Market", "Campus", "Hillside")
_COLOURS = {
    Decision.PUBLISHED: "\x1b[32m",
    Decision.SKIPPED: "\x1b[2m",
    Decision.NULLIFIED: "\x1b[33m",
    Decision.LOST: "\x1b[31m",
}
_PLAIN, _BOLD = "\x1b[0m", "\x1b[1m"


class Table:
    """Writes to a terminal or a file; colour only where it is wanted."""

    def __init__(self, out: TextIO, *, colour: bool) -> None:
        self._out, self._colour = out, colour

    def head(self, title: str) -> None:
        """What is published, and the names of the columns."""
        districts = "".join(f"{name:>10}" for name in _SHOWN)
        self._say(title)
        self._say()
        self._say(f"{'slot':>5}  {'time':5}  {'decision':9}  {'threshold':>9}  {'std.error':>9}{districts}", _BOLD)

    def line(self, release: Release) -> None:
        """One slot, as the public sees it."""
        slot, decision = release.slot, release.decision
        threshold = "-" if release.threshold is None else f"{release.threshold:.4f}"
        mean = float(np.mean(release.standard_error))
        error = f"{mean:.1f}" if np.isfinite(mean) else "-"
        counts = "".join(f"{round(float(release.counts[DISTRICTS.index(name)])):>10,}" for name in _SHOWN)
        line = f"{slot:>5}  {clock(slot):5}  {decision:9}  {threshold:>9}  {error:>9}{counts}"
        self._say(line, _COLOURS[decision])

    def summary(
        self,
        decisions: Mapping[str, int],
        events: Mapping[str, int],
        scores: Mapping[str, Score],
        worst: Fraction,
        windows: int,
    ) -> None:
        """What was decided, how far off it was, and whether the promises were kept."""
        self._say()
        self._say("decisions      " + ", ".join(f"{decisions.get(kind, 0)} {kind}" for kind in Decision))
        kinds = ("joined", "left", "returned", "changed")
        self._say("people         " + ", ".join(f"{events.get(kind, 0)} {kind}" for kind in kinds))
        self._say(f"error          {'mean squared':>12}  {'mean absolute':>13}   of a district's count", _BOLD)
        for name, score in scores.items():
            self._say(f"  {name:12} {score.squared:>12,.1f}  {score.absolute:>13,.1f}")
        self._say("               (known only because the city is simulated: a real stream never shows its truth)")
        verdict = "every promise was kept" if worst <= 1 else "A PROMISE WAS BROKEN"
        ratio = math.ceil(1000 * worst) / 1000  # up, so that no ratio above 1 is ever shown as 1.000
        self._say(f"worst window   spent / allowed = {ratio:.3f} over {windows:,} windows: {verdict}", _BOLD)

    def _say(self, text: str = "", colour: str = "") -> None:
        line = f"{colour}{text}{_PLAIN}" if self._colour and colour else text
        self._out.write(line + "\n")
        self._out.flush()


def title(mechanism: str, people: int, slots: int, seed: int) -> str:
    """One line that says what is being published."""
    city = f"{people:,} people in {len(DISTRICTS)} districts of a simulated city"
    return f"{mechanism}: {city}, {slots} slots of {24 * 60 // QUARTERS} minutes (seed {seed})"
