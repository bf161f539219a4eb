"""Groups files of events by slot before anything is released.

Each line of CSV or NDJSON goes through `lines`, `formats` and `validation` into `staging`. DuckDB reads Parquet by
itself (`parquet`), and groups all events, on the disk where memory does not suffice. In files nothing is late: all
of their events are present before the first slot is closed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wevent.errors import Unreadable
from wevent.events.formats import SUFFIXES, Columns, Format, Reader, check_beginning, format_of, line_reader
from wevent.events.gathering import EventBatch, Listing, SlotCells, gather
from wevent.events.headers import HEAD
from wevent.events.lines import Lines
from wevent.events.names import show_name
from wevent.events.one_cell import OneCell
from wevent.events.parquet import open_parquet, python_rows, validating_select
from wevent.events.records import Event, read_records
from wevent.events.refusals import Refusal
from wevent.events.scratch import Scratch
from wevent.events.sql import connect, duckdb_errors
from wevent.events.staging import ACCEPTED, REFUSED_SLOTS, Staging
from wevent.events.timeline import TimesSeen
from wevent.events.validation import AcceptanceWindow, AcceptedEvents, EventValidator

Progress = Callable[[Path], None]
"""Called with every file before it is read."""

PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""How names of compressed files end."""

ELSEWHEN = (Refusal.LATE, Refusal.FUTURE)
"""Reasons that mean that an event belongs to another run, and is not wrong in itself."""

_AT_ONCE = 2_000_000


def find_files(given: Sequence[Path]) -> list[tuple[Path, Format]]:
    """Files, and those of folders that have a known suffix, in the order of their names.

    Guarantees:
        A file that is named and cannot be read raises `Unreadable`; so does a compressed file of events in a folder,
        which would otherwise be left out silently.
    """
    found: list[tuple[Path, Format]] = []
    for path in given:
        if path.is_dir():
            inside = [file for file in sorted(path.rglob("*")) if file.is_file()]
            for packed in (file for file in inside if format_of(file.with_suffix("")) and file.suffix in PACKED):
                raise Unreadable(
                    f"{show_name(packed)} is compressed: unpack it, or move it out of the folder", file=str(packed)
                )
            found += [(file, kind) for file in inside if (kind := format_of(file)) is not None]
        elif not path.is_file():
            raise Unreadable(f"{show_name(path)}: no such file or folder", file=str(path))
        elif path.suffix in PACKED:
            raise Unreadable(f"{show_name(path)} is compressed: unpack it first", file=str(path))
        elif (kind := format_of(path)) is None:
            raise Unreadable(f"{show_name(path)}: the name must end with one of {', '.join(SUFFIXES)}", file=str(path))
        else:
            found.append((path, kind))
    return found


def check_file(path: Path, kind: Format) -> None:
    """Refuse a file of lines that cannot be opened, or is of another format as a whole."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise Unreadable(f"{show_name(path)}: cannot be read ({error.strerror})", file=str(path)) from None
    check_beginning(kind, head, show_name(path))


class GroupedFiles:
    """All events of given files, grouped by slot, on the disk.

    Guarantees:
        The rows of a slot are those that `gather` gives for its events.
        `tallies` count every event once, as accepted or by the reason of its refusal; `seen` is their first and last
        readable time. `unusable` are the files that hold events of which not one is accepted in this or another run.
        Memory does not grow with the files: DuckDB keeps to `memory` and goes to the disk beyond it.
    """

    def __init__(
        self,
        files: Sequence[Path],
        validator: EventValidator,
        acceptance_window: AcceptanceWindow,
        policy: OneCell,
        columns: Columns,
        *,
        memory: str = "1GB",
        progress: Progress | None = None,
    ) -> None:
        self._validator, self._acceptance_window, self._columns = validator, acceptance_window, columns
        self._domain = len(validator.cells.names)
        self._progress = progress or (lambda path: None)
        self._scratch = Scratch()
        self._connection: Any = None
        self._policy: OneCell = policy
        self._ranges: dict[int, tuple[int, int]] = {}  # slot less the first open one: its first and last row
        self.tallies: Counter[str] = Counter()
        self.seen = TimesSeen()
        self.unusable: list[Path] = []
        self._usable = 0  # events of the file being read that are accepted in this or another run
        try:
            with duckdb_errors():
                self._connection = connect(self._scratch.path, memory)
            self._group(find_files(files))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> GroupedFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the events from the disk."""
        if self._connection is not None:
            self._connection.close()
        self._scratch.close()

    def rows(self, slot: int, listing: Listing | None = None) -> SlotCells:
        """The rows of one slot; all absent where there are no events.

        Args:
            slot: its number.
            listing: who counts as listed in it; without one, all who were known when the files were read.
        """
        listing = Listing.of_all(self._validator.people) if listing is None else listing
        first, last = self._ranges.get(slot - self._acceptance_window.first, (0, -1))
        rows = gather(slot, self.batches(slot), self._policy, listing, self._domain)
        return replace(rows, arrivals=last - first + 1)

    @property
    def slots(self) -> list[int]:
        """The slots that have events."""
        return sorted(slot + self._acceptance_window.first for slot in self._ranges)

    @property
    def refused(self) -> Counter[str]:
        """How many events were refused, by kind."""
        return Counter({kind: number for kind, number in self.tallies.items() if kind != ACCEPTED})

    def batches(self, slot: int) -> Iterator[EventBatch]:
        """The events of a slot, a bounded number at a time."""
        first, last = self._ranges.get(slot - self._acceptance_window.first, (0, -1))
        group = self._validator.group
        for start in range(first, last + 1, _AT_ONCE):
            with duckdb_errors():
                found = self._connection.execute(
                    f"SELECT person, k, cell{', unlisted' if group else ''} FROM events "  # noqa: S608
                    "WHERE slot = ? AND rowid BETWEEN ? AND ?",
                    [slot - self._acceptance_window.first, start, min(last, start + _AT_ONCE - 1)],
                ).fetchnumpy()
            person, offset, cell = (np.asarray(found[name]).astype(np.int64) for name in ("person", "k", "cell"))
            unlisted: list[str] = []
            if group and (person < 0).any():
                unlisted_events = np.flatnonzero(person < 0)
                unlisted = np.asarray(found["unlisted"], object)[unlisted_events].tolist()
                person[unlisted_events] = -1 - np.arange(unlisted_events.size)
            yield EventBatch(person, offset, cell, unlisted)

    def _group(self, files: list[tuple[Path, Format]]) -> None:
        with duckdb_errors():
            staging = Staging(self._connection, self._validator, self._acceptance_window)
        selects = []
        for path, kind in files:
            self._progress(path)
            before, self._usable = self.tallies.total(), 0
            if kind != "parquet":
                self._stage_lines(staging, path, kind)
            else:
                file, seen = open_parquet(self._connection, path, self._columns)
                self.seen = self.seen.and_also(seen)
                if file.direct:
                    selects.append(validating_select(file, self._validator, self._acceptance_window))
                    if not self._any_usable(selects[-1]):
                        self.unusable.append(path)
                    continue
                self._stage(staging, python_rows(self._connection, file))
            if self.tallies.total() > before and not self._usable:
                self.unusable.append(path)
        selects.append(staging.select)
        with duckdb_errors():
            ranges = staging.order(selects)
        reasons = {slot: kind.value for kind, slot in REFUSED_SLOTS.items()}
        for slot, first, last, number in ranges:
            self.tallies[reasons.get(slot, ACCEPTED)] += number
            if slot >= 0:
                self._ranges[slot] = (first, last)

    def _stage_lines(self, staging: Staging, path: Path, kind: Format) -> None:
        check_file(path, kind)
        try:
            with path.open("rb") as file:
                for content, read in with_readers(Lines(file), kind, self._columns, path):
                    self._keep(staging, self._validator.validate_lines(content, read, self._acceptance_window))
        except OSError as error:
            raise Unreadable(f"{show_name(path)}: cannot be read ({error.strerror})", file=str(path)) from None

    def _stage(self, staging: Staging, rows: Iterator[list[tuple[Any, ...]]]) -> None:
        for batch in rows:
            refused: Counter[Refusal] = Counter()
            events = read_records(_records(batch), self._columns, refused)
            self._keep(staging, self._validator.validate(events, self._acceptance_window, refused))

    def _keep(self, staging: Staging, events: AcceptedEvents) -> None:
        self.tallies.update({kind.value: number for kind, number in events.refused.items()})
        self.seen = self.seen.and_also(events.seen)
        self._usable += events.slot.size + sum(events.refused[kind] for kind in ELSEWHEN)
        with duckdb_errors():
            staging.insert(events)

    def _any_usable(self, select: str) -> bool:
        """Whether a file has no event at all, or one that is accepted, or was or will be in another run."""
        with duckdb_errors():
            if not self._connection.execute(f"SELECT 1 FROM ({select}) LIMIT 1").fetchall():  # noqa: S608
                return True
            elsewhen = ", ".join(str(REFUSED_SLOTS[kind]) for kind in ELSEWHEN)
            usable = f"SELECT 1 FROM ({select}) WHERE slot >= 0 OR slot IN ({elsewhen}) LIMIT 1"  # noqa: S608
            return self._connection.execute(usable).fetchall() != []


def with_readers(
    lines: Lines, kind: Format, columns: Columns, path: Path
) -> Iterator[tuple[list[bytes | None], Reader]]:
    """Lines and how to read them; the last one apart if no newline follows it, since it may be cut off."""
    read = None if kind == "csv" else line_reader(kind, columns, None, show_name(path))
    for batch in lines.read():
        content = batch.lines
        if read is None:
            read, content = line_reader(kind, columns, content[0], show_name(path)), content[1:]
        yield content, read
    if lines.rest:
        (last,) = lines.finish().lines
        if read is None:
            line_reader(kind, columns, last, show_name(path))
        else:
            yield [last], read.last


def _records(rows: list[tuple[Any, ...]]) -> Iterator[Event]:
    """Rows of `python_rows` as records: a value is None only where the file holds nothing, unusable ones are empty."""
    for nothing, *values in rows:
        user, time, *place = values if nothing else ("" if value is None else value for value in values)
        yield user, time, tuple(place)
