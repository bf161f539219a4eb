"""Says how names and numbers are written in tables and plots; the names stand in `templates/labels.toml`."""

from __future__ import annotations

import math

from wevent.study.reporting.prose import read_table

SCALES = {"seconds_per_slot": 1000.0}
"""What a number of a row is multiplied with to be in the unit that its label names."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

OVERSPENT = 1 + 1e-9
"""A window that holds more budgets than this is overspent: `printed` counts in doubles, which err by less."""


def mechanism(name: str) -> str:
    """What a mechanism is called; its own name if the package does not know it."""
    return _label("mechanisms", name)


def metric(name: str) -> str:
    """What a metric is called."""
    return _label("metrics", name)


def parameter(name: str) -> str:
    """What a parameter of a point is called."""
    return _label("parameters", name)


def _label(kind: str, name: str) -> str:
    return str(read_table("labels.toml")[kind].get(name, name))


def number(value: float) -> str:
    """Three significant digits, thousands apart.

    Guarantees:
        Never more than three digits that are not zeros; never fewer than three where there are any.
    """
    if not math.isfinite(value):
        return "∞" if value > 0 else "–"
    if value == 0:
        return "0"
    rounded = float(f"{value:.2e}")
    power = math.floor(math.log10(abs(rounded)))
    if power < -4 or power > 14:
        digits, _, exponent = f"{rounded:.2e}".partition("e")
        return f"{digits} × 10{str(int(exponent)).translate(_RAISED)}"
    return f"{rounded:,.{max(2 - power, 0)}f}"


def times(factor: float) -> str:
    """A factor, as in ×1.08."""
    return f"×{number(factor)}"


def many(count: int, thing: str) -> str:
    """A count of things: 1 round, 10 rounds."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def span(least: int, most: int, thing: str) -> str:
    """A count, or the range of a count, of things."""
    return many(most, thing) if least == most else f"{least:,} to {many(most, thing)}"


def listing(words: list[str] | tuple[str, ...]) -> str:
    """Words with commas and a last "and"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
