"""Looks up the values that the paper prints.

`paper.csv` beside this file holds the two tables of [Du25] that are printed as numbers, "E varied" and "w varied".
All their values are AMRE, means of ten rounds.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

PRINTED_METRIC = "amre"
"""The only metric whose values are printed as numbers."""

_UNUSUAL = ("share", "other_epsilon", "other_window", "cells", "slots", "users")


def printed_value(data: str, mechanism: str, epsilon: float, window: int) -> float | None:
    """The printed AMRE; None where the paper prints none.

    Guarantees:
        Where both tables print a setting they agree, so which table it comes from makes no difference.
    """
    return _values().get((data, mechanism, epsilon, window))


def printed_beside(row: Mapping[str, str], metric: str) -> float | None:
    """The printed value of a row of results.

    Guarantees:
        None unless the row was run as the paper ran it.
    """
    if metric != PRINTED_METRIC or not as_in_the_paper(row):
        return None
    return printed_value(row["data"], row["mechanism"], float(row["epsilon"]), int(row["window"]))


def as_in_the_paper(row: Mapping[str, str]) -> bool:
    """Whether a row was run on the whole stream, with its usual users and cells, ten types and presence `carry`."""
    return row["presence"] == "carry" and not any(row[name] for name in _UNUSUAL)


@cache
def _values() -> dict[tuple[str, str, float, int], float]:
    text = files("wevent.study.reporting").joinpath("paper.csv").read_text("utf-8")
    return {
        (row["data"], row["mechanism"], float(row["epsilon"]), int(row["window"])): float(row["value"])
        for row in csv.DictReader(text.splitlines())
    }
