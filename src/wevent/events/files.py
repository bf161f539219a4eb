"""Files of events, grouped by slot before anything is released: paths come in, the rows of each slot go out.

DuckDB does the grouping, on the disk where memory does not suffice. In files nothing is late: all of their events
are there before the first slot is closed. Parquet is read by DuckDB itself; lines are read here, each by itself, and
handed over as numbers.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from wevent.errors import StoreFull, Unreadable
from wevent.events.bounding import OneCell
from wevent.events.formats import SUFFIXES, Columns, Format, Raw, line_reader
from wevent.events.gathering import Portion, SlotRows, gather
from wevent.events.lines import Lines
from wevent.events.parquet import ACCEPTED, REFUSALS, Staging, literal, resolve
from wevent.events.sorting import Door, Refusal, Sorted, Sorter

if TYPE_CHECKING:
    import duckdb

Progress = Callable[[Path], None]
"""Called with every file before it is read."""

_FETCHED, _AT_ONCE = 50_000, 2_000_000


def find_files(given: Sequence[Path]) -> list[tuple[Path, Format]]:
    """Files, and those of folders that have a known suffix, in the order of their names."""
    found: list[tuple[Path, Format]] = []
    for path in given:
        if path.is_dir():
            inside = [(file, SUFFIXES[file.suffix]) for file in sorted(path.rglob("*")) if file.suffix in SUFFIXES]
            found += [(file, kind) for file, kind in inside if file.is_file()]
        elif not path.is_file():
            raise Unreadable(f"{path}: no such file or folder", file=str(path))
        elif path.suffix not in SUFFIXES:
            raise Unreadable(f"{path}: the name must end with one of {', '.join(SUFFIXES)}", file=str(path))
        else:
            found.append((path, SUFFIXES[path.suffix]))
    return found


class GroupedFiles:
    """All events of some files, one row per slot and person, on the disk.

    Guarantees:
        The rows of a slot are those that `gather` gives for its events.
        Memory does not grow with the files: DuckDB keeps to `memory` and goes to the disk beyond it.
    """

    def __init__(
        self,
        files: Sequence[Path],
        sorter: Sorter,
        door: Door,
        policy: OneCell,
        columns: Columns,
        *,
        memory: str = "1GB",
        progress: Progress | None = None,
    ) -> None:
        self._sorter, self._door, self._columns = sorter, door, columns
        self._people, self._domain = len(sorter.people), len(sorter.cells.names)
        self._progress = progress or (lambda path: None)
        self._folder = tempfile.TemporaryDirectory(prefix="wevent-")
        self._policy: OneCell = policy
        self._where: dict[int, tuple[int, int]] = {}
        self.tallies: Counter[str] = Counter()
        try:
            self._connection = _connect(Path(self._folder.name), memory)
            self._group(find_files(files))
        except BaseException:
            self._folder.cleanup()
            raise

    def __enter__(self) -> GroupedFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._folder.cleanup()

    def rows(self, slot: int) -> SlotRows:
        """The rows of one slot; nobody where there are no events."""
        return gather(slot, self.portions(slot), self._policy, self._people, self._domain)

    @property
    def slots(self) -> list[int]:
        """The slots that have events."""
        return sorted(slot + self._door.first for slot in self._where)

    @property
    def refused(self) -> Counter[str]:
        """How many events were refused, by kind."""
        return Counter({kind: number for kind, number in self.tallies.items() if kind != ACCEPTED})

    def portions(self, slot: int) -> Iterator[Portion]:
        """The events of a slot, a bounded number at a time."""
        first, last = self._where.get(slot - self._door.first, (0, -1))
        group = self._sorter.group
        for start in range(first, last + 1, _AT_ONCE):
            found = self._connection.execute(
                f"SELECT person, k, cell{', stranger' if group else ''} FROM events "  # noqa: S608
                "WHERE slot = ? AND rowid BETWEEN ? AND ?",
                [slot - self._door.first, start, min(last, start + _AT_ONCE - 1)],
            ).fetchnumpy()
            person, offset, cell = (np.asarray(found[name]).astype(np.int64) for name in ("person", "k", "cell"))
            strangers: list[str] = []
            if group and (person < 0).any():
                unlisted = np.flatnonzero(person < 0)
                strangers = np.asarray(found["stranger"], object)[unlisted].tolist()
                person[unlisted] = -1 - np.arange(unlisted.size)
            yield Portion(person, offset, cell, strangers)

    def _group(self, files: list[tuple[Path, Format]]) -> None:
        staging = Staging(self._connection, self._sorter, self._door)
        selects = []
        for path, kind in files:
            self._progress(path)
            if kind == "parquet":
                select = resolve(self._connection, path, staging, self._columns)
                if select is not None:
                    selects.append(select)
                    continue
                self._stage(staging, _parquet_rows(self._connection, path, self._columns), path)
            else:
                self._stage_lines(staging, path, kind)
        selects.append(staging.select)
        _run(self._connection, staging.ordering(selects))
        ranges = "SELECT slot, min(rowid), max(rowid), count(*) FROM events GROUP BY slot"
        for slot, first, last, number in self._connection.execute(ranges).fetchall():
            self.tallies[REFUSALS.get(slot, ACCEPTED)] += number
            if slot >= 0:
                self._where[slot] = (first, last)

    def _stage_lines(self, staging: Staging, path: Path, kind: Format) -> None:
        with path.open("rb") as file:
            lines, read = Lines(file), None
            for batch in _to_the_end(lines):
                content = batch.lines
                if read is None:
                    header = content[0] if kind == "csv" else None
                    read = line_reader(kind, self._columns, header, str(path))
                    content = content[1:] if kind == "csv" else content
                self._keep(staging, self._sorter.sort(content, read, self._door))

    def _stage(self, staging: Staging, rows: Iterator[list[tuple[Any, ...]]], path: Path) -> None:
        unit = self._columns.unit
        for some in rows:
            refused: Counter[Refusal] = Counter()
            self._keep(staging, self._sorter.sort_raw(_told(some, unit, refused), self._door, refused))

    def _keep(self, staging: Staging, events: Sorted) -> None:
        self.tallies.update({kind.value: number for kind, number in events.refused.items()})
        staging.insert(events)


def _to_the_end(lines: Lines) -> Iterator[Any]:
    yield from lines.read()
    if lines.rest:
        yield lines.finish()


def _told(rows: list[tuple[Any, ...]], unit: Any, refused: Counter[Refusal]) -> Iterator[Raw]:
    from wevent.events.formats import _instant, _name, _word

    for user, time, *place in rows:
        try:
            yield Raw(_name(_word(user)), _instant(_word(time), unit), tuple(_name(_word(word)) for word in place))
        except ValueError:
            refused[Refusal.MALFORMED] += 1


def _parquet_rows(
    connection: duckdb.DuckDBPyConnection, path: Path, columns: Columns
) -> Iterator[list[tuple[Any, ...]]]:
    """Columns whose types only we can read, some rows at a time."""
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns.all)
    cursor = connection.cursor()
    cursor.execute(f"SELECT {names} FROM read_parquet(?)", [literal(path)])  # noqa: S608
    while some := cursor.fetchmany(_FETCHED):
        yield some


def _connect(folder: Path, memory: str) -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(str(folder / "events.duckdb"))
    connection.execute(f"SET memory_limit = '{memory}'")
    connection.execute("SET temp_directory = ?", [str(folder / "spill")])
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    return connection


def _run(connection: duckdb.DuckDBPyConnection, statements: Sequence[str]) -> None:
    """Run statements without letting DuckDB's own words, which may quote data, out."""
    import duckdb

    failure: Exception | None = None
    try:
        for statement in statements:
            connection.execute(statement)
    except duckdb.OutOfMemoryException:
        failure = StoreFull("grouping the files needs more memory or disk than there is; nothing was released")
    except duckdb.Error as error:
        failure = Unreadable(f"a file of events cannot be read to its end ({type(error).__name__})")
    if failure is not None:
        with suppress(duckdb.Error):
            connection.rollback()
        raise failure from None
