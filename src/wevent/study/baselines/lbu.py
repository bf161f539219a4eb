"""Implements LBU and PLBU: everybody reports in every slot with the same small budget.

LBU gives everybody the strictest requirement [Ren22]; PLBU gives everybody their own, and joins the groups [Du25].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from wevent import Fixed, Register
from wevent.extend import Counts, Noise, Offer, Units
from wevent.study.baselines.base import DesiredSpend
from wevent.study.baselines.local import LocalBaseline
from wevent.study.baselines.oracle import GRR, OUE, Floats, FrequencyOracle, kind_for


class LBU(LocalBaseline):
    """Local budget uniform: E/w in every slot, one requirement for all. [Ren22]."""

    name: ClassVar[str] = "lbu"

    def propose(self) -> DesiredSpend:
        """The rate E/w of each row, always published."""
        rate = self.ledger.view().fixed_rate
        return DesiredSpend(np.zeros_like(rate), rate)

    def draw(self, data: Counts, offer: Offer) -> npt.NDArray[np.float64]:
        """The estimate from everybody's reports."""
        return self.collect(data.sum(axis=0), int(offer.publish_budget[0])).counts


@dataclass(frozen=True, slots=True)
class ReportingGroups:
    """Groups of rows that spend alike and report through one kind of oracle.

    Attributes:
        rows: the rows, those of a group next to each other.
        starts: where each group begins among them (axes: group).
        people: how many people each group has (axes: group).
    """

    oracle: FrequencyOracle
    rows: npt.NDArray[np.int64] = field(repr=False)
    starts: npt.NDArray[np.int64] = field(repr=False)
    people: Counts = field(repr=False)

    def collect(self, data: Counts, noise: Noise) -> Floats:
        """Unbiased counts of each group (axes of `data`: row, symbol; of the result: group, symbol)."""
        counts = np.add.reduceat(data[self.rows], self.starts, axis=0)
        return self.oracle.read(self.oracle.supports(counts, noise), self.people).counts


class PLBU(LBU):
    """Personalised LBU: E_i/w_i in every slot; frequencies of the groups are weighted by how exact they are.

    Groups of equal E_i/w_i estimate the same frequencies each by themselves. [Du25] compares with it; the weights
    n(p-q)²/(q(1-q)) are those of least variance for rare cells.

    Guarantees:
        Unbiased if the groups have the same frequencies; then never less exact than its best group, for rare cells.
    """

    name: ClassVar[str] = "plbu"

    def open_rows(self, register: Register) -> None:
        """One row for each row of the register, with its own requirement."""
        required = [register.table[k] for k in register.required.tolist()]
        fixed = [requirement for requirement in required if isinstance(requirement, Fixed)]
        epsilon = np.array([requirement.units for requirement in fixed], np.int64)
        window = np.array([requirement.window for requirement in fixed], np.int64)
        self.ledger.open_fixed(epsilon, window, register.sizes)
        self._spends: Units | None = None
        self._groups: list[ReportingGroups] = []

    def draw(self, data: Counts, offer: Offer) -> npt.NDArray[np.float64]:
        """What the groups report, joined."""
        if self._spends is None or not np.array_equal(self._spends, offer.publish_budget):
            self._spends, self._groups = offer.publish_budget, self._group(offer.publish_budget)
        answers = [group.collect(data, self.noise)[:, : len(self.domain)] for group in self._groups]
        return self.join(answers, self._groups)

    def join(self, answers: list[Floats], groups: list[ReportingGroups]) -> npt.NDArray[np.float64]:
        """One count per cell out of those of the groups (axes of each answer: group, cell)."""
        weight = sum(float((group.people / group.oracle.spread).sum()) for group in groups)
        parts = [(1 / group.oracle.spread) @ answer for group, answer in zip(groups, answers, strict=True)]
        return np.asarray(np.sum(parts, axis=0) * (self.people / weight))

    def _group(self, spends: Units) -> list[ReportingGroups]:
        """Rows by what they spend, apart for each kind of oracle that is in use."""
        order = np.argsort(spends, kind="stable")
        kinds = np.array([kind_for(spend, self.symbols).name for spend in spends[order].tolist()])
        groups = []
        for kind in (GRR, OUE):
            rows = order[kinds == kind.name]
            if rows.size:
                budgets, starts = np.unique(spends[rows], return_index=True)
                people = np.add.reduceat(self.sizes[rows], starts)
                groups.append(ReportingGroups(kind(budgets, self.symbols), rows, starts, people))
        return groups


class PLBUSum(PLBU):
    """PLBU that adds the counts of the groups up instead of weighting them.

    Guarantees:
        Unbiased even if the groups have different frequencies.
    """

    name: ClassVar[str] = "plbu_sum"

    def join(self, answers: list[Floats], groups: list[ReportingGroups]) -> npt.NDArray[np.float64]:
        """The sum over all groups."""
        return np.asarray(np.sum([answer.sum(axis=0) for answer in answers], axis=0))
