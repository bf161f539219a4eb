"""Reads raw releases out of a store or a CSV file, and writes smoothed ones.

The CSV is what `wevent releases --format csv` writes. Its columns are found by name: `slot`, `cell`, `raw` and
`raw_standard_error`; others are ignored. A line whose `raw` is empty belongs to a slot without a publication.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

from wevent.config.read import read_config
from wevent.errors import InvalidInput
from wevent.releases.release import Release
from wevent.releases.smoothing import RawPublication, SmoothedCounts
from wevent.reports.releases import public_releases
from wevent.store.opening import open_store
from wevent.store.streams import find_stream

NEEDED = ("slot", "cell", "raw", "raw_standard_error")
WRITTEN = ("slot", "cell", "count", "standard_error", "low", "high")


def read_store(path: Path) -> tuple[list[RawPublication], int, list[str]]:
    """The same as `read` from the store of a configuration: any mechanism's publications are raw releases."""
    config = read_config(path)
    cells, publications, last = list(config.cells.declared().names), [], 0
    with open_store(config, read_only=True) as database:
        stream, _ = find_stream(database, config.stream.name)
        for release in public_releases(database, stream.id, len(cells), 1, 2**62):
            last = release.slot
            if release.raw is not None and release.raw_standard_error is not None:
                publications.append(RawPublication(last, release.raw.astype(np.float64), release.raw_standard_error))
    return publications, last, cells


def read_file(path: Path) -> tuple[list[RawPublication], int, list[str]]:
    """The same as `read` from a CSV file."""
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return read(lines)
    except OSError as error:
        raise InvalidInput(f"the releases cannot be read: {error.strerror}; give the path of a CSV") from None
    except (UnicodeDecodeError, csv.Error):
        raise InvalidInput(f"{path}: not a CSV file in UTF-8; give one that `wevent releases` wrote") from None


def read(lines: Iterable[str]) -> tuple[list[RawPublication], int, list[str]]:
    """Publications in the order of their slots, the last slot, and the names of the cells in their first order.

    Guarantees:
        A file that lacks a column, a cell of a publication or a number raises `InvalidInput` with the line.
    """
    table = csv.DictReader(lines)
    missing = [name for name in NEEDED if name not in (table.fieldnames or ())]
    if missing:
        raise InvalidInput(f"the releases lack the column(s) {', '.join(missing)}; needed are {', '.join(NEEDED)}")
    cells: dict[str, int] = {}
    found: dict[int, dict[int, tuple[float, float]]] = {}
    last = 0
    for number, line in enumerate(table, start=2):
        cell = cells.setdefault(line["cell"] or "", len(cells))
        slot = _whole(line["slot"], number)
        last = max(last, slot)
        if line["raw"]:
            error = _number(line["raw_standard_error"], number)
            if error <= 0:
                raise InvalidInput(f"line {number}: a raw standard error must be above 0")
            values = found.setdefault(slot, {})
            if cell in values:
                raise InvalidInput(f"line {number}: slot {slot} has a cell twice; give each slot and cell once")
            values[cell] = _number(line["raw"], number), error
    for slot, values in found.items():
        if len(values) != len(cells):
            raise InvalidInput(f"slot {slot} has raw counts for {len(values)} of {len(cells)} cells; give all or none")
    publications = []
    for slot in sorted(found):
        pairs = np.array([found[slot][cell] for cell in range(len(cells))])
        publications.append(RawPublication(slot, pairs[:, 0], pairs[:, 1]))
    return publications, last, list(cells)


def write(out: TextIO, smoothed: SmoothedCounts, cells: Sequence[str]) -> None:
    """One line for each slot and cell."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(WRITTEN)
    low, high = smoothed.low, smoothed.high
    for place in range(len(smoothed.counts)):
        for k, cell in enumerate(cells):
            values = smoothed.counts, smoothed.standard_error, low, high
            writer.writerow([smoothed.first + place, cell, *(f"{value[place, k]:.6g}" for value in values)])


def write_raw(out: TextIO, releases: Iterable[Release], cells: Sequence[Hashable]) -> None:
    """Releases as `read` wants them: one line for each slot and cell."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(NEEDED)
    for release in releases:
        for k, cell in enumerate(cells):
            raw = release.raw
            values = ("", "") if raw is None else (repr(float(raw.counts[k])), repr(float(raw.standard_error[k])))
            writer.writerow([release.slot, cell, *values])


def _whole(text: str | None, line: int) -> int:
    if text is None or not text.strip().isdecimal() or int(text) < 1:
        raise InvalidInput(f"line {line}: a slot is a whole number from 1 on")
    return int(text)


def _number(text: str | None, line: int) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInput(f"line {line}: raw counts and their standard errors are finite numbers")
    return value
