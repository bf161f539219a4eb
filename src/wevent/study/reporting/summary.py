"""Groups rows of results into panels, and summarises rounds by mean, median and spread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import mean, median

from wevent.study.experiment import Experiment, Point
from wevent.study.reporting.labels import SCALES
from wevent.study.reporting.paper import printed_beside
from wevent.study.results import Row, sortable

Where = tuple[str, ...]
"""The values of the varied parameters, as they stand in the rows, in the order of the experiment."""


@dataclass(frozen=True, slots=True)
class Stat:
    """One number over all rounds."""

    rounds: int
    mean: float
    median: float
    least: float
    greatest: float


@dataclass(frozen=True, slots=True)
class Panel:
    """One data set in one setting.

    Attributes:
        data: its name.
        label: the name, with what sets it apart where a data set has several panels.
        places: where on the varied parameters there are results, in ascending order.
        mechanisms: those that have results in this panel, in the order of the experiment.
        rows: by mechanism and place, one for each round.
    """

    data: str
    label: str
    places: tuple[Where, ...]
    mechanisms: tuple[str, ...]
    rows: Mapping[tuple[str, Where], Sequence[Row]] = field(repr=False)

    def stat(self, metric: str, mechanism: str, where: Where) -> Stat | None:
        """A metric over all rounds, in the unit that its label names; None where nothing was computed."""
        rows = self.rows.get((mechanism, where), ())
        scale = SCALES.get(metric, 1.0)
        return stat(scale * float(row[metric]) for row in rows if row[metric] != "")

    def printed(self, metric: str, mechanism: str, where: Where) -> float | None:
        """The value that the paper prints for this place."""
        rows = self.rows.get((mechanism, where), ())
        return printed_beside(rows[0], metric) if rows else None

    def best(self, metric: str, where: Where) -> str | None:
        """The mechanism with the least mean; None where fewer than two can be compared."""
        found = {name: stat.mean for name in self.mechanisms if (stat := self.stat(metric, name, where)) is not None}
        return min(found, key=lambda name: found[name]) if len(found) > 1 else None

    def all_rows(self) -> list[Row]:
        """Every row of the panel."""
        return [row for rows in self.rows.values() for row in rows]


def stat(values: Iterable[float]) -> Stat | None:
    """Mean, median and spread; None of nothing."""
    ordered = sorted(values)
    if not ordered:
        return None
    return Stat(len(ordered), mean(ordered), median(ordered), ordered[0], ordered[-1])


def panels(experiment: Experiment, rows: Iterable[Row]) -> tuple[Panel, ...]:
    """The panels of an experiment, in the order of its data sets.

    Guarantees:
        Only rows of the experiment's protocol, data sets and mechanisms are in a panel.
        Rows of different settings (slots, users, …) are never put together.
    """
    varied = [name for name, _ in experiment.vary]
    fixed = [name for name in asdict(Point("")) if name not in (*varied, "data")]
    groups: dict[tuple[str, Where], dict[tuple[str, Where], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["protocol"] == experiment.protocol and row["mechanism"] in experiment.mechanisms:
            group = groups[row["data"], tuple(row[name] for name in (*fixed, "seed"))]
            group[row["mechanism"], tuple(row[name] for name in varied)].append(row)
    found = []
    for data in experiment.data + experiment.downloads:
        settings = sorted((setting for name, setting in groups if name == data), key=_order)
        for setting in settings:
            label = data if len(settings) == 1 else _apart(data, (*fixed, "seed"), setting, settings)
            found.append(_panel(data, label, experiment.mechanisms, groups[data, setting]))
    return tuple(found)


def _panel(data: str, label: str, names: Sequence[str], rows: Mapping[tuple[str, Where], Sequence[Row]]) -> Panel:
    places = sorted({where for _, where in rows}, key=_order)
    found = {name for name, _ in rows}
    return Panel(data, label, tuple(places), tuple(name for name in names if name in found), dict(rows))


def _apart(data: str, names: Sequence[str], setting: Where, settings: Sequence[Where]) -> str:
    """The name of a data set with the settings in which its panels differ."""
    differ = [k for k in range(len(names)) if len({other[k] for other in settings}) > 1]
    words = [f"{names[k]} {setting[k] or 'usual'}" for k in differ]
    return f"{data} ({', '.join(words)})"


def _order(texts: Where) -> list[tuple[int, float, str]]:
    return [sortable(text) for text in texts]
