"""Reads experiments from TOML files, and lists the tasks that an experiment consists of.

A task is one point of the experiment (data set, epsilon, window, …) in one round; all its mechanisms run side by
side on the same data and requirements.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

from wevent.errors import InvalidSetting, UnknownName
from wevent.study.datasets.catalog import check_name
from wevent.study.datasets.stream import DataOptions, Presence
from wevent.study.mechanisms import known_mechanism
from wevent.study.metrics import known_metric
from wevent.study.protocols.score import PARTS

Protocol = Literal["honest", "printed"]
METRICS = ("amre", "mae", "mre", "ajsd", "awd")
SHOWN = ("seconds_per_slot", "published", "skipped", "nullified", "worst_window", *PARTS)
"""What every run yields besides its metrics, and can be shown."""


@dataclass(frozen=True, slots=True)
class Point:
    """The parameters of a task: everything that decides its numbers except round and mechanism.

    Attributes:
        data: name of a data set, or path of a file.
        epsilon: the strictest epsilon.
        window: the longest window.
        share: of the first of two types; None for ten drawn types.
        other_epsilon: epsilon of the second type.
        other_window: window of the second type.
        cells: how many cells the data set is cut into; None for its usual number.
        slots: at most so many slots; None for all.
        users: of a synthetic set; None for its usual number.
        presence: what a slot without a record of a user means.
        slot_width: how long a slot lasts, where a file of your own has times.
        requirements: path of a file with user, epsilon, window, instead of drawn types.
        dynamic: path of a file with user, slot, epsilon, window: how they change.
    """

    data: str
    epsilon: float = 0.6
    window: int = 120
    share: float | None = None
    other_epsilon: float | None = None
    other_window: int | None = None
    cells: int | None = None
    slots: int | None = None
    users: int | None = None
    presence: Presence = "carry"
    slot_width: str | None = None
    requirements: str | None = None
    dynamic: str | None = None

    def options(self, folder: Path) -> DataOptions:
        """How the data of the point are opened."""
        return DataOptions(self.slots, self.users, self.cells, self.presence, folder, self.slot_width)


@dataclass(frozen=True, slots=True)
class Task:
    """One point in one round: what a worker runs."""

    protocol: Protocol
    point: Point
    round: int
    seed: int
    mechanisms: tuple[str, ...]
    metrics: tuple[str, ...]


_VARIED = tuple(field.name for field in fields(Point) if field.name != "data")


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table or figure.

    Attributes:
        name: of its file.
        title: for people.
        data: data sets; each is run.
        downloads: data sets that are run only where their files have been downloaded.
        mechanisms: names.
        protocol: how the stream is run.
        metrics: what is computed, and shown.
        show: which of the metrics, parts or `seconds_per_slot` its tables and plots show.
        vary: parameters of a point with the values they take; all combinations are run.
        base: parameters of a point that stay the same.
        rounds: how often everything is drawn anew.
        seed: of everything.
        runs: the name of another experiment that runs the same tasks and whose results are shown here.
        jobs: at most so many processes; 0 for all cores.
        paper: the table or figure of the paper, for the report.
        about: what there is to see, in a sentence, for the report.
    """

    name: str
    title: str
    data: tuple[str, ...]
    mechanisms: tuple[str, ...]
    downloads: tuple[str, ...] = ()
    protocol: Protocol = "honest"
    metrics: tuple[str, ...] = METRICS
    show: tuple[str, ...] = ("amre",)
    vary: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    base: tuple[tuple[str, Any], ...] = ()
    rounds: int = 10
    seed: int = 1
    runs: str | None = None
    jobs: int = 0
    paper: str = ""
    about: str = ""

    def points(self, data: Sequence[str] | None = None) -> Iterator[Point]:
        """Every point, in the order of the file."""
        names = [name for name, _ in self.vary]
        for dataset in self.data + self.downloads if data is None else data:
            for values in product(*(values for _, values in self.vary)):
                yield Point(dataset, **{**dict(self.base), **dict(zip(names, values, strict=True))})

    def tasks(self, data: Sequence[str] | None = None) -> Iterator[Task]:
        """Every task: round by round, so that an interrupted run has something of each point."""
        points = list(self.points(data))
        for number in range(1, self.rounds + 1):
            for point in points:
                yield Task(self.protocol, point, number, self.seed, self.mechanisms, self.metrics)

    def quick(self) -> Experiment:
        """The same in small: two rounds, at most 400 slots and 1,000 users; to see that everything works."""
        base = {**dict(self.base), "slots": 400, "users": 1_000}
        return replace(self, rounds=min(self.rounds, 2), base=tuple(base.items()))


def load(path: Path) -> Experiment:
    """Read an experiment.

    Guarantees:
        An unknown key, data set, mechanism, metric or parameter raises `UnknownName`, which lists the known ones.
    """
    try:
        table = tomllib.loads(path.read_text())
    except FileNotFoundError:
        beside = sorted(file.stem for file in path.parent.glob("*.toml")) if path.parent.is_dir() else []
        listed = f"; there are {', '.join(beside)}" if beside else ""
        raise InvalidSetting(f"no experiment at {path}{listed}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{path} is no TOML file: {error}") from None
    return from_table(path.stem, table)


def from_table(name: str, table: Mapping[str, Any]) -> Experiment:
    """Check what a TOML file says."""
    keys = tuple(field.name for field in fields(Experiment) if field.name != "name")
    _all_known("key", table, keys)
    missing = [key for key in ("title", "data", "mechanisms") if key not in table]
    if missing:
        raise InvalidSetting(f"experiment {name} says nothing about {', '.join(missing)}")
    vary, base = _table(name, table, "vary"), _table(name, table, "base")
    for given in (vary, base):
        _all_known("parameter", given, _VARIED)
    others = {key: value for key, value in table.items() if key not in ("vary", "base")}
    plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in others.items()}
    varied = tuple((key, tuple(values)) for key, values in vary.items())
    experiment = Experiment(name=name, vary=varied, base=tuple(base.items()), **plain)
    _check(experiment)
    return experiment


def _check(experiment: Experiment) -> None:
    if experiment.protocol not in (known := get_args(Protocol)):
        raise UnknownName(f"no protocol is called {experiment.protocol!r}; known are {', '.join(known)}", known=known)
    for name in experiment.data + experiment.downloads:
        check_name(name)
    for name in experiment.mechanisms:
        known_mechanism(name)
    for name in experiment.metrics:
        if name != "awd_plane":
            known_metric(name)
    _all_known("number to show", experiment.show, (*experiment.metrics, *SHOWN))
    if not isinstance(experiment.rounds, int) or experiment.rounds < 1:
        raise InvalidSetting(f"rounds must be a whole number from 1 on, got {experiment.rounds!r}")
    for point in experiment.points():
        check_point(point)


def check_point(point: Point) -> None:
    """Refuse a point that cannot be run."""
    both = point.other_epsilon is not None and point.other_window is not None
    if point.share is not None and not both:
        raise InvalidSetting("a share of two types needs other_epsilon and other_window")
    if point.presence not in get_args(Presence):
        raise UnknownName(f"presence must be one of {', '.join(get_args(Presence))}", known=get_args(Presence))
    point.options(Path())  # refuses numbers that are none


def _table(name: str, table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    given = table.get(key, {})
    if not isinstance(given, Mapping):
        raise InvalidSetting(f"experiment {name}: [{key}] must be a table of parameters")
    if key == "vary" and not all(isinstance(values, list) and values for values in given.values()):
        raise InvalidSetting(f"experiment {name}: each parameter in [vary] needs a list of values")
    return given


def _all_known(what: str, given: Iterable[str], known: Sequence[str]) -> None:
    for key in given:
        if key not in known:
            raise UnknownName(f"no {what} is called {key!r}; known are {', '.join(known)}", known=tuple(known))
