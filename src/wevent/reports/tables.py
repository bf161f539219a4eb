"""Writes releases as CSV, NDJSON and Parquet.

It writes only what is public: slot, decision, threshold, counts with standard errors and 95 % intervals, and the raw
counts of publications, which `wevent smooth` reads.
"""

from __future__ import annotations

import csv
import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from wevent.errors import Unreadable
from wevent.events.timeline import Timeline, show_instant
from wevent.releases.release import interval
from wevent.reports.releases import PublicRelease

VALUES = ("count", "standard_error", "low", "high", "raw", "raw_standard_error")
HEADER = ("slot", "start", "decision", "threshold", "cell", *VALUES)
"""One line for each slot and cell. Before the first publication nothing is known: the count is empty, not 0."""

_AT_ONCE = 200_000


def write_csv(out: TextIO, releases: Iterable[PublicRelease], cells: Sequence[str], timeline: Timeline) -> None:
    """One line for each slot and cell; what is not known, or not there, is empty."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for release in releases:
        start = show_instant(timeline.start(release.slot))
        columns = [[None] * len(cells) if column is None else _known(column) for column in _columns(release)]
        head = (release.slot, start, release.decision, "" if release.threshold is None else release.threshold)
        for cell, *values in zip(cells, *columns, strict=True):
            writer.writerow((*head, cell, *("" if value is None else value for value in values)))


def write_ndjson(out: TextIO, releases: Iterable[PublicRelease], cells: Sequence[str], timeline: Timeline) -> None:
    """One object for each slot, with counts by cell; raw counts where there are any."""
    for release in releases:
        values: dict[str, Any] = {
            "slot": release.slot,
            "start": show_instant(timeline.start(release.slot)),
            "decision": release.decision,
            "threshold": release.threshold,
        }
        for name, column in zip(("counts", *VALUES[1:]), _columns(release), strict=True):
            if column is not None:
                values[name] = dict(zip(cells, _known(column), strict=True))
        out.write(json.dumps(values, ensure_ascii=False) + "\n")


def write_parquet(path: Path, releases: Iterable[PublicRelease], cells: Sequence[str], timeline: Timeline) -> None:
    """The same columns as CSV, with `start` as a time; whole counts are whole numbers."""
    import duckdb

    found = iter(releases)
    first = next(found, None)
    integer_counts = first is None or first.counts.dtype.kind == "i"
    with tempfile.TemporaryDirectory(prefix="wevent-") as folder:
        connection = duckdb.connect(str(Path(folder) / "releases.duckdb"))
        connection.execute(
            "CREATE TABLE releases (slot BIGINT, start BIGINT, decision VARCHAR, threshold DOUBLE, cell VARCHAR, "
            f"count {'BIGINT' if integer_counts else 'DOUBLE'}, {', '.join(f'{name} DOUBLE' for name in VALUES[1:])})"
        )
        batch: list[PublicRelease] = []
        for release in chain(() if first is None else (first,), found):
            batch.append(release)
            if len(batch) * len(cells) >= _AT_ONCE:
                _insert(connection, batch, cells, timeline)
                batch = []
        if batch:
            _insert(connection, batch, cells, timeline)
        quoted = str(path).replace("'", "''")
        try:
            connection.execute(
                "COPY (SELECT * REPLACE (make_timestamp(start) AS start) FROM releases ORDER BY slot) "  # noqa: S608
                f"TO '{quoted}' (FORMAT parquet)"
            )
        except duckdb.Error:
            raise Unreadable(f"{path}: cannot be written; is there such a folder, with room in it?") from None
        connection.close()


def _insert(connection: Any, batch: list[PublicRelease], cells: Sequence[str], timeline: Timeline) -> None:
    many = len(cells)
    words = np.empty(many, object)
    words[:] = list(cells)
    thresholds = np.array([math.nan if r.threshold is None else r.threshold for r in batch])
    decisions = np.empty(len(batch), object)
    decisions[:] = [release.decision for release in batch]
    columns = {
        "slot": np.repeat([release.slot for release in batch], many),
        "start": np.repeat([timeline.start(release.slot) for release in batch], many),
        "decision": np.repeat(decisions, many),
        "threshold": np.ma.masked_invalid(np.repeat(thresholds, many)),
        "cell": np.tile(words, len(batch)),
    }
    none = np.full(many, np.nan)
    arrays_of = [[none if column is None else column for column in _columns(release)] for release in batch]
    for name, *arrays in zip(VALUES, *arrays_of, strict=True):
        together = np.ma.concatenate(arrays)  # type: ignore[no-untyped-call]
        columns[name] = together if together.dtype.kind == "i" else np.ma.masked_invalid(together)
    connection.register("batch", columns)
    connection.execute("INSERT INTO releases SELECT * FROM batch")
    connection.unregister("batch")


def _columns(release: PublicRelease) -> Iterator[Any]:
    """The arrays of `VALUES`; None for what is not there (axes: cell)."""
    low, high = interval(release.counts, release.standard_error)
    yield from (known_counts(release), release.standard_error)
    yield from (np.where(np.isfinite(release.standard_error), end, np.nan) for end in (low, high))
    yield from (release.raw, release.raw_standard_error)


def known_counts(release: PublicRelease) -> Any:
    """The counts, masked in cells of which nothing was ever published: the 0 there is not a count (axes: cell)."""
    return np.ma.masked_array(release.counts, ~np.isfinite(release.standard_error))


def _known(column: Any) -> list[Any]:
    """Values of a column one by one, None for those that are not known."""
    return [value if value is not None and math.isfinite(value) else None for value in column.tolist()]
