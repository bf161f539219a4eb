"""Registers, slots and releases as pandas and polars DataFrames."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas
import polars
import pytest

from tests.support import Recorded
from wevent import Dynamic, Fixed, Register, Release, Slot, pbd
from wevent.errors import AlreadyRegistered, InvalidInput, InvalidRequirement, InvalidSetting, TooManyCells
from wevent.releases import display

LIBRARIES = {"pandas": pandas, "polars": polars}
library = pytest.mark.parametrize("library", LIBRARIES)
PEOPLE = {"user": ["user-0", "user-1", "user-2"], "epsilon": [0.5, 1.0, 0.5], "window": [4, 2, 4]}


def frame(library: str, columns: dict[str, Any]) -> Any:
    return LIBRARIES[library].DataFrame(columns)


def released() -> tuple[Release, Release]:
    """A lost slot before anything was published, and a published one."""
    publisher = pbd(Register.from_rows({"user-0": Fixed(1, 2)}), ["<b>", "south"], noise=Recorded(1), fast=False)
    nothing = publisher.skip_without_people(1)
    return nothing, pbd(Register.from_arrays([9.0] * 90, [1] * 90), ["<b>", "south"], noise=Recorded(1)).step(
        Slot(1, np.repeat([0, 1], 45))
    )


@library
def test_registers(library: str) -> None:
    """A frame gives the register that `from_rows` gives for its people, under any names of columns."""
    register = Register.from_frame(frame(library, PEOPLE))
    assert list(register.users) == PEOPLE["user"]
    assert register.table == [Fixed("0.5", 4), Fixed(1, 2)]
    assert register.sizes.tolist() == [2, 1]
    renamed = frame(library, {"name": [7, 8], "e": [1, 2], "w": [1, 2]})
    assert Register.from_frame(renamed, "name", "e", "w").table == [Fixed(1, 1), Fixed(2, 2)]


@library
def test_dynamic_registers(library: str) -> None:
    """A row with both backward values is dynamic, one with neither is fixed, one with half of them is refused."""
    columns = PEOPLE | {"b": [1.0, None, 2.0], "bw": [3, None, 4]}
    register = Register.from_frame(frame(library, columns), backward_epsilon="b", backward_window="bw")
    assert register.table == [Dynamic(("0.5", 4), (1, 3)), Fixed(1, 2), Dynamic(("0.5", 4), (2, 4))]
    with pytest.raises(InvalidRequirement, match="both"):
        Register.from_frame(frame(library, columns), backward_epsilon="b")


@library
def test_slots(library: str) -> None:
    """A frame gives the slot of its pairs; more rows of a user than declared are refused."""
    places = {"user": ["user-0", "user-1", "user-0"], "cell": ["north", "south", "south"]}
    assert Slot.from_frame(3, frame(library, places), contributions=2).places == {
        "user-0": ("north", "south"),
        "user-1": ("south",),
    }
    with pytest.raises(TooManyCells):
        Slot.from_frame(3, frame(library, places))


@library
def test_refused_frames(library: str) -> None:
    """A missing column or value is refused; the message names the column and nothing of a person."""
    with pytest.raises(InvalidInput, match=r"one column 'window'; its columns are user, epsilon$"):
        Register.from_frame(frame(library, {name: PEOPLE[name] for name in ("user", "epsilon")}))
    for column, values in {"user": ["user-0", None, "user-2"], "epsilon": [0.5, None, 1.0]}.items():
        with pytest.raises(InvalidInput, match=f"column '{column}' has a row without a value") as caught:
            Register.from_frame(frame(library, PEOPLE | {column: values}))
        assert "user-" not in str(caught.value)
    with pytest.raises(AlreadyRegistered):
        Register.from_frame(frame(library, PEOPLE | {"user": ["user-0", "user-0", "user-2"]}))


@library
def test_releases(library: str) -> None:
    """A release as a frame has a row for each cell; what was never published is missing."""
    nothing, release = released()
    shown = release.to_frame(library)  # type: ignore[arg-type]
    assert isinstance(shown, LIBRARIES[library].DataFrame)
    assert list(shown.columns) == ["slot", "decision", "cell", "count", "standard_error", "low", "high"]
    assert shown["cell"].to_list() == ["<b>", "south"]
    assert shown["count"].to_list() == release.counts.tolist()
    missing = nothing.to_frame(library)["count"]  # type: ignore[arg-type]
    assert (missing.isna() if library == "pandas" else missing.is_null()).all()


def test_the_library_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a name the first library that is installed is used; without any the error names both."""
    _, release = released()
    assert isinstance(release.to_frame(), pandas.DataFrame)
    monkeypatch.setattr(display, "find_spec", lambda name: None if name == "pandas" else find_spec(name))
    assert isinstance(release.to_frame(), polars.DataFrame)
    monkeypatch.setattr(display, "find_spec", lambda name: None)
    with pytest.raises(InvalidSetting, match="pandas or polars"):
        release.to_frame()


def test_releases_as_plain_values() -> None:
    """A release as a dictionary is valid JSON, by cell; raw values are there where something was published."""
    nothing, release = released()
    shown = json.loads(json.dumps(release.as_dict()))
    assert list(release.cells) == ["<b>", "south"]
    assert shown["counts"] == dict(zip(release.cells, release.counts.tolist(), strict=True))
    assert shown["decision"] == "published"
    assert shown["raw"] == shown["counts"]
    assert nothing.as_dict()["counts"] == {"<b>": None, "south": None}
    assert "raw" not in nothing.as_dict()


def test_releases_as_html() -> None:
    """A notebook shows a table; names are escaped, cells beyond the first twenty are counted."""
    nothing, release = released()
    assert "<b>" not in release._repr_html_()
    assert "&lt;b&gt;" in release._repr_html_()
    assert "–" in nothing._repr_html_()
    many = pbd(Register.from_rows({0: Fixed(1, 1)}), 25, noise=Recorded(1), fast=False).step(Slot(1))
    assert "5 more cells" in many._repr_html_()
    assert list(many.cells) == list(range(25))
