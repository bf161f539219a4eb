"""Runs the tasks of an experiment on all cores and keeps every finished one.

A task's numbers depend on its seed alone, never on which process ran it or when.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

from wevent.errors import InvalidSetting, MissingData
from wevent.study import results
from wevent.study.datasets.catalog import open_stream
from wevent.study.datasets.stream import DataOptions, DataStream
from wevent.study.experiment import Experiment, Point, Task
from wevent.study.mechanisms import known_mechanism
from wevent.study.protocols import honest, printed
from wevent.study.requirement_files import read_requirements
from wevent.study.requirements import SEED_LABEL, StudyRequirements, draw_types, two_types
from wevent.study.seeds import seed_for


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How to run, which changes no number.

    Attributes:
        folder: where downloaded data lie.
        jobs: processes; 0 for all cores.
        plugins: Python files that add mechanisms or data sets.
    """

    folder: Path = Path("data")
    jobs: int = 0
    plugins: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is."""

    done: int
    all: int
    kept: int


def run_task(experiment: str, task: Task, folder: Path) -> list[dict[str, str]]:
    """All rows of one task.

    Guarantees:
        The same task gives the same rows, times and commit apart, in any process.
    """
    stream = open_point(task.point, folder)
    requirements = requirements_at(task.point, stream, task.seed, task.round)
    names = tuple(repr(value) for value in _identity(task.point))
    seeds = {name: seed_for(task.seed, "noise", *names, task.round, name) for name in task.mechanisms}
    data_seed = seed_for(task.seed, "data", task.point.data, task.round)
    run = honest.run if task.protocol == "honest" else printed.run
    scores = run(stream, requirements, seeds, task.metrics, data_seed=data_seed)
    size = stream.users, len(stream.cells)
    return [results.to_row(experiment, task, name, score, private(task, name), *size) for name, score in scores.items()]


def private(task: Task, mechanism: str) -> str:
    """What may be said of the privacy of a result."""
    if task.protocol == "printed":
        return "not private"
    return "yes" if known_mechanism(mechanism).proven else "accounted, not proven"


def open_point(point: Point, folder: Path) -> DataStream:
    """The data of a point; recorded sets stay open for the next task."""
    return _open(point.data, point.options(folder))


@lru_cache(maxsize=2)
def _open(name: str, options: DataOptions) -> DataStream:
    return open_stream(name, options)


def requirements_at(point: Point, stream: DataStream, seed: int, number: int) -> StudyRequirements:
    """The requirements at a point, in a round; drawn ones are the same for every data set of that many users."""
    users, strictest = stream.users, (point.epsilon, point.window)
    if point.requirements is not None or point.dynamic is not None:
        files = [None if given is None else Path(given) for given in (point.requirements, point.dynamic)]
        return read_requirements(stream, files[0], files[1], strictest)
    if point.share is not None and point.other_epsilon is not None and point.other_window is not None:
        second = (point.other_epsilon, point.other_window)
        return two_types(seed_for(seed, SEED_LABEL, strictest, second, number), users, strictest, second, point.share)
    return draw_types(seed_for(seed, SEED_LABEL, *strictest, number), users, *strictest)


class ExperimentRun:
    """One experiment on its way into one results file.

    Guarantees:
        Rows that the file already holds are not run again.
        Whatever interrupts it, every finished task is in the file; the next run continues from there.
        A data set of `downloads` whose files are missing is left out and listed in `missing`.
    """

    def __init__(self, experiment: Experiment, path: Path, settings: RunSettings | None = None) -> None:
        self.settings = settings or RunSettings()
        self.path, self.experiment = path, experiment
        load_plugins(self.settings.plugins)
        self.missing: dict[str, MissingData] = {}
        self.data = [name for name in experiment.data + experiment.downloads if self._there(name)]
        tasks = list(experiment.tasks(self.data))
        wanted = {results.any_round(key) for task in tasks for key in results.keys_of(task).values()}
        kept = [row for row in results.read(path) if results.any_round(results.key_of(row)) in wanted]
        results.write(path, kept)
        done = {results.key_of(row) for row in kept}
        self.tasks = [left for task in tasks if (left := _left(task, done)) is not None]
        self.kept, self.all = len(tasks) - len(self.tasks), len(tasks)

    def go(self) -> Generator[RunProgress]:
        """Run what is left; yields its progress after each task."""
        done = self.kept
        yield RunProgress(done, self.all, self.kept)
        for rows in self._finished():
            results.append(self.path, rows)
            done += 1
            yield RunProgress(done, self.all, self.kept)
        results.write(self.path, results.read(self.path))

    def _finished(self) -> Iterator[list[dict[str, str]]]:
        jobs = min(self.settings.jobs or self.experiment.jobs or os.cpu_count() or 1, max(len(self.tasks), 1))
        arguments = [(self.experiment.name, task, self.settings.folder) for task in self.tasks]
        if jobs == 1:
            yield from (run_task(*task_arguments) for task_arguments in arguments)
            return
        pool = workers(jobs, self.settings.plugins)
        try:
            waiting = iter(arguments)
            running: set[Future[list[dict[str, str]]]] = set()
            while True:
                while len(running) < 2 * jobs and (task_arguments := next(waiting, None)) is not None:
                    running.add(pool.submit(run_task, *task_arguments))
                if not running:
                    return
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _there(self, name: str) -> bool:
        try:
            open_point(next(self.experiment.points([name])), self.settings.folder)
        except MissingData as error:
            if name in self.experiment.data:
                raise
            self.missing[name] = error
            return False
        return True


def workers(jobs: int, plugins: Sequence[Path]) -> ProcessPoolExecutor:
    """Fresh processes, which nothing of this one, threads and random state included, reaches.

    Guarantees:
        They end when this process does, however it ends.
    """
    return ProcessPoolExecutor(jobs, get_context("spawn"), _begin_worker, (tuple(plugins),))


def _begin_worker(plugins: tuple[Path, ...]) -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    load_plugins(plugins)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()  # a parent that is killed cannot end its children
        os._exit(1)


def load_plugins(paths: Sequence[Path]) -> None:
    """Run Python files that add to `MECHANISMS` or `DATASETS`."""
    for path in paths:
        spec = importlib.util.spec_from_file_location(f"wevent_plugin_{path.stem}", path)
        if spec is None or spec.loader is None or not path.exists():
            raise InvalidSetting(f"no Python file at {path} to add mechanisms or data sets from")
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _identity(point: Point) -> tuple[object, ...]:
    """What the noise of a point is drawn for."""
    return (point.data, point.epsilon, point.window, point.share, point.other_epsilon, point.other_window, point.cells)


def _left(task: Task, done: set[results.Key]) -> Task | None:
    """What of a task has not been run yet."""
    names = tuple(name for name, key in results.keys_of(task).items() if key not in done)
    return replace(task, mechanisms=names) if names else None
