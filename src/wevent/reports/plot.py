"""Draws releases and charges of a stream as a PNG file or an offline HTML page.

Counts, error bands and decisions are public. Spends per cohort are the operator's, and are left out of a public plot.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wevent.events.names import show_name
from wevent.releases.release import interval
from wevent.reports.history import SlotRecord
from wevent.reports.releases import PublicRelease

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {"published": "#188038", "skipped": "#9aa0a6", "nullified": "#f9ab00", "lost": "#d93025"}
_MOST_CELLS, _MOST_ROWS = 6, 8


def draw(
    title: str, releases: Sequence[PublicRelease], cells: Sequence[str], charges: Sequence[SlotRecord] | None = None
) -> Figure:
    """Released counts with 95 % bands, decisions, and, for the operator, spends per cohort.

    Guarantees:
        Only what is in the arguments is drawn: without `charges` the picture holds public things only.
        If some cells are left out, the title says so.
    """
    from matplotlib.figure import Figure

    panels = 2 if charges is None else 3
    figure = Figure(figsize=(11, 3 + 2.2 * panels), layout="constrained")
    axes = figure.subplots(panels, 1, sharex=True, height_ratios=[4, 0.5, 2][:panels])
    slots = np.array([release.slot for release in releases])
    counts = np.array([release.counts for release in releases]).reshape(len(releases), len(cells))
    errors = np.array([release.standard_error for release in releases]).reshape(counts.shape)
    counts = np.where(np.isfinite(errors), counts, np.nan)  # before the first publication there is nothing to draw
    shown = np.sort(np.argsort(-np.nansum(np.abs(counts), axis=0), kind="stable")[:_MOST_CELLS])
    low, high = (np.where(np.isfinite(errors), end, np.nan) for end in interval(counts, errors))
    for cell in shown.tolist():
        (line,) = axes[0].step(slots, counts[:, cell], where="mid", label=_label(cells[cell]))
        band = {"alpha": 0.15, "color": line.get_color(), "linewidth": 0}
        axes[0].fill_between(slots, low[:, cell], high[:, cell], step="mid", **band)
    left_out = "" if len(shown) == len(cells) else f"; the {len(shown)} largest of {len(cells):,} cells"
    axes[0].set(title=title + left_out, ylabel="released count, 95 % interval")
    axes[0].legend(loc="upper left", ncols=3, fontsize="small")
    _decisions(axes[1], releases)
    if charges is not None:
        _spends(axes[2], charges)
    axes[-1].set_xlabel("slot")
    return figure


def _label(name: str) -> str:
    """A name as it is: matplotlib takes dollars for formulas, and leaves out what begins with an underscore."""
    text = show_name(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def save_png(figure: Figure, path: Path) -> None:
    """Write a picture."""
    figure.savefig(path, dpi=130, format="png", metadata={"Software": None})


def save_html(figure: Figure, path: Path, title: str) -> None:
    """Write one page that needs nothing else: the picture is inside, as vectors."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    picture = buffer.getvalue()
    picture = picture[picture.index("<svg") :]
    page = (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>"
        "<style>body{margin:1rem auto;max-width:75rem}svg{width:100%;height:auto}</style></head>"
        f"<body>{picture}</body></html>"
    )
    path.write_text(page, "utf-8")


def _decisions(axes: Any, releases: Sequence[PublicRelease]) -> None:
    for kind, colour in _COLOURS.items():
        chosen = [release.slot for release in releases if release.decision == kind]
        axes.scatter(chosen, [0] * len(chosen), marker="|", s=120, color=colour, label=kind)
    axes.set(yticks=[], ylabel="decision")
    axes.legend(loc="lower left", ncols=4, fontsize="x-small", frameon=False, bbox_to_anchor=(0, 0.95))


def _spends(axes: Any, charges: Sequence[SlotRecord]) -> None:
    kept = [record for record in charges if not record.forfeited]
    rows = max((record.change_budget.size for record in kept), default=0)
    spent = np.zeros((len(kept), rows))
    for place, record in enumerate(kept):
        spent[place, : record.change_budget.size] = record.spent / 1e9
    busiest = np.argsort(-spent.sum(axis=0), kind="stable")[:_MOST_ROWS]
    slots = [record.slot for record in kept]
    for row in sorted(busiest.tolist()):
        axes.step(slots, np.cumsum(spent[:, row]), where="mid", label=f"row {row}")
    axes.set(ylabel="spent in all, epsilon\n(operator only)")
    axes.legend(loc="upper left", ncols=4, fontsize="x-small")
