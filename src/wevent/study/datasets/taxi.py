"""Opens the data set taxi: which taxi of T-Drive is in which cell of a grid, minute by minute.

T-Drive is a week of Beijing's taxis [Yuan10]: a file for each, its lines `id,YYYY-MM-DD HH:MM:SS,longitude,latitude`.

* Cells: the box of 0.8 by 0.8 degrees is cut into rows from south to north and columns from west to east, 10 by 10
  unless `cells` says otherwise. A point on a line belongs to the cell north or east of it, a point on the
  outer border to the last cell; points outside of the box are dropped. Coordinates count to a millionth of a degree.
* Slots: minutes from the first record in the box on. Of several records of a taxi in a minute the last one counts,
  of several in one second the one in the highest cell; so exact duplicates change nothing.
* A taxi without any record in the box is left out. Lines of another form are dropped and counted.
"""

from __future__ import annotations

import math

from wevent.errors import InvalidSetting
from wevent.study.datasets.reading import LINES, collect, database, literal_path, missing_data
from wevent.study.datasets.records import recorded
from wevent.study.datasets.stream import DataOptions, DataStream

NAME = "taxi"
CELLS = 100
MOST_CELLS = 10_000
SLOT_SECONDS = 60
SOURCE = "T-Drive trajectory data sample of Microsoft Research Asia"

# The box [116, 116.8] × [39.5, 40.3] in millionths of a degree.
_WEST, _SOUTH, _SIDE = 116_000_000, 39_500_000, 800_000

_POINTS = f"""
CREATE TEMP TABLE points AS
WITH parts AS (SELECT string_split(line, ',') AS part FROM {LINES}),
fields AS (
  SELECT TRY_CAST(regexp_extract(part[1], '^[0-9]+$') AS BIGINT) AS who,
         CAST(epoch(try_strptime(part[2], '%Y-%m-%d %H:%M:%S')) AS BIGINT) AS time,
         CAST(TRY_CAST(part[3] AS DECIMAL(18, 6)) * 1000000 AS BIGINT) - {_WEST} AS x,
         CAST(TRY_CAST(part[4] AS DECIMAL(18, 6)) * 1000000 AS BIGINT) - {_SOUTH} AS y,
         len(part) = 4 AND who IS NOT NULL AND time IS NOT NULL AND x IS NOT NULL AND y IS NOT NULL AS valid
  FROM parts)
SELECT who, time, valid, x BETWEEN 0 AND {_SIDE} AND y BETWEEN 0 AND {_SIDE} AS inside,
       least(y * $rows // {_SIDE}, $rows - 1) * $columns + least(x * $columns // {_SIDE}, $columns - 1) AS cell
FROM fields
"""  # noqa: S608 -- numbers of ours

_DROPPED = "SELECT count(*) FILTER (NOT valid), count(*) FILTER (valid AND NOT inside) FROM points"

_FOUND = f"""
SELECT who, (time - (SELECT min(time) FROM points WHERE valid AND inside)) // {SLOT_SECONDS} AS slot,
       arg_max(cell, (time, cell)) AS cell
FROM points WHERE valid AND inside GROUP BY ALL
"""  # noqa: S608


def grid(cells: int) -> tuple[int, int]:
    """Rows and columns of a grid with so many cells, as close to a square as possible, not more rows than columns."""
    rows = next(rows for rows in range(math.isqrt(cells), 0, -1) if cells % rows == 0)
    return rows, cells // rows


def open_taxi(options: DataOptions) -> DataStream:
    """Read the files in the folder `taxi` of the data folder, or in folders below it.

    Guarantees:
        Memory is bounded by what DuckDB may hold and by the records that remain.
        Without any file `<number>.txt` it raises `MissingData`; more than 10,000 cells raise `InvalidSetting`.
    """
    if (cells := options.cells or CELLS) > MOST_CELLS:
        raise InvalidSetting(f"{NAME} can have at most {MOST_CELLS:,} cells, got cells={cells}", limit=MOST_CELLS)
    folder = options.folder / NAME
    files = sorted(file for file in folder.rglob("*.txt") if file.stem.isdecimal())
    if not files:
        raise missing_data(NAME, folder, ("1.txt … 10357.txt",), SOURCE)
    rows, columns = grid(cells)
    with database() as connection:
        paths = [literal_path(file) for file in files]
        connection.execute(_POINTS, {"files": paths, "rows": rows, "columns": columns})
        invalid, outside = connection.execute(_DROPPED).fetchall()[0]
        found = collect(connection, _FOUND)
    return recorded(
        NAME,
        options,
        people=found.people,
        cells=[f"row {row} column {column}" for row in range(rows) for column in range(columns)],
        slots=int(found.slot.max(initial=0)) + 1,
        user=found.user,
        slot=found.slot,
        cell=found.cell,
        plane=(rows, columns),
        dropped={"invalid line": invalid, "outside the box": outside},
    )
