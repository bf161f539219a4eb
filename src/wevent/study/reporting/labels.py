"""How things are called in tables and plots: names and numbers come in, words and figures for people go out."""

from __future__ import annotations

import math

MECHANISMS = {
    "bd": "BD",
    "bd_deviation": "BD (deviation test)",
    "ba": "BA",
    "ba_deviation": "BA (deviation test)",
    "pbd": "PBD",
    "pba": "PBA",
    "dpbd": "DPBD",
    "dpba": "DPBA",
    "spas": "SPAS",
    "plbu": "PLBU",
    "plbu_sum": "PLBU (plain sum)",
    "lbu": "LBU",
    "uniform": "Uniform",
    "sample": "Sample",
    "auto": "auto",
    "auto_pooled": "auto, pooled",
    "auto_uncorrected": "auto, pooled without contrast",
    "auto_dynamic": "auto, moving requirements",
    "auto_dynamic_pooled": "auto, pooled, moving requirements",
    "fast": "FAST",
    "rescuedp": "RescueDP",
    "pegasus": "PeGaSus",
    "lbd": "LBD",
    "lba": "LBA",
    "lpu": "LPU",
    "lpd": "LPD",
    "lpa": "LPA",
}

METRICS = {
    "amre": "AMRE (mean squared error of a cell)",
    "mae": "MAE (mean absolute error of a cell)",
    "mre": "MRE (mean relative error of a cell)",
    "ajsd": "AJSD (Jensen-Shannon divergence, normalised)",
    "ajsd_raw": "AJSD on raw counts, as printed",
    "awd": "AWD (Wasserstein distance over the cell index)",
    "awd_plane": "AWD over the plane",
    "published": "slots published",
    "skipped": "slots skipped",
    "nullified": "slots nullified",
    "worst_window": "worst window (spent / allowed)",
    "seconds_per_slot": "milliseconds per slot",
    "change_noise": "measuring change: noise",
    "change_variance": "measuring change: sampling variance",
    "change_bias": "measuring change: squared bias",
    "release_noise": "release: noise",
    "release_variance": "release: sampling variance",
    "release_bias": "release: squared bias",
}

SCALES = {"seconds_per_slot": 1000.0}
"""What a number of a row is multiplied with to be in the unit that its label names."""

PARAMETERS = {
    "epsilon": "budget E of the strictest user",
    "window": "window w of the strictest user",
    "share": "share of users of the first type",
    "other_epsilon": "budget of the second type",
    "other_window": "window of the second type",
    "cells": "cells d",
    "slots": "slots T",
    "users": "users N",
    "presence": "people without a record",
}

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

OVERSPENT = 1 + 1e-9
"""A window that holds more budgets than this is overspent: `printed` counts in doubles, which err by less."""


def mechanism(name: str) -> str:
    """What a mechanism is called; its own name if it is somebody's own."""
    return MECHANISMS.get(name, name)


def metric(name: str) -> str:
    """What a metric is called."""
    return METRICS.get(name, name)


def parameter(name: str) -> str:
    """What a parameter of a point is called."""
    return PARAMETERS.get(name, name)


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
