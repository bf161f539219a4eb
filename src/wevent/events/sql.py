"""Opens DuckDB, quotes names, texts and paths for its SQL, and turns its errors, which may quote data, into ours."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wevent.errors import StoreFull, Unreadable
from wevent.events.names import show_name

if TYPE_CHECKING:
    import duckdb


def connect(folder: Path, memory: str) -> duckdb.DuckDBPyConnection:
    """A database in a folder that keeps to `memory`, goes to the disk beyond it, and loads nothing from elsewhere."""
    import duckdb

    connection = duckdb.connect(str(folder / "events.duckdb"))
    connection.execute(f"SET memory_limit = '{memory}'")
    connection.execute("SET temp_directory = ?", [str(folder / "spill")])
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    return connection


@contextmanager
def duckdb_errors(path: Path | None = None) -> Iterator[None]:
    """Raise `StoreFull` or `Unreadable`, without a cause that quotes data, where DuckDB raises."""
    import duckdb

    failure: Exception | None = None
    try:
        yield
    except duckdb.OutOfMemoryException:
        failure = StoreFull("grouping the files needs more memory or disk than there is; no further slot was released")
    except duckdb.Error as error:
        name = "a file of events" if path is None else show_name(path)
        failure = Unreadable(f"{name}: cannot be read to its end ({type(error).__name__}). Nothing of it was counted.")
        if "No space left" in str(error):
            failure = StoreFull(
                "the disk for temporary files is full; make room, then try again. No further slot was released"
            )
    if failure is not None:
        raise failure from None


def literal_path(path: Path) -> str:
    """A path in which DuckDB takes stars and brackets for what they are."""
    return glob.escape(str(path))


def quote_name(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"
