"""The commands `wevent study …`: words from the shell come in, tables, files and an exit code go out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from wevent.cli.numbers import positive, whole
from wevent.errors import InvalidSetting
from wevent.events.names import show_name

_NEEDED = ("duckdb", "matplotlib", "rich")


def add_study(commands: Any) -> None:
    """Add the group `study` to the parser's commands."""
    study = commands.add_parser(
        "study",
        help="compare mechanisms, repeat the paper",
        description="Compare mechanisms on real and synthetic streams, and repeat the paper's evaluation.",
    )
    group = study.add_subparsers(title="commands", required=True, metavar="command")
    _add_run(group)
    _add_report(group)
    _add_compare(group)
    listed = _add(group, "list", _list, "data sets, mechanisms, metrics and experiments")
    _add_plugins(listed)


def _add_run(group: Any) -> None:
    parser = _add(group, "run", _run, "run an experiment; finished cells are kept, so it can be interrupted")
    parser.add_argument("file", type=Path, help="a TOML file, or its name in experiments/")
    parser.add_argument("--rounds", type=whole(1, 10_000), default=None, help="how often all is drawn anew")
    parser.add_argument("--quick", action="store_true", help="2 rounds of 400 slots, into results/quick")
    parser.add_argument("--jobs", type=whole(1, 4_096), default=None, help="processes; all cores if left out")
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier run has finished")
    parser.add_argument("--results", type=Path, default=None, help="folder of results; beside the file by default")
    _add_folder(parser)
    _add_plugins(parser)


def _add_report(group: Any) -> None:
    parser = _add(group, "report", _report, "write one HTML page of all results, which works offline, and PNGs")
    parser.add_argument("--experiments", type=Path, default=Path("experiments"), help="folder of TOML files")
    parser.add_argument("--results", type=Path, default=None, help="folder of results; experiments/results by default")
    parser.add_argument("--out", type=Path, default=Path("report"), help="folder to write to")
    parser.add_argument(
        "--reproduction", type=Path, default=None, metavar="FILE.md", help="also write down what was reproduced"
    )
    parser.add_argument(
        "--frontier", type=Path, default=None, metavar="FILE.md", help="also write down what sharper mechanisms gain"
    )
    _add_plugins(parser)


def _add_compare(group: Any) -> None:
    parser = _add(group, "compare", _compare, "compare mechanisms on one stream, now")
    parser.add_argument("--data", required=True, help="a data set, or a CSV or Parquet file with user, cell and slot")
    parser.add_argument("--mechanisms", required=True, help="names with commas between them")
    parser.add_argument("--epsilon", type=positive(100), default=0.6, help="the least budget of anybody")
    parser.add_argument("--window", type=whole(1, 2**20), default=120, help="the longest window of anybody")
    parser.add_argument("--slots", type=whole(1, 10**9), default=None, help="at most so many; all if left out")
    parser.add_argument("--users", type=whole(1, 10**8), default=None, help="of a synthetic set")
    parser.add_argument("--cells", type=whole(1, 10**6), default=None, help="where a set can be cut differently")
    parser.add_argument("--rounds", type=whole(1, 10_000), default=1, help="how often all is drawn anew")
    parser.add_argument("--seed", type=whole(0, 2**62), default=1, help="of data, wishes and noise")
    parser.add_argument("--presence", choices=("carry", "seen"), default="carry", help="of people without a record")
    parser.add_argument("--slot-width", default=None, help="of a file with times: 15min, 1h, 1d, …")
    parser.add_argument("--requirements", type=Path, default=None, help="a file with user, epsilon, window")
    parser.add_argument(
        "--dynamic", type=Path, default=None, help="a file with user, slot, epsilon, window[, backward_epsilon, …]"
    )
    parser.add_argument("--jobs", type=whole(1, 4_096), default=None, help="processes; all cores if left out")
    parser.add_argument("--json", action="store_true", help="print a list of objects instead of a table")
    _add_folder(parser)
    _add_plugins(parser)


def _add(group: Any, name: str, handler: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = group.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", formatter_class=argparse.HelpFormatter
    )
    parser.set_defaults(command=_with_extra(handler))
    return parser


def _with_extra(handler: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Say what to install before anything fails half-way."""

    def checked(given: argparse.Namespace) -> int:
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if missing:
            raise InvalidSetting(f"a study needs {', '.join(missing)}; install them with: pip install 'wevent[study]'")
        return handler(given)

    return checked


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=Path("data"), help="where downloaded data sets lie")


def _add_plugins(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--with",
        dest="plugins",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.py",
        help="a Python file that adds mechanisms or data sets; may be given several times",
    )


def _run(given: argparse.Namespace) -> int:
    from dataclasses import replace

    from wevent.study.experiment import load
    from wevent.study.progress import follow
    from wevent.study.runner import ExperimentRun, RunSettings, load_plugins

    load_plugins(given.plugins)
    path = given.file
    if not path.exists() and path.suffix == "" and path.parent == Path():
        path = Path("experiments") / f"{path}.toml"
    experiment = load(path)
    if experiment.runs is not None:
        told = f"{experiment.name} shows the runs of {experiment.runs}, which are run now"
        print(show_name(told), file=sys.stderr)
        experiment = load(path.with_name(f"{experiment.runs}.toml"))
    if given.rounds is not None:
        experiment = replace(experiment, rounds=given.rounds)
    folder = given.results or path.parent / "results"
    if given.quick:
        experiment, folder = experiment.quick(), folder / "quick"
    target = folder / f"{experiment.name}.csv"
    if given.fresh:
        target.unlink(missing_ok=True)
    run = ExperimentRun(experiment, target, RunSettings(given.folder, given.jobs or 0, tuple(given.plugins)))
    for name, missing in run.missing.items():
        print(show_name(f"left out: {name}. {missing}"), file=sys.stderr)
    follow(run)
    print(show_name(f"{target}: {run.all} cells of {experiment.name}, {experiment.protocol} protocol"))
    return 0


def _report(given: argparse.Namespace) -> int:
    from wevent.study.reporting.frontier import write_frontier
    from wevent.study.reporting.report import write_report
    from wevent.study.reporting.reproduction import write_reproduction
    from wevent.study.runner import load_plugins

    load_plugins(given.plugins)
    results = given.results or given.experiments / "results"
    print(write_report(results, given.experiments, given.out))
    if given.reproduction is not None:
        write_reproduction(results, given.reproduction)
        print(given.reproduction)
    if given.frontier is not None:
        print(write_frontier(results, given.experiments, given.frontier))
    return 0


def _compare(given: argparse.Namespace) -> int:
    from wevent.study.compare import Comparison, compare
    from wevent.study.progress import table
    from wevent.study.runner import RunSettings, load_plugins

    load_plugins(given.plugins)
    comparison = Comparison(
        data=given.data,
        mechanisms=tuple(name.strip() for name in given.mechanisms.split(",") if name.strip()),
        epsilon=given.epsilon,
        window=given.window,
        slots=given.slots,
        users=given.users,
        cells=given.cells,
        rounds=given.rounds,
        seed=given.seed,
        presence=given.presence,
        slot_width=given.slot_width,
        requirements=given.requirements,
        dynamic=given.dynamic,
    )
    rows = compare(comparison, RunSettings(given.folder, given.jobs or 0, tuple(given.plugins)))
    if given.json:
        print(json.dumps(rows, indent=2))
    else:
        table(rows)
    return 0


def _list(given: argparse.Namespace) -> int:
    from wevent.study.datasets.catalog import DATASETS
    from wevent.study.mechanisms import MECHANISMS
    from wevent.study.metrics import METRICS
    from wevent.study.runner import load_plugins

    load_plugins(given.plugins)
    names = {
        "data sets": [*DATASETS, "FILE.csv", "FILE.parquet"],
        "mechanisms": list(MECHANISMS),
        "metrics": [*METRICS, "awd_plane"],
        "experiments": sorted(path.stem for path in Path("experiments").glob("*.toml")),
    }
    for what, known in names.items():
        print(f"{what:12} {show_name(', '.join(known)) or 'none here'}")
    return 0
