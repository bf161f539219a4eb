"""Compares results with the values that the paper prints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wevent.errors import InvalidSetting
from wevent.study import results
from wevent.study.metrics import geometric_mean
from wevent.study.reporting.paper import as_in_the_paper, printed_value
from wevent.study.reporting.summary import Stat, stat
from wevent.study.requirements import EPSILONS, WINDOWS

USUAL = (0.6, 120)
SETTINGS = tuple(dict.fromkeys([(e, USUAL[1]) for e in EPSILONS] + [(USUAL[0], w) for w in WINDOWS]))
"""Epsilon and window of every column of the two tables, the shared one once."""

DATA = ("sin", "log", "tlns", "taxi", "foursquare")
MECHANISMS = ("bd", "ba", "pbd", "pba", "dpbd", "dpba", "plbu", "spas")
"""The data sets and mechanisms whose values are printed."""

Setting = tuple[float, int]


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """One printed value and ours."""

    data: str
    mechanism: str
    setting: Setting
    paper: float
    ours: Stat

    @property
    def factor(self) -> float:
        """How far off the closer one of mean and median is, as a factor from 1 on."""
        return min(_factor(self.ours.mean, self.paper), _factor(self.ours.median, self.paper))


@dataclass(frozen=True, slots=True)
class OrderClaim:
    """How often one mechanism's error is below another's, and by how much."""

    below: int
    of: int
    ratio: float


@dataclass(frozen=True, slots=True)
class ProtocolRuns:
    """All complete runs of one protocol, by data set, mechanism and setting; each once.

    Guarantees:
        Runs on fewer slots, other cells, two types or users left out are not among them.
    """

    rows: Mapping[tuple[str, str, Setting], Sequence[results.Row]] = field(repr=False)

    def errors(self, data: str, mechanism: str, setting: Setting = USUAL) -> Stat | None:
        """AMRE over rounds."""
        return stat(float(row["amre"]) for row in self.rows.get((data, mechanism, setting), ()))

    def data(self) -> tuple[str, ...]:
        """Data sets with results, those of the paper first."""
        found = dict.fromkeys(data for data, _, _ in self.rows)
        return tuple(name for name in DATA if name in found) + tuple(name for name in found if name not in DATA)

    def worst_window(self, mechanism: str) -> float | None:
        """The fullest window of a mechanism, anywhere."""
        found = [float(row["worst_window"]) for row in self._of(mechanism)]
        return max(found, default=None)

    def published(self, data: str, mechanism: str, setting: Setting = USUAL) -> float | None:
        """The share of slots that were published."""
        rows = self.rows.get((data, mechanism, setting), ())
        slots = sum(int(row["ran_slots"]) for row in rows)
        return sum(int(row["published"]) for row in rows) / slots if slots else None

    def compared(self, settings: Iterable[Setting] = SETTINGS) -> list[ComparedValue]:
        """Every printed value for which there are results."""
        found = []
        for data in DATA:
            for mechanism in MECHANISMS:
                for setting in settings:
                    paper, ours = printed_value(data, mechanism, *setting), self.errors(data, mechanism, setting)
                    if paper is not None and ours is not None:
                        found.append(ComparedValue(data, mechanism, setting, paper, ours))
        return found

    def claim(self, data: str, first: str, second: str) -> OrderClaim | None:
        """In how many settings the first mean is below the second, and the geometric mean of their ratios."""
        pairs = [(self.errors(data, first, setting), self.errors(data, second, setting)) for setting in SETTINGS]
        return _claim([a.mean / b.mean for a, b in pairs if a is not None and b is not None])

    def facts(self) -> dict[str, set[str]]:
        """What the runs have in common: every value of a few columns."""
        every = [row for rows in self.rows.values() for row in rows]
        return {name: {row[name] for row in every} for name in ("seed", "commit", "ran_slots", "ran_users")}

    def rounds(self) -> tuple[int, int]:
        """The least and the greatest number of rounds."""
        many = [len(rows) for rows in self.rows.values()]
        return min(many), max(many)

    def _of(self, mechanism: str) -> Iterable[results.Row]:
        return (row for (_, name, _), rows in self.rows.items() if name == mechanism for row in rows)


def read_runs(folder: Path, protocol: str, names: Sequence[str]) -> ProtocolRuns:
    """The runs of a protocol from result files.

    Guarantees:
        A file that is missing, or holds no complete run, raises `InvalidSetting` that says how to make it.
    """
    kept: dict[results.Key, results.Row] = {}
    for name in names:
        read = results.read(folder / f"{name}.csv")
        found = {results.key_of(row): row for row in read if row["protocol"] == protocol and as_in_the_paper(row)}
        if not found:
            raise InvalidSetting(f"{folder / name}.csv holds no complete runs; make them with: wevent study run {name}")
        kept = {**found, **kept}
    rows: dict[tuple[str, str, Setting], list[results.Row]] = defaultdict(list)
    for row in kept.values():
        rows[row["data"], row["mechanism"], (float(row["epsilon"]), int(row["window"]))].append(row)
    return ProtocolRuns(dict(rows))


def paper_claim(data: str, first: str, second: str) -> OrderClaim | None:
    """The same of the printed values."""
    pairs = [(printed_value(data, first, *at), printed_value(data, second, *at)) for at in SETTINGS]
    return _claim([a / b for a, b in pairs if a is not None and b is not None])


def _claim(ratios: Sequence[float]) -> OrderClaim | None:
    return OrderClaim(sum(ratio < 1 for ratio in ratios), len(ratios), geometric_mean(ratios)) if ratios else None


def _factor(ours: float, paper: float) -> float:
    return max(ours / paper, paper / ours) if ours > 0 else float("inf")
