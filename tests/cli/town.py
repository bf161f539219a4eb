"""Writes the configuration and the files of a small stream: minutes, ten people, two places."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from tests.cli.test_publish_live import CONFIG

FIRST = "2024-05-01T00:00:00Z"
UNTIL = ["--until", "2024-05-01T00:04Z"]


def town(folder: Path, closing: str = "files", more: str = "") -> list[str]:
    """A stream of minutes, ten people, two places."""
    text = CONFIG.format(width="1 min", first=FIRST, closing=closing, lateness="0 s")
    (folder / "wevent.toml").write_text(text + more)
    (folder / "people.csv").write_text("user,epsilon,window\n" + "".join(f"{k},1,4\n" for k in range(10)))
    return ["--config", str(folder / "wevent.toml")]


def csv_file(folder: Path, lines: list[str], name: str = "events.csv") -> str:
    path = folder / name
    path.write_text("\n".join(["user,time,place", *lines]) + "\n")
    return str(path)


def good(many: int = 8) -> list[str]:
    return [f"{k % 10},2024-05-01T00:0{k % 4}:{k:02d}Z,north" for k in range(many)]


def publish(folder: Path, *events: str, closing: str = "files", settings: str = "") -> list[str]:
    people = ["--requirements", str(folder / "people.csv")]
    return ["publish", *town(folder, closing, settings), *people, "--events", *events]


def parquet_file(folder: Path, select: str) -> str:
    path = folder / "events.parquet"
    duckdb.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return str(path)


def ndjson_file(folder: Path, event: Callable[[int], Any]) -> str:
    path = folder / "events.ndjson"
    path.write_text("".join(json.dumps(event(k)) + "\n" for k in range(8)))
    return str(path)


def empty_folder(folder: Path) -> str:
    (folder / "empty").mkdir()
    return str(folder / "empty")


BAD: dict[str, Callable[[Path], str]] = {
    "epoch numbers": lambda folder: csv_file(folder, [f"{k},{1714521600 + k},north" for k in range(8)]),
    "another format of times": lambda folder: csv_file(folder, [f"{k},05/01/2024 00:01,north" for k in range(8)]),
    "before the first slot": lambda folder: csv_file(folder, [f"{k},2023-05-01T00:00:01Z,north" for k in range(8)]),
    "nobody listed": lambda folder: csv_file(folder, [f"x{k},2024-05-01T00:00:01Z,north" for k in range(8)]),
    "places unknown": lambda folder: csv_file(folder, [f"{k},2024-05-01T00:03:01Z,moon" for k in range(8)]),
    "nested": lambda folder: ndjson_file(
        folder, lambda k: {"event": {"user": str(k), "time": "2024-05-01T00:00:01Z", "place": "north"}}
    ),
    "an empty file": lambda folder: csv_file(folder, []),
    "an empty folder": empty_folder,
    "epoch numbers in Parquet": lambda folder: parquet_file(
        folder, "SELECT k AS user, 1714521600 + k AS time, 'north' AS place FROM range(8) t(k)"
    ),
}
