"""Figures."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from tests.study.reporting.made_up import rows
from tests.support import quick_and_slow

from wevent.study.experiment import Experiment, from_table
from wevent.study.mechanisms import MECHANISMS
from wevent.study.reporting import plots
from wevent.study.reporting.palette import DARK, LIGHT, PLOT_STYLES, plot_style
from wevent.study.reporting.summary import Panel, panels

TABLE: dict[str, Any] = {"title": "T", "data": ["sin", "log", "tlns"], "mechanisms": ["pbd", "spas"], "rounds": 2}
ERRORS = {"pbd": (1.0, 2.0), "spas": (500.0, 900.0)}


def made(**changes: Any) -> tuple[Experiment, tuple[Panel, ...]]:
    experiment = from_table("e", {**TABLE, "vary": {"epsilon": [0.2, 0.6]}, **changes})
    return experiment, panels(experiment, rows(experiment, ERRORS))


def size(png: bytes) -> tuple[int, int]:
    from PIL import Image

    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    with Image.open(BytesIO(png)) as image:
        image.load()
        return image.size


@pytest.mark.parametrize(
    "changes", quick_and_slow([{"vary": {}}], [{}, {"vary": {"epsilon": [0.6], "window": [40, 80]}}])
)
def test_plots_are_pngs(changes: dict[str, Any]) -> None:
    """Against one parameter, against none, against two: a picture that opens."""
    wide, high = size(plots.draw(*made(**changes), "amre"))
    assert wide > 1000 and high > 500


def test_parts_are_stacked_bars() -> None:
    """The parts of the error of selection, two panels to a data set."""
    experiment, found = made(mechanisms=["pbd"], data=["sin"])
    assert size(plots.draw_parts(experiment, found))[0] > 1000


@pytest.mark.slow
def test_the_same_rows_give_the_same_picture() -> None:
    """No time and no chance goes in; themes differ."""
    experiment, found = made(data=["sin"])
    light = plots.draw(experiment, found, "amre", LIGHT)
    assert plots.draw(experiment, found, "amre", LIGHT) == light
    assert plots.draw(experiment, found, "amre", DARK) != light


def test_the_axis_is_logarithmic_where_values_span_decades(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of 1 and 900 share a logarithmic axis; errors of 1 and 2 one that begins at 0."""
    scales = []
    scale = plots._scale

    def noted(axes: Any, which: str, values: Any) -> None:
        scale(axes, which, values)
        scales.append((axes.get_yscale(), axes.get_ylim()[0]))

    monkeypatch.setattr(plots, "_scale", noted)
    plots.draw(*made(data=["sin"]), "amre")
    plots.draw(*made(data=["sin"], mechanisms=["pbd"], base={"slots": 9}), "amre")
    assert scales[0][0] == "log" and scales[1] == ("linear", 0)


def test_printed_is_labelled_not_private(monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure of the protocol `printed` says in red what it is; an honest one marks what is not proven."""
    from matplotlib.figure import Figure

    said: list[str] = []
    monkeypatch.setattr(Figure, "suptitle", lambda self, text, **_: said.append(text))
    plots.draw(*made(protocol="printed", data=["sin"]), "amre")
    assert said == ["NOT PRIVATE (protocol printed)"]
    honest, printed = from_table("e", TABLE), from_table("e", {**TABLE, "protocol": "printed"})
    assert plots._named("spas", honest) == "SPAS (accounted, not proven)"
    assert plots._named("spas", printed) == "SPAS" and plots._named("pbd", honest) == "PBD"


def test_no_two_mechanisms_look_alike() -> None:
    """Every mechanism of the package has a look of its own, and never differs from another by colour alone."""
    assert set(PLOT_STYLES) == set(MECHANISMS)
    assert len(set(PLOT_STYLES.values())) == len(PLOT_STYLES)
    shapes = [(style.colour, style.line, style.marker) for style in PLOT_STYLES.values()]
    for colour in {style.colour for style in PLOT_STYLES.values()}:
        same = [shape[1:] for shape in shapes if shape[0] == colour]
        assert len(same) == len(set(same))
    assert plot_style("mine") == plot_style("mine")
