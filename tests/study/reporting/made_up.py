"""Results that nobody ran: rows with given errors, for tests of what is made of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path

from wevent.study import results
from wevent.study.experiment import Experiment, Point, Task
from wevent.study.protocols.score import PARTS, RunScore
from wevent.study.reporting.comparisons import SETTINGS
from wevent.study.reporting.paper import printed_value

Error = float | tuple[float, ...]
"""One for all rounds, or one for each."""

Made = dict[str, str]
"""A row that nobody ran."""

EIGHT = ("bd", "ba", "pbd", "pba", "dpbd", "dpba", "plbu", "spas")


def row(
    point: Point,
    mechanism: str,
    error: float,
    *,
    number: int = 1,
    protocol: str = "honest",
    private: str = "yes",
    worst: Fraction = Fraction(1),
    name: str = "made-up",
) -> dict[str, str]:
    """One row whose metrics are all the given error."""
    task = Task("printed" if protocol == "printed" else "honest", point, number, 1, (mechanism,), ("amre",))
    errors = dict.fromkeys(("amre", "mae", "mre", "ajsd", "ajsd_raw", "awd"), error)
    parts = {part: error * (k + 1) for k, part in enumerate(PARTS)}
    score = RunScore(100, errors, {"published": 25, "skipped": 70, "nullified": 5}, worst, 0.002, parts)
    return results.to_row(name, task, mechanism, score, private, users=50, cells=2)


def rows(experiment: Experiment, errors: Mapping[str, Error], private: Mapping[str, str] | None = None) -> list[Made]:
    """All rows of an experiment, each mechanism with its error in every round."""
    return [
        row(
            task.point,
            name,
            error if isinstance(error := errors[name], float) else error[task.round - 1],
            number=task.round,
            protocol=task.protocol,
            private=(private or {}).get(name, "not private" if task.protocol == "printed" else "yes"),
            worst=Fraction(7, 2) if task.protocol == "printed" else Fraction(1),
            name=experiment.name,
        )
        for task in experiment.tasks(experiment.data)
        for name in task.mechanisms
    ]


def whole_study(folder: Path, factors: Mapping[tuple[str, str], float], data: Iterable[str] = ("sin", "log")) -> None:
    """Result files of the four experiments that the page on reproduction is made of, two rounds each.

    Args:
        folder: where they are written.
        factors: by protocol and mechanism, ours over the paper's; 1 where left out. The two rounds lie 10 % below
            and above.
        data: which sets.
    """
    files: dict[str, list[dict[str, str]]] = {}
    for protocol, prefix in (("printed", "printed"), ("honest", "error")):
        names = EIGHT if protocol == "printed" else (*EIGHT, "ba_deviation")
        for epsilon, window in SETTINGS:
            for name_of_data in data:
                for name in names:
                    paper = printed_value(name_of_data, name.removesuffix("_deviation"), epsilon, window)
                    assert paper is not None
                    error = paper * factors.get((protocol, name), 1.0)
                    for number, way in ((1, 0.9), (2, 1.1)):
                        made = row(
                            Point(name_of_data, epsilon, window),
                            name,
                            error * way,
                            number=number,
                            protocol=protocol,
                            private="not private" if protocol == "printed" else "yes",
                            worst=Fraction(12, 5) if protocol == "printed" and name == "ba" else Fraction(1),
                        )
                        if window == 120:
                            files.setdefault(f"{prefix}_by_epsilon", []).append(made)
                        if epsilon == 0.6:
                            files.setdefault(f"{prefix}_by_window", []).append(made)
    for name, made_rows in files.items():
        results.write(folder / f"{name}.csv", made_rows)
