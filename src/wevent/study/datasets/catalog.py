"""Lists all data sets by name, and opens a data set by its name or the path of a file.

A data set of your own is one more entry: `DATASETS["mine"] = open_mine`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from wevent.errors import UnknownName
from wevent.study.datasets import foursquare, log, nycflights, own, sin, taxi, tlns
from wevent.study.datasets.stream import DataOptions, DataStream, Opener
from wevent.study.datasets.synthetic import Series, open_series

SERIES: dict[str, Series] = {"sin": sin.probabilities, "log": log.probabilities, "tlns": tlns.probabilities}
"""The synthetic sets' probabilities, which the protocol `printed` rounds."""

DATASETS: dict[str, Opener] = {name: partial(open_series, name, series) for name, series in SERIES.items()} | {
    "taxi": taxi.open_taxi,
    "foursquare": foursquare.open_foursquare,
    "nycflights": nycflights.open_nycflights,
}
"""Name → opener."""


def open_stream(name: str, options: DataOptions | None = None) -> DataStream:
    """Open a data set.

    Args:
        name: a name of `DATASETS`, or the path of a CSV or Parquet file.
        options: slots, users, cells, presence, folder and slot width; the usual ones if left out.

    Guarantees:
        A name that is neither raises `UnknownName`, which lists the known ones.
        An entry of `DATASETS` goes before a file of the same name.
    """
    check_name(name)
    if opener := DATASETS.get(name):
        return opener(options or DataOptions())
    return own.open_own(Path(name), options or DataOptions())


def check_name(name: str) -> None:
    """Raise `UnknownName` unless a name could be opened: one of `DATASETS`, or the path of a CSV or Parquet file."""
    if name not in DATASETS and not own.is_file_name(name):
        raise UnknownName(
            f"no data set is called {name!r}; known are {', '.join(DATASETS)}, and the path of a CSV or Parquet file",
            known=tuple(DATASETS),
        )
