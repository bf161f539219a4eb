"""`wevent study`: compares mechanisms on real and synthetic streams, and repeats the paper's evaluation."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import typer

from wevent.cli.options import Json, file_option, flag, number, whole_option
from wevent.cli.output import print_json

study = typer.Typer(no_args_is_help=True, help="Compare mechanisms and repeat the paper: run, report, compare, list.")

_NEEDED = ("duckdb", "matplotlib", "rich")
_EXPERIMENTS = Path("experiments")

Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        metavar="FILE.py",
        show_default=False,
        help="A Python file that adds mechanisms or data sets; may be given several times.",
    ),
]
DataFolder = Annotated[Path, typer.Option("--folder", metavar="FOLDER", help="Where downloaded data sets lie.")]
Jobs = Annotated[int | None, whole_option(1, 4_096, "Processes; default: all cores.")]


@study.callback()
def check_extra() -> None:
    """Say what to install before anything fails half-way."""
    from wevent.errors import InvalidSetting

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise InvalidSetting(f"a study needs {', '.join(missing)}; install them with: pip install 'wevent[study]'")


@study.command()
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file, or its name in experiments/.")],
    rounds: Annotated[int | None, whole_option(1, 10_000, "How often all is drawn anew.")] = None,
    quick: Annotated[bool, flag("--quick", "2 rounds of 400 slots, into results/quick.")] = False,
    jobs: Jobs = None,
    fresh: Annotated[bool, flag("--fresh", "Forget what an earlier run has finished.")] = False,
    results: Annotated[
        Path | None, file_option("--results", "Folder of results; default: beside the file.", "FOLDER")
    ] = None,
    folder: DataFolder = Path("data"),
    plugins: Plugins = None,
) -> None:
    """Run an experiment; finished cells are kept, so it can be interrupted.

    Example: wevent study run experiments/error_by_epsilon.toml
    """
    from wevent.events.names import show_name
    from wevent.study.experiment import load
    from wevent.study.progress import follow
    from wevent.study.runner import ExperimentRun, RunSettings, load_plugins

    load_plugins(plugins or [])
    if not file.exists() and file.suffix == "" and file.parent == Path():
        file = _EXPERIMENTS / f"{file}.toml"
    experiment = load(file)
    if experiment.runs is not None:
        print(show_name(f"{experiment.name} shows the runs of {experiment.runs}, which are run now"), file=sys.stderr)
        experiment = load(file.with_name(f"{experiment.runs}.toml"))
    if rounds is not None:
        experiment = replace(experiment, rounds=rounds)
    target_folder = results or file.parent / "results"
    if quick:
        experiment, target_folder = experiment.quick(), target_folder / "quick"
    target = target_folder / f"{experiment.name}.csv"
    if fresh:
        target.unlink(missing_ok=True)
    planned = ExperimentRun(experiment, target, RunSettings(folder, jobs or 0, tuple(plugins or ())))
    for name, missing in planned.missing.items():
        print(show_name(f"left out: {name}. {missing}"), file=sys.stderr)
    follow(planned)
    print(show_name(f"{target}: {planned.all} cells of {experiment.name}, {experiment.protocol} protocol"))


@study.command()
def report(
    experiments: Annotated[
        Path, typer.Option("--experiments", metavar="FOLDER", help="Folder of TOML files.")
    ] = _EXPERIMENTS,
    results: Annotated[
        Path | None, file_option("--results", "Folder of results; default: experiments/results.", "FOLDER")
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder to write to.")] = Path("report"),
    reproduction: Annotated[
        Path | None, file_option("--reproduction", "Also write down what was reproduced.", "FILE.md")
    ] = None,
    frontier: Annotated[
        Path | None, file_option("--frontier", "Also write down what sharper mechanisms gain.", "FILE.md")
    ] = None,
    plugins: Plugins = None,
) -> None:
    """Write one HTML page of all results, which works offline, and PNGs.

    Example: wevent study report --out report
    """
    from wevent.study.reporting.frontier import write_frontier
    from wevent.study.reporting.report import write_report
    from wevent.study.reporting.reproduction import write_reproduction
    from wevent.study.runner import load_plugins

    load_plugins(plugins or [])
    source = results or experiments / "results"
    print(write_report(source, experiments, out))
    if reproduction is not None:
        write_reproduction(source, reproduction)
        print(reproduction)
    if frontier is not None:
        print(write_frontier(source, experiments, frontier))


@study.command()
def compare(
    data: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="A data set, or a CSV or Parquet file with user, cell and slot.")
    ],
    mechanisms: Annotated[str, typer.Option(metavar="NAME,NAME,…", help="What is compared.")],
    epsilon: Annotated[
        float,
        typer.Option(
            parser=number(0, 100, "a number above 0 and at most 100"), metavar="NUMBER", help="The least of anybody."
        ),
    ] = 0.6,
    window: Annotated[int, whole_option(1, 2**20, "The longest of anybody, in slots.")] = 120,
    slots: Annotated[int | None, whole_option(1, 10**9, "At most so many; default: all.")] = None,
    users: Annotated[int | None, whole_option(1, 10**8, "People of a synthetic set.")] = None,
    cells: Annotated[int | None, whole_option(1, 10**6, "Cells, where a set can be cut differently.")] = None,
    rounds: Annotated[int, whole_option(1, 10_000, "How often all is drawn anew.")] = 1,
    seed: Annotated[int, whole_option(0, 2**62, "Seed of data, requirements and noise.")] = 1,
    presence: Annotated[Literal["carry", "seen"], typer.Option(help="Where people without a record are.")] = "carry",
    slot_width: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Width of slots of a file with times: 15min, 1h, 1d, …")
    ] = None,
    requirements: Annotated[Path | None, file_option("--requirements", "A file with user, epsilon, window.")] = None,
    dynamic: Annotated[
        Path | None, file_option("--dynamic", "A file with user, slot, epsilon, window and the backward side.")
    ] = None,
    jobs: Jobs = None,
    as_json: Json = False,
    folder: DataFolder = Path("data"),
    plugins: Plugins = None,
) -> None:
    """Compare mechanisms on one stream, now.

    Example: wevent study compare --data sin --mechanisms auto,pbd,uniform --rounds 4
    """
    from wevent.study.compare import Comparison
    from wevent.study.compare import compare as run_comparison
    from wevent.study.progress import table
    from wevent.study.runner import RunSettings, load_plugins

    load_plugins(plugins or [])
    comparison = Comparison(
        data=data,
        mechanisms=tuple(name.strip() for name in mechanisms.split(",") if name.strip()),
        epsilon=epsilon,
        window=window,
        slots=slots,
        users=users,
        cells=cells,
        rounds=rounds,
        seed=seed,
        presence=presence,
        slot_width=slot_width,
        requirements=requirements,
        dynamic=dynamic,
    )
    rows = run_comparison(comparison, RunSettings(folder, jobs or 0, tuple(plugins or ())))
    if as_json:
        print_json(rows)
    else:
        table(rows)


@study.command("list")
def list_names(plugins: Plugins = None) -> None:
    """List data sets, mechanisms, metrics and experiments.

    Example: wevent study list
    """
    from wevent.events.names import show_name
    from wevent.study.datasets.catalog import DATASETS
    from wevent.study.mechanisms import MECHANISMS
    from wevent.study.metrics import METRICS
    from wevent.study.runner import load_plugins

    load_plugins(plugins or [])
    names = {
        "data sets": [*DATASETS, "FILE.csv", "FILE.parquet"],
        "mechanisms": list(MECHANISMS),
        "metrics": [*METRICS, "awd_plane"],
        "experiments": sorted(path.stem for path in _EXPERIMENTS.glob("*.toml")),
    }
    for kind, known in names.items():
        print(f"{kind:12} {show_name(', '.join(known)) or 'none here'}")
