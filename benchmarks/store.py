"""What files and the store cost, as ratios to DuckDB's own count and to a bare batched insert, in the same run.

`python benchmarks/store.py --events 10000000` prints both. The floors are measured before and after what is held
against them; times are never asserted on.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

from wevent import Fixed
from wevent.config.model import Config
from wevent.config.read import to_config
from wevent.events.timeline import show_instant
from wevent.store.database import open_database
from wevent.store.feeding import Feed, accept_files, publish_files
from wevent.store.requirements import Wish, keep_wishes
from wevent.store.session import Session
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
            "privacy": {"mechanism": "pbd", "horizon": 24},
        }
    )


def open_town(folder: Path, closing: str, people: int) -> Session:
    """A fresh store with everybody registered, in 25 cohorts."""
    config = make_config(closing, closing)
    database = open_database(folder / f"{closing}.db", create=True)
    stream = open_stream(database, closing, config.fixed(), now)
    levels = [Fixed(epsilon, window) for epsilon in (0.2, 0.4, 0.6, 0.8, 1.0) for window in (4, 8, 12, 16, 24)]
    keep_wishes(database, stream, (Wish(f"user-{k:07d}", levels[k % 25]) for k in range(people)), now(), 0)
    return Session(database, config, Witness(folder / f"{closing}.json"), now)


def now() -> int:
    """The clock."""
    return time.time_ns() // 1000


def count(path: Path) -> float:
    """Seconds of DuckDB's own count with one cell per user and slot."""
    began = time.perf_counter()
    with duckdb.connect() as connection:
        connection.execute(COUNT.format(start=START, width=WIDTH, path=path)).fetchnumpy()
    return time.perf_counter() - began


def bare_insert(path: Path, folder: Path) -> float:
    """Seconds of reading the file and inserting its rows into SQLite, 10,000 at a time, durably."""
    database = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for words in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL"):
        database.execute(words)
    database.execute("CREATE TABLE events (user TEXT, time INTEGER, place TEXT)")
    with duckdb.connect() as connection:
        cursor = connection.execute('SELECT "user", epoch_us(time), place FROM read_parquet(?)', [str(path)])
        began = time.perf_counter()
        while rows := cursor.fetchmany(10_000):
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT INTO events VALUES (?, ?, ?)", rows)
            database.execute("COMMIT")
    taken = time.perf_counter() - began
    database.close()
    return taken


def main() -> None:
    """Print the two ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--people", type=int, default=100_000)
    given = parser.parse_args()
    until = START + SLOTS * WIDTH
    with tempfile.TemporaryDirectory(prefix="wevent-bench-") as made:
        folder = Path(made)
        path = folder / "events.parquet"
        make_events(path, given.events, given.people)
        count(path)  # warms the cache of files
        floors, taken = [count(path)], []
        with open_town(folder, "files", given.people) as session:
            began = time.perf_counter()
            publish_files(session, [path], until, lambda release: None)
            taken.append(time.perf_counter() - began)
        floors.append(count(path))
        print(f"{given.events:,} events, {given.people:,} people, {CELLS} cells, {SLOTS} slots, one run")
        ratio = taken[0] / float(np.mean(floors))
        print(
            f"read and release from Parquet      {ratio:5.2f} x DuckDB's own count ({floors[0]:.2f}, {floors[1]:.2f} s)"
        )
        insert = bare_insert(path, folder)
        with open_town(folder, "operator", given.people) as session:
            began = time.perf_counter()
            feed = Feed(session, lambda release: None)
            accept_files(feed, [path])
            accepted = time.perf_counter() - began
            feed.close(SLOTS)
            taken.append(time.perf_counter() - began)
        print(f"accept durably in SQLite            {accepted / insert:5.2f} x a bare batched insert ({insert:.2f} s)")
        print(f"accept durably and release          {taken[1] / insert:5.2f} x a bare batched insert")


if __name__ == "__main__":
    main()
