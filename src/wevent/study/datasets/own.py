"""Opens a CSV or Parquet file of your own as a data set.

* `user` and `cell` are taken as text. Cells that are whole numbers come first, by size; then the others, by text.
* `slot` is a whole number; the least one in the file becomes the first slot, and none is left out up to the greatest.
* `time`, with `slot_width` such as "1h", is an ISO time, in UTC unless it says otherwise. Slots begin at multiples of
  their width since 1970, so slots of an hour begin at full hours.
* Several records of one user in one slot: the most frequent cell counts, the first in order if several are.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from wevent.errors import InvalidInput, InvalidSetting, MissingData
from wevent.study.datasets.reading import collect, database, literal_path
from wevent.study.datasets.records import recorded
from wevent.study.datasets.stream import DataOptions, DataStream

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SUFFIXES = (".csv", ".csv.gz", ".parquet")
MOST_SLOTS = 10_000_000
MOST_CELLS = 10_000

_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_WIDTH = re.compile(rf"([1-9][0-9]{{0,8}})({'|'.join(_SECONDS)})")

_PLACES = """
CREATE TEMP TABLE places AS
SELECT cell, row_number() OVER (
  ORDER BY TRY_CAST(regexp_extract(cell, '^-?[0-9]{1,18}$') AS BIGINT) NULLS LAST, cell) - 1 AS place
FROM (SELECT DISTINCT cell FROM records)
"""

_STAYS = """
WITH counted AS (SELECT who, slot, place, count(*) AS times FROM records JOIN places USING (cell) GROUP BY ALL)
SELECT who, slot, arg_min(place, (-times, place)) AS cell FROM counted GROUP BY who, slot
"""


def is_file_name(name: str) -> bool:
    """Whether a name is meant as the path of a file that can be read here."""
    return name.lower().endswith(SUFFIXES)


def seconds(width: str) -> int:
    """How long a slot lasts: "30s", "15m" or "15min", "1h", "1d", "2w"."""
    if not (given := _WIDTH.fullmatch(width.strip().lower())):
        raise InvalidSetting(
            f"slot_width must be a whole number and one of {', '.join(_SECONDS)}, such as 1h, got {width!r}",
            known=tuple(_SECONDS),
        )
    return int(given[1]) * _SECONDS[given[2]]


def open_own(path: Path, options: DataOptions) -> DataStream:
    """Read a file of your own.

    Guarantees:
        A file that is not there raises `MissingData`.
        Missing columns, rows without a value, slots that are not whole and times that are none raise `InvalidInput`;
        nothing is dropped in silence, and no message shows what a row says.
        More than 10,000,000 slots or 10,000 cells raise `InvalidInput`.
    """
    if not path.is_file():
        raise MissingData(
            f"there is no file {path.name} in {path.parent}; check the path",
            files=(path.name,),
            source="a file of your own",
            folder=str(path.parent),
        )
    with database() as connection:
        import duckdb

        try:
            _read(connection, path, options)
        except duckdb.Error:  # its message may quote rows
            form = "Parquet" if _is_parquet(path) else "CSV with a header line"
            raise InvalidInput(f"{path.name} cannot be read as {form}; check that it is whole") from None
        ends = "SELECT min(slot), max(slot), count(DISTINCT cell) FROM records"
        first, last, cells = connection.execute(ends).fetchall()[0]
        if first is None:
            raise InvalidInput(f"{path.name} has no rows")
        if last - first >= MOST_SLOTS:
            raise InvalidInput(f"{path.name} spans more than {MOST_SLOTS:,} slots; take wider ones", limit=MOST_SLOTS)
        if cells > MOST_CELLS:
            raise InvalidInput(f"{path.name} has more than {MOST_CELLS:,} cells; group them", limit=MOST_CELLS)
        if options.cells not in (None, cells):
            raise InvalidSetting(f"{path.name} has {cells} cells, got cells={options.cells}; leave the option out")
        connection.execute(_PLACES)
        names = [cell for (cell,) in connection.execute("SELECT cell FROM places ORDER BY place").fetchall()]
        found = collect(connection, _STAYS)
    return recorded(
        path.name,
        options,
        people=found.people,
        cells=names,
        slots=last - first + 1,
        user=found.user,
        slot=found.slot - first,
        cell=found.cell,
    )


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _read(connection: DuckDBPyConnection, path: Path, options: DataOptions) -> None:
    """Fill the table `records` with who, slot and cell, or refuse."""
    file = literal_path(path)
    csv = "read_csv($file, header = true, all_varchar = true, skip = 0, comment = '')"
    source = "read_parquet($file)" if _is_parquet(path) else csv
    described = connection.execute(f"DESCRIBE SELECT * FROM {source}", {"file": file}).fetchall()  # noqa: S608
    columns = {name.strip().lower(): name for name, *_ in described}
    kinds = {name.strip().lower(): kind for name, kind, *_ in described}
    slot = _slot(path, columns, kinds, options.slot_width)
    user, cell = (_quoted(columns[name]) for name in ("user", "cell"))
    connection.execute(
        f"CREATE TEMP TABLE records AS SELECT CAST({user} AS VARCHAR) AS who, {slot} AS slot, "  # noqa: S608
        f"CAST({cell} AS VARCHAR) AS cell FROM {source}",
        {"file": file},
    )
    ((gaps, no_slot),) = connection.execute(
        "SELECT count(*) FILTER (who IS NULL OR cell IS NULL), count(*) FILTER (slot IS NULL) FROM records"
    ).fetchall()
    if gaps:
        raise InvalidInput(f"{path.name} has rows without a user or a cell; fill or remove them")
    if no_slot:
        what = "a whole number in slot" if options.slot_width is None else "an ISO time, 2024-05-01 10:00:00, in time"
        raise InvalidInput(f"{path.name} has rows without {what}; mend or remove them")


def _slot(path: Path, columns: dict[str, str], kinds: dict[str, str], width: str | None) -> str:
    """The SQL that gives a row's slot, NULL where it has none."""
    needed = ("user", "cell", "slot" if width is None else "time")
    if missing := [name for name in needed if name not in columns]:
        hint = ""
        if missing == ["slot"] and "time" in columns:
            hint = "; it has a column time, so say how long a slot lasts, such as slot_width 1h"
        raise InvalidInput(
            f"{path.name} has no column {', '.join(missing)}; user, cell, and slot or time are needed{hint}",
            missing=tuple(missing),
        )
    if width is None:
        text = f"CAST({_quoted(columns['slot'])} AS VARCHAR)"
        return rf"TRY_CAST(regexp_extract({text}, '^\s*([+-]?[0-9]{{1,17}})(\.0*)?\s*$', 1) AS BIGINT)"
    kind, time = kinds["time"], _quoted(columns["time"])
    if not kind.startswith(("TIMESTAMP", "DATE", "VARCHAR")):
        raise InvalidInput(f"{path.name}: the column time must hold times or ISO text, not {kind}")
    if kind.startswith("TIMESTAMP_"):  # other precisions
        time = f"CAST({time} AS TIMESTAMP)"
    microseconds, long = f"epoch_us(TRY_CAST({time} AS TIMESTAMPTZ))", seconds(width) * 1_000_000
    # Rounded down before 1970, too: the rest of a division has the sign of what is divided.
    return f"({microseconds} - ({microseconds} % {long} + {long}) % {long}) // {long}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
