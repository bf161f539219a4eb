"""Writes the files of a simulated city, then publishes, plots, smooths and audits it.

Every step is the command that an operator would type; only the city is made up.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import numpy as np

from wevent.cli.city import DISTRICTS, City
from wevent.cli.city_requirements import LEVELS, CityRequirements
from wevent.cohorts.requirement import Fixed
from wevent.events.timeline import show_instant, to_instant
from wevent.units import show, to_units

START = to_instant("2024-05-01T00:00:00Z")
_WIDTH = 15 * 60 * 1_000_000


def tour(folder: Path | None, people: int, slots: int, seed: int, out: TextIO) -> int:
    """Walk the whole way; return 0 if the audit found every promise kept."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="wevent-demo-") as made:
            code = _walk(Path(made), people, slots, seed, out)
            out.write("the folder was temporary; keep one with `wevent demo --folder city`\n")
            return code
    folder.mkdir(parents=True, exist_ok=True)
    return _walk(folder, people, slots, seed, out)


def write_city(folder: Path, people: int, slots: int, seed: int) -> None:
    """Write `events.csv`, `requirements.csv` and `wevent.toml` of a simulated city."""
    requirements = CityRequirements(people, slots, seed, dynamic=False)
    with (folder / "requirements.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("user", "epsilon", "window"))
        epsilons = {value: name for name, value in LEVELS.epsilons.items()}
        windows = {value: name for name, value in LEVELS.windows.items()}
        for change in requirements.at(1):
            if isinstance(change.requirement, Fixed):
                level = epsilons[change.requirement.epsilon], windows[change.requirement.window]
                writer.writerow((change.user, *level))
    city, walk = City(people, seed), np.random.default_rng([seed, 2])
    with (folder / "events.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("user", "time", "place"))
        for slot in range(1, slots + 1):
            district = city.move(slot)
            begins = START + (slot - 1) * _WIDTH
            for person in np.flatnonzero(district >= 0).tolist():
                moment = begins + int(walk.integers(_WIDTH // 1_000_000)) * 1_000_000
                writer.writerow((requirements.users[person], show_instant(moment), DISTRICTS[district[person]]))
    (folder / "wevent.toml").write_text(_config(), "utf-8")


def _config() -> str:
    cells = ", ".join(f'"{name}"' for name in DISTRICTS)
    epsilons = "\n".join(f"{name} = {show(to_units(value))}" for name, value in LEVELS.epsilons.items())
    windows = "\n".join(f"{name} = {value}" for name, value in LEVELS.windows.items())
    return f"""[stream]
name = "city"

[slots]
width = "15 min"
first = {show_instant(START)}
closing = "files"

[cells]
names = [{cells}]

[privacy]
mechanism = "auto"
history_slots = 24

[levels.epsilons]
{epsilons}

[levels.windows]
{windows}

[store]
url = "city.db"
witness = "city.witness.json"
"""


def _walk(folder: Path, people: int, slots: int, seed: int, out: TextIO) -> int:
    from wevent.cli.main import main

    write_city(folder, people, slots, seed)
    out.write(f"a simulated city: {people:,} people, {slots} slots of 15 minutes, in {folder}\n\n")
    config = ["--config", str(folder / "wevent.toml")]
    until = show_instant(START + slots * _WIDTH)
    events, required = str(folder / "events.csv"), str(folder / "requirements.csv")
    steps: list[tuple[str, list[str]]] = [
        (
            "events become kept releases",
            ["publish", *config, "--events", events, "--requirements", required, "--until", until],
        ),
        ("what was released last", ["releases", *config, "--first", str(max(1, slots - 7))]),
        ("a picture of it", ["plot", *config, "--output", str(folder / "city.png")]),
        ("a better history", ["smooth", *config, "--output", str(folder / "smoothed.csv")]),
        ("the proof", ["audit", str(folder / "city.db"), "--html", str(folder / "privacy-report.html")]),
    ]
    return _each(steps, main, out)


def _each(steps: list[tuple[str, list[str]]], run: Callable[[list[str]], int], out: TextIO) -> int:
    for title, words in steps:
        out.write(f"# {title}\n$ wevent {' '.join(words)}\n")
        out.flush()
        code = run(words)
        out.write("\n")
        if code != 0:
            return code
    return 0
