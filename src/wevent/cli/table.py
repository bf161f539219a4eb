"""Lines for people: releases and results come in, aligned text goes out, line by line."""

from __future__ import annotations

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
        threshold = "-" if release.threshold is None else f"{release.threshold:.4f}"
        error = float(np.mean(release.standard_error))
        typical = f"{error:.1f}" if np.isfinite(error) else "-"
        counts = "".join(f"{release.counts[DISTRICTS.index(name)]:>10,}" for name in _SHOWN)
        self._say(
            f"{release.slot:>5}  {clock(release.slot):5}  {release.decision:9}  {threshold:>9}  {typical:>9}{counts}",
            _COLOURS[release.decision],
        )

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
        told = ("joined", "left", "returned", "changed")
        self._say("people         " + ", ".join(f"{events.get(event, 0)} {event}" for event in told))
        self._say(f"error          {'mean squared':>12}  {'mean absolute':>13}   of a district's count", _BOLD)
        for name, score in scores.items():
            self._say(f"  {name:12} {score.squared:>12,.1f}  {score.absolute:>13,.1f}")
        self._say("               (known only because the city is simulated: a real stream never shows its truth)")
        verdict = "every promise was kept" if worst <= 1 else "A PROMISE WAS BROKEN"
        # Rounded up, so that a ratio above 1 can never be shown as 1.000.
        self._say(
            f"worst window   spent / allowed = {-(-1000 * worst // 1) / 1000:.3f} over {windows:,} windows: {verdict}",
            _BOLD,
        )

    def _say(self, text: str = "", colour: str = "") -> None:
        line = f"{colour}{text}{_PLAIN}" if self._colour and colour else text
        self._out.write(line + "\n")
        self._out.flush()


def title(mechanism: str, people: int, slots: int, seed: int) -> str:
    """One line that says what is being published."""
    days = f"{slots} slots of {24 * 60 // QUARTERS} minutes"
    return f"{mechanism}: {people:,} people in {len(DISTRICTS)} districts of a simulated city, {days} (seed {seed})"
