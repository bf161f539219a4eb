"""Keeps results as CSV files in which every row holds everything that explains its numbers."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import wevent
from wevent.errors import InvalidSetting
from wevent.study.experiment import Point, Task
from wevent.study.metrics import METRICS
from wevent.study.protocols.score import PARTS, RunScore

_POINT = tuple(asdict(Point("")))
_KEY = ("protocol", *_POINT, "round", "seed", "mechanism")
_COUNTS = ("published", "skipped", "nullified")
_NUMBERS = (*METRICS, "awd_plane", *_COUNTS, "worst_window", "seconds_per_slot", *PARTS)
COLUMNS = ("experiment", *_KEY, "ran_slots", "ran_users", "ran_cells", *_NUMBERS, "private", "commit", "version")
"""What every row says. `private` is "yes", "accounted, not proven" or "not private"."""

_NEEDED = {"experiment", "protocol", "data", "epsilon", "window", "round", "seed", "mechanism", "amre", "version"}

Row = Mapping[str, str]
Key = tuple[str, ...]


def key_of(row: Row) -> Key:
    """What a row is about: two rows of one key come from the same draw."""
    return tuple(row[name] for name in _KEY)


def any_round(key: Key) -> Key:
    """A key without its round."""
    where = _KEY.index("round")
    return key[:where] + key[where + 1 :]


def keys_of(task: Task) -> dict[str, Key]:
    """The keys of a cell's rows, by mechanism."""
    return {name: key_of(_about(task, name)) for name in task.mechanisms}


def _about(task: Task, mechanism: str) -> dict[str, str]:
    point = {name: _text(value) for name, value in asdict(task.point).items()}
    draw = {"round": str(task.round), "seed": str(task.seed), "mechanism": mechanism}
    return {"protocol": task.protocol, **point, **draw}


def to_row(
    experiment: str, task: Task, mechanism: str, score: RunScore, private: str, users: int, cells: int
) -> dict[str, str]:
    """One row; `users` and `cells` are those that the task was really run on."""
    numbers: dict[str, Any] = {
        **score.errors,
        **{name: score.decisions.get(name, 0) for name in _COUNTS},
        "worst_window": float(score.worst_window),
        "seconds_per_slot": score.seconds_per_slot,
        **score.parts,
    }
    return {
        "experiment": experiment,
        **_about(task, mechanism),
        "ran_slots": str(score.slots),
        "ran_users": str(users),
        "ran_cells": str(cells),
        **{name: _text(numbers.get(name)) for name in _NUMBERS},
        "private": private,
        "commit": commit(),
        "version": wevent.__version__,
    }


def read(path: Path) -> list[dict[str, str]]:
    """All complete rows of a results file; a last line that an interruption cut off is left out."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        found = set(reader.fieldnames or COLUMNS)
        if not _NEEDED <= found <= set(COLUMNS):
            said = "was written by another version: its columns differ. Move it away, or run with --fresh."
            raise InvalidSetting(f"{path} {said}")
        missing = dict.fromkeys(set(COLUMNS) - found, "")  # columns younger than the file: nothing had been set there
        complete = (row for row in reader if None not in row and None not in row.values() and row["version"])
        return [{**missing, **row} for row in complete]


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write a results file, in a fixed order, and replace the old one at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    with fresh.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=_order))
    fresh.replace(path)


def append(path: Path, rows: Sequence[Row]) -> None:
    """Add finished rows at once."""
    with path.open("a", newline="", encoding="utf-8") as file:
        csv.DictWriter(file, COLUMNS, lineterminator="\n").writerows(rows)


@cache
def commit() -> str:
    """The commit the package was run from, with a plus if files were changed; empty outside a repository."""
    folder = Path(__file__).parent
    try:
        said = [
            subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=10).stdout  # noqa: S603, S607
            for words in (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "--", "."])
        ]
    except (OSError, subprocess.SubprocessError):
        return ""
    return said[0].strip() + ("+" if said[1].strip() else "")


def _order(row: Row) -> tuple[Any, ...]:
    return tuple(sortable(row[name]) for name in ("experiment", *_KEY))


def sortable(text: str) -> tuple[int, float, str]:
    """A key that puts numbers, by size, before other texts."""
    try:
        return 0, float(text), ""
    except ValueError:
        return 1, 0.0, text


def _text(value: Any) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)
