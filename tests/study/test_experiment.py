"""Experiments as data."""

from __future__ import annotations

from pathlib import Path

import pytest

from wevent.errors import InvalidSetting, UnknownName
from wevent.study.experiment import Experiment, from_table, load

TABLE = {"title": "A test", "data": ["sin", "log"], "mechanisms": ["pbd", "ba"]}


def test_every_combination_is_a_cell_round_by_round() -> None:
    """Two data sets, two budgets, one window, three rounds: twelve cells, the first round first."""
    experiment = from_table("e", {**TABLE, "vary": {"epsilon": [0.2, 1.0]}, "base": {"window": 40}, "rounds": 3})
    cells = list(experiment.tasks())
    assert [cell.round for cell in cells] == [1] * 4 + [2] * 4 + [3] * 4
    points = [(cell.point.data, cell.point.epsilon, cell.point.window) for cell in cells[:4]]
    assert points == [("sin", 0.2, 40), ("sin", 1.0, 40), ("log", 0.2, 40), ("log", 1.0, 40)]
    assert {cell.mechanisms for cell in cells} == {("pbd", "ba")}


def test_quick_is_the_same_in_small() -> None:
    """The same points, two rounds, 400 slots, 1,000 users."""
    experiment = from_table("e", {**TABLE, "vary": {"epsilon": [0.2, 1.0]}})
    quick = experiment.quick()
    assert quick.rounds == 2 and all(point.slots == 400 and point.users == 1_000 for point in quick.points())
    assert [point.epsilon for point in quick.points()] == [point.epsilon for point in experiment.points()]


@pytest.mark.parametrize(
    ("wrong", "lists"),
    [
        ({"mechanisms": ["pbd", "dwork"]}, "known are pbd, pba"),
        ({"data": ["sine"]}, "known are sin, log, tlns"),
        ({"metrics": ["rmse"]}, "known are amre, mae"),
        ({"metrics": ["amre"], "show": ["mae"]}, "known are amre, seconds_per_slot"),
        ({"protocol": "hopeful"}, "known are honest, printed"),
        ({"round": 3}, "known are title, data"),
        ({"vary": {"eps": [1]}}, "known are epsilon, window"),
        ({"base": {"w": 1}}, "known are epsilon, window"),
        ({"base": {"presence": "always"}}, "carry, seen"),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(wrong: dict[str, object], lists: str) -> None:
    """Every unknown name gets an error that lists the known ones."""
    with pytest.raises(UnknownName) as caught:
        from_table("e", {**TABLE, **wrong})
    assert lists in str(caught.value) and caught.value.fields["known"]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rounds": 0}, "rounds must be a whole number from 1 on"),
        ({"vary": {"epsilon": []}}, "needs a list of values"),
        ({"vary": {"epsilon": 0.2}}, "needs a list of values"),
        ({"vary": 3}, "must be a table"),
        ({"base": {"share": 0.5}}, "needs other_epsilon and other_window"),
        ({"base": {"slots": 0}}, "slots must be a whole number"),
    ],
)
def test_what_cannot_be_run_is_refused(wrong: dict[str, object], says: str) -> None:
    """With a sentence that says what is wrong."""
    with pytest.raises(InvalidSetting, match=says):
        from_table("e", {**TABLE, **wrong})


def test_what_is_missing_is_named() -> None:
    """A file without mechanisms says so."""
    with pytest.raises(InvalidSetting, match="says nothing about mechanisms"):
        from_table("e", {"title": "t", "data": ["sin"]})


def test_files(tmp_path: Path) -> None:
    """A file that is not there names those that are; one that is no TOML says where it breaks."""
    (tmp_path / "one.toml").write_text('title = "T"\ndata = ["sin"]\nmechanisms = ["pbd"]\n')
    assert load(tmp_path / "one.toml") == Experiment("one", "T", ("sin",), ("pbd",))
    with pytest.raises(InvalidSetting, match="there are one"):
        load(tmp_path / "two.toml")
    (tmp_path / "bad.toml").write_text("title = ")
    with pytest.raises(InvalidSetting, match="no TOML file"):
        load(tmp_path / "bad.toml")
