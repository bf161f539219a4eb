"""What mechanisms look like in plots: a name comes in, the same colour, line and marker in every figure goes out.

Hues are those that people with any form of colour blindness can tell apart (Okabe and Ito). A hue stands for a
family, line and marker for its members, so no two mechanisms differ by colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Look:
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
        return {
            "figure.facecolor": self.paper,
            "axes.facecolor": self.paper,
            "savefig.facecolor": self.paper,
            "text.color": self.ink,
            "axes.labelcolor": self.ink,
            "axes.titlecolor": self.ink,
            "axes.edgecolor": self.faint,
            "xtick.color": self.ink,
            "ytick.color": self.ink,
            "grid.color": self.faint,
            "grid.linewidth": 0.6,
            "axes.grid": True,
            "axes.grid.axis": "y",
            "axes.axisbelow": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 11,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "font.size": 10,
            "legend.frameon": False,
            "legend.labelcolor": self.ink,
        }


LIGHT = Theme("#ffffff", "#1c2026", "#d5d9df", "#b3261e")
DARK = Theme("#15181d", "#e4e7eb", "#3a4049", "#ff8a80")

_BLUE, _SKY, _ORANGE, _RED, _GREEN, _PINK, _VIOLET, _GREY, _GOLD = (
    "#1f7fc4",
    "#56b4e9",
    "#e69f00",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#8b6fc9",
    "#8a8f98",
    "#a8890b",
)

LOOKS = {
    "bd": Look(_SKY, ":", "o"),
    "bd_deviation": Look(_SKY, "-.", "H"),
    "pbd": Look(_BLUE, "-", "o"),
    "dpbd": Look(_BLUE, "--", "D"),
    "ba": Look(_ORANGE, ":", "s"),
    "ba_deviation": Look(_ORANGE, "-.", "P"),
    "pba": Look(_RED, "-", "s"),
    "dpba": Look(_RED, "--", "^"),
    "spas": Look(_GREEN, "-", "v"),
    "fast": Look(_GREEN, "--", "*"),
    "rescuedp": Look(_GREEN, ":", "h"),
    "pegasus": Look(_GREEN, "-.", "8"),
    "plbu": Look(_PINK, "-", "X"),
    "plbu_sum": Look(_PINK, "--", "<"),
    "lbu": Look(_PINK, ":", ">"),
    "lbd": Look(_VIOLET, ":", "o"),
    "lba": Look(_VIOLET, ":", "s"),
    "lpu": Look(_VIOLET, "-", "d"),
    "lpd": Look(_VIOLET, "--", "D"),
    "lpa": Look(_VIOLET, "--", "^"),
    "uniform": Look(_GREY, "-", "d"),
    "sample": Look(_GREY, "--", "p"),
    "auto": Look(_GOLD, "-", "*"),
    "auto_pooled": Look(_GOLD, "--", "D"),
    "auto_uncorrected": Look(_GOLD, ":", "d"),
    "auto_dynamic": Look(_GOLD, "-.", "P"),
    "auto_dynamic_pooled": Look(_GOLD, "-.", "X"),
}
"""The looks of all mechanisms that come with the package."""

_OWN = tuple(Look(_GREY, line, marker) for line in (":", "-.") for marker in ("o", "s", "^", "v", "X", "P"))

PARTS = {"noise": _BLUE, "variance": _ORANGE, "bias": _RED}
"""Colours of the parts of an error."""


def look(name: str) -> Look:
    """The look of a mechanism; one of one's own gets a grey one that depends on its name alone."""
    return LOOKS.get(name) or _OWN[sum(name.encode()) % len(_OWN)]
