"""Comparisons on one stream, files of your own included."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wevent.cli.main import main
from wevent.errors import InvalidRequirement, InvalidSetting, UnknownName
from wevent.study.compare import Comparison, compare
from wevent.study.runner import RunSettings

FIELDS = "data mechanism epsilon window round amre mae mre ajsd awd"
FIELDS += " published skipped nullified worst_window seconds_per_slot"
ONE = RunSettings(jobs=1)


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "seconds_per_slot"} for row in rows]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Events of five people with a planted name, their requirements, and how one of them changes."""
    events = ["user,cell,slot"]
    for slot in range(1, 41):
        events += [f"secret-{user},place-{(user * slot) % 3},{slot}" for user in range(5) if (user + slot) % 4]
    (tmp_path / "events.csv").write_text("\n".join(events))
    required = ["user,epsilon,window"] + [f"secret-{user},{1 + user / 2},{8 + user}" for user in range(5)]
    (tmp_path / "requirements.csv").write_text("\n".join(required))
    moves = ["user,slot,epsilon,window", "secret-1,1,2,4", "secret-1,20,0.5,4", "secret-3,7,1,3"]
    (tmp_path / "moves.csv").write_text("\n".join(moves))
    return tmp_path


def test_a_row_for_each_mechanism_and_round_with_all_fields() -> None:
    """In order of rounds, then of mechanisms as they were named; the same again for the same seed."""
    comparison = Comparison("sin", ("pba", "ba"), slots=80, users=300, rounds=2)
    rows = compare(comparison, ONE)
    assert [" ".join(row) for row in rows] == [FIELDS] * 4
    assert [(row["mechanism"], row["round"]) for row in rows] == [("pba", 1), ("ba", 1), ("pba", 2), ("ba", 2)]
    assert all(row["worst_window"] <= 1 and row["epsilon"] == 0.6 and row["window"] == 120 for row in rows)
    assert plain(compare(comparison, ONE)) == plain(rows)
    assert plain(compare(replace(comparison, seed=2), ONE)) != plain(rows)


@pytest.mark.slow
def test_processes_change_nothing() -> None:
    """One process or two: the same rows."""
    comparison = Comparison("tlns", ("dpbd", "lpu"), slots=80, users=300, rounds=3)
    assert plain(compare(comparison, ONE)) == plain(compare(comparison, RunSettings(jobs=2)))


def test_the_shell_prints_a_table_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A table for people, a list of objects for programs."""
    words = ["study", "compare", "--data", "log", "--mechanisms", "pbd,spas", "--slots", "50", "--users", "200"]
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["mechanism"] for row in rows] == ["pbd", "spas"] and " ".join(rows[0]) == FIELDS
    assert main(words) == 0
    table = capsys.readouterr().out
    assert "pbd" in table and "spas *" in table and "not proven" in table and "One round" in table


def test_ones_own_stream_and_requirements(files: Path) -> None:
    """Cells, users and slots come from the file; the strictest requirement serves the common mechanisms."""
    comparison = Comparison(
        str(files / "events.csv"),
        ("pbd", "bd", "dpbd", "dpba", "lpu"),
        presence="seen",
        requirements=files / "requirements.csv",
        dynamic=files / "moves.csv",
    )
    rows = compare(comparison, ONE)
    assert all(row["worst_window"] <= 1 and row["epsilon"] == 1 and row["window"] == 12 for row in rows)
    fixed = compare(replace(comparison, mechanisms=("pbd", "dpbd"), dynamic=None), ONE)
    assert plain(fixed)[0] == plain(rows)[0]  # fixed mechanisms do not follow changes
    assert fixed[1]["amre"] == fixed[0]["amre"] or fixed[1]["amre"] != rows[2]["amre"]


def test_times_need_a_width(tmp_path: Path) -> None:
    """A file with times is cut into slots of the given width, and refused without one."""
    lines = ["user,cell,time"] + [f"u{k % 3},c{k % 2},2024-05-01 {k:02}:10:00" for k in range(24)]
    (tmp_path / "e.csv").write_text("\n".join(lines))
    (row,) = compare(Comparison(str(tmp_path / "e.csv"), ("uniform",), epsilon=2, window=3, slot_width="2h"), ONE)
    assert row["published"] == 12
    with pytest.raises(ValueError, match="slot_width"):
        compare(Comparison(str(tmp_path / "e.csv"), ("uniform",)), ONE)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("user,epsilon,window\nsecret-0,1,8\n", "no row for 4 of 5 users"),
        ("user,epsilon\nsecret-0,1\n", "no column window"),
        ("user,epsilon,window\nsecret-9,1,8\n", "1 rows of users who are not in the data"),
        ("user,epsilon,window\nsecret-0,1,8\nsecret-0,1,8\n", "row 2 repeats a user"),
        ("user,epsilon,window\nsecret-0,,8\n", "row 1 lacks a user or a number"),
        ("user,epsilon,window\nsecret-0,-3,8\n", "row 1: epsilon must be above 0"),
        ("user,epsilon,window\nsecret-0,1,0\n", "row 1: window must be"),
        ("user,epsilon,window\nsecret-0,1,2.5\n", "row 1: window must be"),
    ],
)
def test_wrong_requirements_are_refused_and_nobody_is_named(files: Path, content: str, says: str) -> None:
    """With the file and the row, never with a user."""
    (files / "requirements.csv").write_text(content)
    comparison = Comparison(str(files / "events.csv"), ("pbd",), requirements=files / "requirements.csv")
    with pytest.raises((InvalidSetting, InvalidRequirement)) as caught:
        compare(comparison, ONE)
    assert says in str(caught.value) and "secret" not in str(caught.value)


def test_unknown_names_are_refused_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """With the known ones; on the shell as one line and exit code 2."""
    with pytest.raises(UnknownName, match="known are pbd, pba"):
        compare(Comparison("sin", ("pbd", "magic")))
    with pytest.raises(UnknownName, match="known are sin, log"):
        compare(Comparison("sun", ("pbd",)))
    with pytest.raises(InvalidSetting, match="at least one mechanism"):
        compare(Comparison("sin", ()))
    assert main(["study", "compare", "--data", "sun", "--mechanisms", "pbd"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("wevent: no data set is called 'sun'") and said.count("\n") == 1
