"""Correcting pooled counts: private contrasts come in, one per publication, corrected evidence goes out.

Pooled counts lean towards lenient people. A contrast says by how much, with far more noise than the counts have, so
that it is gathered slowly: per cell one slope, relative to the level, that hardly moves. One of the models says
that there is no slope at all, so that nothing is corrected without evidence.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from wevent.decisions.estimators import Evidence
from wevent.releases.bank import Bank, Floats

_SIZES = (0.0, 0.01, 0.1, 1.0)
"""Variances of a relative slope before anything is known; 1 is a cell that only strict or only lenient people visit."""

_MOVES = (0.0, 1e-5, 1e-4)
"""How much of that variance a slope moves by per slot."""

_DOUBT = 0.1
"""Models are believed in by 1 / (variance + this). Less of it corrects noise less, and finds a real slope later."""


class Correction:
    """What has been learned about how strict and lenient people differ.

    Guarantees:
        A function of public evidence.
        Evidence without a contrast passes unchanged until a contrast was seen.
    """

    def __init__(self, cells: int) -> None:
        size, moves = (grid.ravel() for grid in np.meshgrid(_SIZES, _MOVES))
        self._bank = Bank(cells, size * moves, np.zeros(size.size), size, 1 / (size + _DOUBT))
        self._one = np.ones(cells)
        self._slot = 0
        self._leverage = 0.0

    def correct(self, slot: int, evidence: Evidence, level: Floats, people: int) -> tuple[Evidence, Floats]:
        """Evidence without its lean, and the variance of the correction, which no averaging removes (axes: cell).

        Args:
            slot: of the publication.
            evidence: with or without a contrast.
            level: what is known of the counts so far (axes: cell).
            people: how many are registered.
        """
        contrast = evidence.contrast
        if contrast is None and self._slot == 0:
            return evidence, np.zeros(level.size)
        # A person is in a cell or not: where nearly everybody is, strict and lenient people cannot differ much.
        inside = np.clip(level, 0.0, people)
        scale = np.maximum(inside * (1 - inside / max(people, 1)), 1.0)
        if contrast is not None:
            gap = slot - self._slot if self._slot else 0
            self._bank.update(gap, contrast.slope / scale, contrast.variance / np.square(scale), self._one)
            self._slot, self._leverage = slot, contrast.leverage
        slope, variance, _ = self._bank.now(self._one)
        lean = scale * self._leverage
        return Evidence(evidence.counts - slope * lean, evidence.variance), variance * np.square(lean)

    def copy(self) -> Self:
        """An independent one that learned the same."""
        twin = copy(self)
        twin._bank = copy(self._bank)
        return twin

    def state(self) -> dict[str, Any]:
        """Everything that was learned."""
        leverage = np.array([self._leverage])
        return {"bank": self._bank.state(), "slot": self._slot, "leverage": leverage}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with what was learned before."""
        self._bank.restore(state["bank"])
        self._slot, self._leverage = state["slot"], float(state["leverage"][0])
