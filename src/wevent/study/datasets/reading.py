"""Reads lines and records of files through DuckDB, in bounded memory."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wevent.errors import MissingData

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "1GB"
"""How much DuckDB may hold in memory; the rest goes to temporary files."""

LINES = """(SELECT line FROM read_csv($files, columns = {'line': 'VARCHAR'}, delim = '\x01', quote = '', escape = '',
    comment = '', header = false, auto_detect = false, strict_mode = false, ignore_errors = true,
    encoding = 'latin-1') WHERE line IS NOT NULL)"""
"""SQL for the lines of `$files`; empty ones and those above 2 MB are left out, and a byte 1 ends a line early.

Latin-1 has a letter for every byte, so no line is refused for its bytes.
"""


class FoundRecords(NamedTuple):
    """Records with users by index: names of the users, then user, slot and cell of each record (axes: record)."""

    people: tuple[str, ...]
    user: npt.NDArray[np.int64]
    slot: npt.NDArray[np.int64]
    cell: npt.NDArray[Any]


@contextmanager
def database() -> Iterator[DuckDBPyConnection]:
    """An empty database in memory, which loads no extension and leaves nothing behind."""
    try:
        import duckdb
    except ImportError:
        raise MissingData(
            "reading files needs DuckDB, which is not installed; pip install 'wevent[study]'",
            files=("duckdb",),
            source="the extra study of this package",
            folder="the Python environment",
        ) from None
    with TemporaryDirectory(prefix="wevent-") as spill:
        settings: dict[str, Any] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "memory_limit": MEMORY,
            "preserve_insertion_order": False,
            "temp_directory": spill,
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection


def literal_path(path: Path) -> str:
    """A path in which DuckDB takes stars and brackets for what they are."""
    return glob.escape(str(path))


def need(name: str, folder: Path, files: Iterable[str], source: str) -> tuple[Path, ...]:
    """The paths of files in a folder; raises `MissingData` that names those that are not there."""
    wanted = tuple(files)
    if missing := tuple(file for file in wanted if not (folder / file).is_file()):
        raise missing_data(name, folder, missing, source)
    return tuple(folder / file for file in wanted)


def missing_data(name: str, folder: Path, files: tuple[str, ...], source: str) -> MissingData:
    """The refusal that says what to download and where to put it."""
    return MissingData(
        f"{name}: {', '.join(files)} not found in {folder}. Download the {source}, under its own terms, and put "
        f"the files there, or name another folder.",
        files=files,
        source=source,
        folder=str(folder),
    )


def collect(connection: DuckDBPyConnection, found: str) -> FoundRecords:
    """The records that the query `found` selects as (who, slot, cell), users numbered in the order of `who`."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE found AS {found}")
    names = connection.execute("SELECT DISTINCT who FROM found ORDER BY who").fetchall()
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE people AS "
        "SELECT who, row_number() OVER (ORDER BY who) - 1 AS id FROM (SELECT DISTINCT who FROM found)"
    )
    in_order = "SELECT id, slot, cell FROM found JOIN people USING (who) ORDER BY id, slot"
    columns = connection.execute(in_order).fetchnumpy()
    return FoundRecords(tuple(str(who) for (who,) in names), columns["id"], columns["slot"], columns["cell"])
