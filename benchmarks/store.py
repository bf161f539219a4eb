"""Measures what files and the store cost, as ratios to DuckDB's own count and to a bare batched insert.

`python benchmarks/store.py --events 10000000` prints both, measured in one run. Floors are measured before and after
what they are compared with. Nothing asserts on times.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from wevent import Fixed
from wevent.cohorts.requirement_change import RequirementChange
from wevent.config.model import Config
from wevent.config.read import to_config
from wevent.events.timeline import show_instant
from wevent.store.changes import store_changes
from wevent.store.database import open_database
from wevent.store.feeding import Feed, publish_files
from wevent.store.session import Session
from wevent.store.sources import accept_files
from wevent.store.streams import open_stream
from wevent.store.witness import Witness

START, WIDTH, SLOTS, CELLS = 1_714_521_600_000_000, 900_000_000, 96, 100
COUNT = """SELECT slot, place, count(*) FROM (
    SELECT (epoch_us(time) - {start}) // {width} AS slot, "user", arg_min(place, time) AS place
    FROM read_parquet('{path}') GROUP BY ALL) GROUP BY ALL"""


def make_events(path: Path, events: int, people: int) -> None:
    """A Parquet file of events at random, the same every time."""
    with duckdb.connect() as connection:
        connection.execute(
            f"""COPY (SELECT 'user-' || lpad((hash(i) % {people})::VARCHAR, 7, '0') AS "user",
            make_timestamp(({START} + hash(i * 7 + 1) % {SLOTS * WIDTH}::UBIGINT)::BIGINT) AS time,
            'cell-' || lpad((hash(i * 13 + 5) % {CELLS})::VARCHAR, 3, '0') AS place FROM range({events}) t(i))
            TO '{path}' (FORMAT parquet)"""  # noqa: S608
        )


def make_config(name: str, closing: str) -> Config:
    """A stream of 96 slots over 100 cells."""
    return to_config(
        {
            "stream": {"name": name},
            "slots": {"width": "15 min", "first": show_instant(START), "closing": closing},
            "cells": {"names": [f"cell-{k:03d}" for k in range(CELLS)]},
            "privacy": {"mechanism": "pbd", "history_slots": 24},
        }
    )


def open_session(folder: Path, closing: str, people: int) -> Session:
    """A new store with all people registered, in 25 cohorts."""
    config = make_config(closing, closing)
    database = open_database(folder / f"{closing}.db", create=True)
    witness = Witness(folder / f"{closing}.json")
    stream = open_stream(database, closing, config.fixed(), clock, witness)
    levels = [Fixed(epsilon, window) for epsilon in (0.2, 0.4, 0.6, 0.8, 1.0) for window in (4, 8, 12, 16, 24)]
    changes = [RequirementChange(f"user-{k:07d}", levels[k % 25]) for k in range(people)]
    store_changes(database, config, stream, changes, lambda: START - 1)
    return Session(database, config, witness, clock)


def clock() -> int:
    """The time in microseconds."""
    return time.time_ns() // 1000


class Stopwatch:
    """Measures seconds of the clock and of the processor, all threads together."""

    def __enter__(self) -> Stopwatch:
        self._began = (time.perf_counter(), time.process_time())
        return self

    def __exit__(self, *failure: object) -> None:
        self.taken = np.array([time.perf_counter() - self._began[0], time.process_time() - self._began[1]])


def count(path: Path) -> npt.NDArray[np.float64]:
    """DuckDB's own count with one cell per user and slot."""
    with Stopwatch() as stopwatch, duckdb.connect() as connection:
        connection.execute(COUNT.format(start=START, width=WIDTH, path=path)).fetchnumpy()
    return stopwatch.taken


def bare_insert(path: Path, folder: Path) -> npt.NDArray[np.float64]:
    """Reading the file and inserting its rows into SQLite, 10,000 at a time, durably."""
    database = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for words in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL"):
        database.execute(words)
    database.execute("CREATE TABLE events (user TEXT, time INTEGER, place TEXT)")
    with duckdb.connect() as connection, Stopwatch() as stopwatch:
        cursor = connection.execute('SELECT "user", epoch_us(time), place FROM read_parquet(?)', [str(path)])
        while rows := cursor.fetchmany(10_000):
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT INTO events VALUES (?, ?, ?)", rows)
            database.execute("COMMIT")
    database.close()
    return stopwatch.taken


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--people", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wevent-bench-") as made:
        folder = Path(made)
        path = folder / "events.parquet"
        make_events(path, options.events, options.people)
        print(f"{options.events:,} events, {options.people:,} people, {CELLS} cells, {SLOTS} slots; clock, processor")
        count(path)  # warms the cache of files
        floor = count(path)
        with open_session(folder, "files", options.people) as session, Stopwatch() as stopwatch:
            publish_files(session, [path], START + SLOTS * WIDTH, lambda release: None)
        floor = (floor + count(path)) / 2
        print_ratio("read and release from Parquet", stopwatch.taken, "DuckDB's own count", floor)
        floor = bare_insert(path, folder)
        with open_session(folder, "operator", options.people) as session, Stopwatch() as stopwatch:
            feed = Feed(session, lambda release: None)
            with Stopwatch() as accepting:
                accept_files(feed, [path])
            feed.close(SLOTS)
        print_ratio("accept durably in SQLite", accepting.taken, "a bare batched insert", floor)
        print_ratio("accept durably and release", stopwatch.taken, "a bare batched insert", floor)


def print_ratio(what: str, taken: npt.NDArray[np.float64], floor_is: str, floor: npt.NDArray[np.float64]) -> None:
    """One line of ratios."""
    by_clock, by_processor = taken / floor
    print(f"{what:32} {by_clock:6.2f} {by_processor:6.2f} x {floor_is} ({floor[0]:.2f} s, {floor[1]:.2f} s)")


if __name__ == "__main__":
    main()
