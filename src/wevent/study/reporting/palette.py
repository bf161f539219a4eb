"""Gives every mechanism the same colour, line and marker in every figure.

Hues are those that people with any form of colour blindness can tell apart (Okabe and Ito). A hue stands for a
family, line and marker for its members, so no two mechanisms differ by colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PlotStyle:
    """Colour, line style and marker of a mechanism."""

    colour: str
    line: str
    marker: str


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of paper and ink."""

    paper: str
    ink: str
    faint: str
    alarm: str

    def settings(self) -> dict[Any, Any]:
        """For matplotlib."""
        inked = ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color", "legend.labelcolor")
        return {
            **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), self.paper),
            **dict.fromkeys(inked, self.ink),
            **dict.fromkeys(("axes.edgecolor", "grid.color"), self.faint),
            **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
            **dict.fromkeys(("axes.grid", "axes.axisbelow"), True),
            **{"grid.linewidth": 0.6, "axes.grid.axis": "y", "font.size": 10},
            **{"axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left"},
        }


LIGHT = Theme("#ffffff", "#1c2026", "#d5d9df", "#b3261e")
DARK = Theme("#15181d", "#e4e7eb", "#3a4049", "#ff8a80")

_BLUE, _SKY, _ORANGE, _RED, _GREEN = "#1f7fc4", "#56b4e9", "#e69f00", "#d55e00", "#009e73"
_PINK, _VIOLET, _GREY, _GOLD = "#cc79a7", "#8b6fc9", "#8a8f98", "#a8890b"

PLOT_STYLES = {
    "bd": PlotStyle(_SKY, ":", "o"),
    "bd_deviation": PlotStyle(_SKY, "-.", "H"),
    "pbd": PlotStyle(_BLUE, "-", "o"),
    "dpbd": PlotStyle(_BLUE, "--", "D"),
    "ba": PlotStyle(_ORANGE, ":", "s"),
    "ba_deviation": PlotStyle(_ORANGE, "-.", "P"),
    "pba": PlotStyle(_RED, "-", "s"),
    "dpba": PlotStyle(_RED, "--", "^"),
    "spas": PlotStyle(_GREEN, "-", "v"),
    "fast": PlotStyle(_GREEN, "--", "*"),
    "rescuedp": PlotStyle(_GREEN, ":", "h"),
    "pegasus": PlotStyle(_GREEN, "-.", "8"),
    "plbu": PlotStyle(_PINK, "-", "X"),
    "plbu_sum": PlotStyle(_PINK, "--", "<"),
    "lbu": PlotStyle(_PINK, ":", ">"),
    "lbd": PlotStyle(_VIOLET, ":", "o"),
    "lba": PlotStyle(_VIOLET, ":", "s"),
    "lpu": PlotStyle(_VIOLET, "-", "d"),
    "lpd": PlotStyle(_VIOLET, "--", "D"),
    "lpa": PlotStyle(_VIOLET, "--", "^"),
    "uniform": PlotStyle(_GREY, "-", "d"),
    "sample": PlotStyle(_GREY, "--", "p"),
    "auto": PlotStyle(_GOLD, "-", "*"),
    "auto_pooled": PlotStyle(_GOLD, "--", "D"),
    "auto_uncorrected": PlotStyle(_GOLD, ":", "d"),
    "auto_dynamic": PlotStyle(_GOLD, "-.", "P"),
    "auto_dynamic_pooled": PlotStyle(_GOLD, "-.", "X"),
}
"""The styles of all mechanisms that come with the package."""

_OWN = tuple(PlotStyle(_GREY, line, marker) for line in (":", "-.") for marker in ("o", "s", "^", "v", "X", "P"))

PARTS = {"noise": _BLUE, "variance": _ORANGE, "bias": _RED}
"""Colours of the parts of an error."""


def plot_style(name: str) -> PlotStyle:
    """The style of a mechanism; one that the package does not know gets a grey style that depends on its name alone."""
    return PLOT_STYLES.get(name) or _OWN[sum(name.encode()) % len(_OWN)]
