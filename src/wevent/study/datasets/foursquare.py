"""Opens the data set foursquare: which user of TIST2015 is in which country, slot by slot.

TIST2015 is a year and a half of check-ins all over the world [Yang16], two tab-separated files: check-ins with user,
venue, time such as `Tue Apr 03 18:00:06 +0000 2012` and offset; venues with latitude, longitude, category and country.

* Users: about 5 in 100, namely those for whom the first 8 hexadecimal digits of the MD5 hash of their id are less
  than 0.05 · 2³²: the same people for everybody who repeats this.
* Cells: the countries of these users' check-ins, by code. With `cells` = d, the d - 1 countries with the most records
  (ties by code) in this order, and `other` for the rest; if d is the number of countries, all of them.
* Slots: 100 minutes each, from the first check-in of these users on. Of several check-ins of one user in a slot the
  last one counts, in one second the last country by code.
* Lines of another form, and check-ins at unknown venues, are dropped and counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wevent.errors import InvalidSetting
from wevent.extend import Counts
from wevent.study.datasets.reading import LINES, collect, database, literal_path, need
from wevent.study.datasets.records import recorded
from wevent.study.datasets.stream import DataOptions, DataStream

NAME = "foursquare"
SLOT_SECONDS = 6_000
SOURCE = "Global-scale Check-in Dataset (TIST2015) of Dingqi Yang's Foursquare data sets"
CHECK_INS = "dataset_TIST2015_Checkins.txt"
VENUES = "dataset_TIST2015_POIs.txt"
OTHER = "other"

KEPT_BELOW = f"{-(-(2**32) * 5 // 100):08x}"
"""Users are kept whose hash begins below these digits."""

_VENUES = f"""
CREATE TEMP TABLE venues AS
WITH parts AS (SELECT string_split(line, '\t') AS part FROM {LINES}),
fields AS (
  SELECT part[1] AS venue, upper(regexp_extract(part[5], '^[A-Za-z][A-Za-z]$')) AS country,
         len(part) = 5 AND venue <> '' AND country <> '' AS valid
  FROM parts)
SELECT CASE WHEN valid THEN venue END AS venue, min(country) AS country, count(*) AS lines FROM fields GROUP BY 1
"""  # noqa: S608 -- nothing from outside is written into queries

_VISITS = f"""
CREATE TEMP TABLE visits AS
WITH parts AS (SELECT string_split(line, '\t') AS part FROM {LINES}),
fields AS (
  SELECT regexp_extract(part[1], '^[0-9]{{1,18}}$') AS id, part[2] AS venue,
         CAST(epoch(try_strptime(part[3], '%a %b %d %H:%M:%S +0000 %Y')) AS BIGINT) AS time,
         len(part) = 4 AND id <> '' AND venue <> '' AND time IS NOT NULL AS valid
  FROM parts),
kept AS (SELECT * FROM fields WHERE NOT valid OR left(md5(id), 8) < '{KEPT_BELOW}')
SELECT TRY_CAST(id AS BIGINT) AS who, time, valid, country
FROM kept LEFT JOIN venues ON valid AND kept.venue = venues.venue
"""  # noqa: S608

_STAYS = f"""
CREATE TEMP TABLE stays AS
SELECT who, (time - (SELECT min(time) FROM visits WHERE valid AND country IS NOT NULL)) // {SLOT_SECONDS} AS slot,
       arg_max(country, (time, country)) AS country
FROM visits WHERE valid AND country IS NOT NULL GROUP BY ALL
"""  # noqa: S608

_DROPPED = """
SELECT (SELECT coalesce(sum(lines), 0) FROM venues WHERE venue IS NULL), count(*) FILTER (NOT valid),
       count(*) FILTER (valid AND country IS NULL) FROM visits
"""


def open_foursquare(options: DataOptions) -> DataStream:
    """Read the two files in the folder `foursquare` of the data folder.

    Guarantees:
        Memory is bounded by what DuckDB may hold and by the records that remain.
        Without both files it raises `MissingData`; with more cells than countries, or 1, `InvalidSetting`.
    """
    check_ins, venues = need(NAME, options.folder / NAME, (CHECK_INS, VENUES), SOURCE)
    with database() as connection:
        connection.execute(_VENUES, {"files": literal_path(venues)})
        connection.execute(_VISITS, {"files": literal_path(check_ins)})
        connection.execute(_STAYS)
        bad_venues, bad_visits, unknown = connection.execute(_DROPPED).fetchall()[0]
        codes = [code for (code,) in connection.execute("SELECT DISTINCT country FROM stays ORDER BY 1").fetchall()]
        found = collect(
            connection,
            "SELECT who, slot, cell FROM stays JOIN (SELECT country, row_number() OVER (ORDER BY country) - 1 AS cell "
            "FROM (SELECT DISTINCT country FROM stays)) USING (country)",
        )
    cells, index = merge(codes, np.bincount(found.cell, minlength=len(codes)), options.cells)
    return recorded(
        NAME,
        options,
        people=found.people,
        cells=cells,
        slots=int(found.slot.max(initial=0)) + 1,
        user=found.user,
        slot=found.slot,
        cell=index[found.cell],
        dropped={"invalid line": bad_visits, "invalid venue": int(bad_venues), "unknown venue": unknown},
    )


def merge(codes: Sequence[str], records: Counts, cells: int | None) -> tuple[tuple[str, ...], Counts]:
    """Names of the cells, and each country's cell; `records` says how many records each has (axes: country)."""
    if cells is None or cells == len(codes):
        return tuple(codes), np.arange(len(codes))
    if not 2 <= cells < len(codes):
        most = len(codes)
        raise InvalidSetting(f"{NAME} can have from 2 to {most} cells in this folder, got cells={cells}", most=most)
    often = np.argsort(-records, kind="stable")[: cells - 1]
    index = np.full(len(codes), cells - 1)
    index[often] = np.arange(cells - 1)
    return (*(codes[country] for country in often), OTHER), index
