"""Draws the plots of an experiment as PNGs.

Small multiples, one for each data set. Lines join medians over rounds, bars reach from the least round to the
greatest, hollow markers are what the paper prints. matplotlib is imported where it is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from wevent.study.experiment import Experiment
from wevent.study.mechanisms import MECHANISMS
from wevent.study.reporting import labels
from wevent.study.reporting.palette import LIGHT, PARTS, Theme, plot_style
from wevent.study.reporting.summary import Panel, Where

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOT_PRIVATE = "NOT PRIVATE (protocol printed)"
DPI = 144
_LOG_FROM = 20.0
_WIDTH, _HEIGHT = 5.3, 3.2
_STAGES = {"change": "measuring change", "release": "release"}


def draw(experiment: Experiment, panels: Sequence[Panel], metric: str, theme: Theme = LIGHT) -> bytes:
    """One metric of an experiment as a PNG: against what varies, or mechanism by mechanism if nothing does.

    Guarantees:
        A mechanism looks the same in every figure.
        A figure of the protocol `printed` says that it is not private.
    """
    import matplotlib

    with matplotlib.rc_context(theme.settings()):
        figure, grid = _figure(experiment, len(panels), 1 if len(panels) == 1 else 2, theme)
        for axes, panel in zip(grid, panels, strict=False):
            axes.set_title(panel.label)
            if experiment.vary:
                _lines(axes, panel, metric)
            else:
                _dots(axes, panel, metric, experiment)
        _name_axes(grid, len(panels), _axis(experiment) or labels.metric(metric))
        if experiment.vary:
            for axes in grid[::2]:
                axes.set_ylabel(labels.metric(metric))
            _legend(figure, experiment, panels, metric, theme)
        return _png(figure)


def draw_parts(experiment: Experiment, panels: Sequence[Panel], theme: Theme = LIGHT) -> bytes:
    """What the error of budget selection is made of, as a PNG: stacked bars of shares, the totals above them."""
    import matplotlib
    from matplotlib.patches import Patch

    with matplotlib.rc_context(theme.settings()):
        figure, grid = _figure(experiment, 2 * len(panels), 2, theme)
        for k, panel in enumerate(panels):
            for axes, stage in zip(grid[2 * k : 2 * k + 2], _STAGES, strict=True):
                axes.set_title(f"{panel.label}: {_STAGES[stage]}", pad=16)
                _stacks(axes, panel, stage)
        for axes in grid[::2]:
            axes.set_ylabel("share of expected squared error")
        for axes in grid[-2:]:
            axes.set_xlabel(_axis(experiment), labelpad=30)
        names = {"noise": "noise", "variance": "sampling variance", "bias": "squared sampling bias"}
        handles = [Patch(color=PARTS[part], label=name) for part, name in names.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=3)
        return _png(figure)


def _figure(experiment: Experiment, many: int, columns: int, theme: Theme) -> tuple[Figure, list[Axes]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = -(-many // columns)
    wide = _WIDTH * (1.3 if columns == 1 else columns)
    figure = Figure(figsize=(wide, _HEIGHT * rows + 0.9), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    if experiment.protocol == "printed":
        figure.suptitle(NOT_PRIVATE, color=theme.alarm, fontsize=12, fontweight="bold")
    grid = [figure.add_subplot(rows, columns, k + 1) for k in range(many)]
    return figure, grid


def _name_axes(grid: Sequence[Axes], many: int, name: str) -> None:
    """Name the horizontal axis of the lowest panel of each column."""
    for axes in grid[max(many - 2, 0) :] if many > 1 else grid:
        axes.set_xlabel(name)


def _lines(axes: Axes, panel: Panel, metric: str) -> None:
    """Medians joined by lines, mechanisms a little apart so that their bars do not hide each other."""
    seen: list[float] = []
    for k, name in enumerate(panel.mechanisms):
        style, shift = plot_style(name), _shift(k, len(panel.mechanisms))
        found = [(x + shift, stat) for x, where in enumerate(panel.places) if (stat := panel.stat(metric, name, where))]
        if not found:
            continue
        seen += [value for _, stat in found for value in (stat.least, stat.greatest)]
        axes.errorbar(
            [x for x, _ in found],
            [stat.median for _, stat in found],
            yerr=[[stat.median - stat.least for _, stat in found], [stat.greatest - stat.median for _, stat in found]],
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markersize=5,
            linewidth=1.5,
            elinewidth=0.9,
        )
        for x, where in enumerate(panel.places):
            if (printed := panel.printed(metric, name, where)) is not None:
                seen.append(printed)
                axes.plot(x + shift, printed, style.marker, color=style.colour, markersize=9, fillstyle="none")
    axes.set_xticks(range(len(panel.places)), [_words(where) for where in panel.places])
    axes.set_xlim(-0.5, len(panel.places) - 0.5)
    _scale(axes, "y", seen)


def _dots(axes: Axes, panel: Panel, metric: str, experiment: Experiment) -> None:
    """Mechanisms one below the other, the least median on top."""
    found = {name: stat for name in panel.mechanisms if (stat := panel.stat(metric, name, panel.places[0]))}
    order = sorted(found, key=lambda name: -found[name].median)
    for y, name in enumerate(order):
        style, stat = plot_style(name), found[name]
        axes.plot([stat.least, stat.greatest], [y, y], color=style.colour, linewidth=1.2)
        axes.plot(stat.median, y, style.marker, color=style.colour, markersize=7)
    axes.set_yticks(range(len(order)), [_named(name, experiment) for name in order])
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    _scale(axes, "x", [value for stat in found.values() for value in (stat.least, stat.greatest)])


def _stacks(axes: Axes, panel: Panel, stage: str) -> None:
    """Shares of the parts, side by side for the mechanisms of each place."""
    many = len(panel.mechanisms)
    ticks = []
    for x, where in enumerate(panel.places):
        for k, name in enumerate(panel.mechanisms):
            at = x * (many + 0.8) + k
            sizes = {part: stat.mean for part in PARTS if (stat := panel.stat(f"{stage}_{part}", name, where))}
            total = sum(sizes.values())
            bottom = 0.0
            for part, size in sizes.items():
                share = size / total if 0 < total < math.inf else 0.0
                axes.bar(at, share, 0.88, bottom, color=PARTS[part], linewidth=0)
                bottom += share
            if sizes:
                axes.text(at, 1.02, _short(total), ha="center", va="bottom", fontsize=7.5)
            ticks.append((at, labels.mechanism(name)))
        middle, below = x * (many + 0.8) + (many - 1) / 2, axes.get_xaxis_transform()
        axes.text(middle, -0.13, _words(where), ha="center", va="top", fontsize=10, transform=below)
    axes.set_xticks([at for at, _ in ticks], [name for _, name in ticks], fontsize=7.5)
    axes.tick_params(axis="x", length=0)
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])


def _legend(figure: Figure, experiment: Experiment, panels: Sequence[Panel], metric: str, theme: Theme) -> None:
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(name for panel in panels for name in panel.mechanisms))
    handles = []
    for name in names:
        style, label = plot_style(name), _named(name, experiment)
        look: dict[str, Any] = {"color": style.colour, "linestyle": style.line, "marker": style.marker}
        handles.append(Line2D([], [], **look, markersize=5, label=label))
    if any(panel.printed(metric, *key) is not None for panel in panels for key in panel.rows):
        look = {"color": theme.ink, "linestyle": "", "marker": "o", "fillstyle": "none"}
        handles.append(Line2D([], [], **look, markersize=9, label="the paper"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 6 if len(panels) > 1 else 4))


def _scale(axes: Axes, which: str, values: Sequence[float]) -> None:
    """A logarithmic axis where values span decades, else one that begins at 0."""
    from matplotlib.ticker import FuncFormatter

    if values and min(values) > 0 and max(values) / min(values) > _LOG_FROM:
        getattr(axes, f"set_{which}scale")("log")
        return
    getattr(axes, f"set_{which}lim")(0, None)
    write: Callable[[float, float], str] = lambda value, _: f"{round(value, 12):,.12g}"  # noqa: E731
    getattr(axes, f"{which}axis").set_major_formatter(FuncFormatter(write))


def _shift(k: int, many: int) -> float:
    return (k - (many - 1) / 2) * 0.56 / max(many, 2)


def _axis(experiment: Experiment) -> str:
    return ", ".join(labels.parameter(name) for name, _ in experiment.vary)


def _words(where: Where) -> str:
    return ", ".join(value or "usual" for value in where)


def _named(name: str, experiment: Experiment) -> str:
    """A mechanism's name, with a note where privacy is accounted but not proven."""
    known = MECHANISMS.get(name)
    doubtful = experiment.protocol == "honest" and known is not None and not known.proven
    return labels.mechanism(name) + (" (accounted, not proven)" if doubtful else "")


def _short(value: float) -> str:
    """A number in as few letters as possible: 1.2M."""
    if not math.isfinite(value):
        return "∞"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{_two_digits(value / size)}{letter}"
    return _two_digits(value)


def _two_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _png(figure: Figure) -> bytes:
    """Bytes of a PNG with a palette of its own, a third as large as one in full colour."""
    from PIL import Image

    full_colour, out = BytesIO(), BytesIO()
    figure.savefig(full_colour, format="png")
    with Image.open(full_colour) as image:
        image.convert("RGB").quantize(128).save(out, format="png", optimize=True)
    return out.getvalue()
