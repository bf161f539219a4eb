"""Shows a release as a dictionary, a DataFrame or a small HTML table.

Everything that these show is public. Counts of cells of which nothing was published yet are missing, not 0.
"""

from __future__ import annotations

import math
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from wevent.errors import InvalidSetting

if TYPE_CHECKING:
    from wevent.releases.release import Release

FrameLibrary = Literal["pandas", "polars"]

_LIBRARIES: tuple[FrameLibrary, ...] = ("pandas", "polars")
_MOST_CELLS = 20


def to_dict(release: Release) -> dict[str, Any]:
    """Slot, decision and threshold, then values by cell; raw values only where something was published."""
    shown: dict[str, Any] = {"slot": release.slot, "decision": release.decision.value, "threshold": release.threshold}
    columns = _columns(release)
    if release.raw is not None:
        columns |= {"raw": release.raw.counts.tolist(), "raw_standard_error": release.raw.standard_error.tolist()}
    return shown | {name: dict(zip(release.cells, values, strict=True)) for name, values in columns.items()}


def to_frame(release: Release, library: FrameLibrary | None = None) -> Any:
    """One row for each cell, in the library that is named, or in the first that is installed."""
    wanted = _LIBRARIES if library is None else (library,)
    found = next((name for name in wanted if find_spec(name) is not None), None)
    if found is None:
        raise InvalidSetting(f"to_frame needs {' or '.join(wanted)}; install it with pip, or use as_dict()")
    columns = _columns(release)
    repeated = {"slot": release.slot, "decision": release.decision.value}
    head = {name: [value] * len(release.cells) for name, value in repeated.items()}
    return import_module(found).DataFrame(
        head | {"cell": list(release.cells), "count": columns.pop("counts")} | columns
    )


def to_html(release: Release) -> str:
    """A table of the first cells, for notebooks; every name is escaped."""
    columns = _columns(release)
    rows = zip(release.cells, *(columns[name] for name in ("counts", "low", "high")), strict=True)
    body = "".join(
        f"<tr><th>{escape(str(cell))}</th>{''.join(f'<td>{_number(value)}</td>' for value in values)}</tr>"
        for cell, *values in list(rows)[:_MOST_CELLS]
    )
    more = len(release.cells) - _MOST_CELLS
    rest = f"<tr><td colspan=4>and {more:,} more cells</td></tr>" if more > 0 else ""
    head = "<tr><th>cell</th><th>count</th><th>low</th><th>high</th></tr>"
    return f"<table><caption>slot {release.slot}: {release.decision.value}</caption>{head}{body}{rest}</table>"


def _columns(release: Release) -> dict[str, list[Any]]:
    """Plain numbers by cell; None where nothing was published yet."""
    known = [math.isfinite(error) for error in release.standard_error.tolist()]
    arrays = {
        "counts": release.counts,
        "standard_error": release.standard_error,
        "low": release.low,
        "high": release.high,
    }
    return {
        name: [value if is_known else None for value, is_known in zip(array.tolist(), known, strict=True)]
        for name, array in arrays.items()
    }


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
