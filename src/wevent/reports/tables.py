"""Releases as files and tables: what a store holds comes in; CSV, NDJSON, Parquet or lines for people go out.

Only what is public goes out: slot, decision, threshold, counts and standard errors.
"""

from __future__ import annotations

import csv
import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from wevent.events.timeline import Timeline, show_instant
from wevent.reports.history import PublicRelease

HEADER = ("slot", "start", "decision", "threshold", "cell", "count", "standard_error")
"""One line for each slot and cell."""

_AT_ONCE = 200_000


def write_csv(out: TextIO, releases: Iterable[PublicRelease], cells: Sequence[str], timeline: Timeline) -> None:
    """One line for each slot and cell; an unknown standard error is empty."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for row in _rows(releases, cells, timeline):
        writer.writerow(["" if value is None else value for value in row])


def write_ndjson(out: TextIO, releases: Iterable[PublicRelease], cells: Sequence[str], timeline: Timeline) -> None:
    """One object for each slot, with counts by cell."""
    for release in releases:
        error = [_finite(value) for value in release.standard_error.tolist()]
        told = {
            "slot": release.slot,
            "start": show_instant(timeline.start(release.slot)),
            "decision": release.decision,
            "threshold": release.threshold,
            "counts": dict(zip(cells, release.counts.tolist(), strict=True)),
            "standard_error": dict(zip(cells, error, strict=True)),
        }
        out.write(json.dumps(told, ensure_ascii=False) + "\n")


def write_parquet(path: Path, releases: Iterable[PublicRelease], cells: Sequence[str], timeline: Timeline) -> None:
    """The same columns as CSV, with `start` as a time."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="wevent-") as folder:
        connection = duckdb.connect(str(Path(folder) / "releases.duckdb"))
        connection.execute(
            "CREATE TABLE releases (slot BIGINT, start BIGINT, decision VARCHAR, threshold DOUBLE, cell VARCHAR, "
            "count BIGINT, standard_error DOUBLE)"
        )
        batch: list[PublicRelease] = []
        for release in releases:
            batch.append(release)
            if len(batch) * len(cells) >= _AT_ONCE:
                _insert(connection, batch, cells, timeline)
                batch = []
        if batch:
            _insert(connection, batch, cells, timeline)
        quoted = str(path).replace("'", "''")
        connection.execute(
            "COPY (SELECT * REPLACE (make_timestamp(start) AS start) FROM releases ORDER BY slot) "  # noqa: S608
            f"TO '{quoted}' (FORMAT parquet)"
        )
        connection.close()


def _insert(connection: Any, batch: list[PublicRelease], cells: Sequence[str], timeline: Timeline) -> None:
    many = len(cells)
    words = np.empty(many, object)
    words[:] = list(cells)
    thresholds = np.array([math.nan if r.threshold is None else r.threshold for r in batch])
    errors = np.concatenate([release.standard_error for release in batch])
    decisions = np.empty(len(batch), object)
    decisions[:] = [release.decision for release in batch]
    columns = {
        "slot": np.repeat([release.slot for release in batch], many),
        "start": np.repeat([timeline.start(release.slot) for release in batch], many),
        "decision": np.repeat(decisions, many),
        "threshold": np.ma.masked_invalid(np.repeat(thresholds, many)),
        "cell": np.tile(words, len(batch)),
        "count": np.concatenate([release.counts for release in batch]),
        "standard_error": np.ma.masked_invalid(errors),
    }
    connection.register("batch", columns)
    connection.execute("INSERT INTO releases SELECT * FROM batch")
    connection.unregister("batch")


def _rows(releases: Iterable[PublicRelease], cells: Sequence[str], timeline: Timeline) -> Iterator[tuple[Any, ...]]:
    for release in releases:
        start = show_instant(timeline.start(release.slot))
        errors = release.standard_error.tolist()
        for cell, count, error in zip(cells, release.counts.tolist(), errors, strict=True):
            yield release.slot, start, release.decision, release.threshold, cell, count, _finite(error)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
