"""Defines the score of one run of one mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

PARTS = ("change_noise", "change_variance", "change_bias", "release_noise", "release_variance", "release_bias")
"""Expected squared error, of measuring change and of releases: its noise, sampling variance and squared bias."""


@dataclass(frozen=True, slots=True)
class RunScore:
    """One mechanism on one stream.

    Attributes:
        slots: how many slots were run.
        errors: mean over slots of each metric, by name.
        decisions: how many slots were published, skipped, nullified.
        worst_window: the largest spend/allowed over all users and windows, exactly.
        seconds_per_slot: time in the mechanism's own step.
        parts: mean over slots of the parts of the error that threshold selection expects (`PARTS`); empty
            for mechanisms that select none.
    """

    slots: int
    errors: dict[str, float]
    decisions: dict[str, int]
    worst_window: Fraction
    seconds_per_slot: float
    parts: dict[str, float] = field(default_factory=dict)
