"""`wevent.toml`: what is right is read, what is wrong is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.store.scene import settings

from wevent import Dynamic, Fixed
from wevent.config.asking import read_requirements, to_requirement
from wevent.config.durations import show_duration, to_microseconds
from wevent.config.read import read_config, to_config, witness_path, write_example
from wevent.errors import InvalidRequirement, InvalidSetting, Unreadable, WrongKind
from wevent.recipes import ESTIMATORS


def test_the_example(tmp_path: Path) -> None:
    """`wevent init` writes a file that can be read, and does not write over one."""
    path = tmp_path / "wevent.toml"
    write_example(path)
    config = read_config(path)
    assert config.store.url == str(tmp_path / "wevent.db")
    assert config.slots.width == 15 * 60 * 10**6
    with pytest.raises(InvalidSetting, match="there already"):
        write_example(path)
    with pytest.raises(Unreadable):
        write_example(tmp_path / "none" / "wevent.toml")


def test_commented_parts_of_the_example(tmp_path: Path) -> None:
    """Each line that is commented out says something that is allowed."""
    path = tmp_path / "wevent.toml"
    write_example(path)
    text = path.read_text()
    for name in ("grid", "group"):
        opened = [line.removeprefix("# ") if f"# [{'cells' if name == 'grid' else 'people'}.{name}]" in line else line
                  for line in text.splitlines()]  # fmt: skip
        assert opened != text.splitlines()
    path.write_text(text.replace("# origin", "origin").replace("# lateness", "lateness").replace("# other", "other"))
    assert read_config(path).cells.other == "elsewhere"


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("slots", {"width": "15 fortnights"}, "slots.width"),
    ("slots", {"width": "0 s"}, "width"),
    ("slots", {"first": "yesterday"}, "slots.first"),
    ("slots", {"closing": "never"}, "slots.closing"),
    ("slots", {"lateness": -1}, "slots.lateness"),
    ("cells", {"names": []}, "different names"),
    ("cells", {"names": ["a", "a"]}, "different names"),
    ("cells", {"file": "cells.txt"}, "exactly one"),
    ("people", {"one_cell": "random"}, "people.one_cell"),
    ("people", {"presence": "carry", "carry": 2}, "substitution"),
    ("people", {"carry": 2}, "presence"),
    ("people", {"group": {"size": 0, "epsilon": 1, "window": 1}}, "people.group.size"),
    ("privacy", {"mechanism": "magic"}, "privacy.mechanism"),
    ("privacy", {"mechanism": "auto", "estimator": "magic"}, "privacy.estimator: must be one of unbiased, weighted"),
    ("privacy", {"mechanism": "pbd", "estimator": "unbiased"}, "estimator goes with mechanism = 'auto'; pbd"),
    ("privacy", {"neighbours": "all"}, "privacy.neighbours"),
    ("privacy", {"limits": {"epsilon": 1000}}, "epsilon"),
    ("privacy", {"seed": 1}, "privacy.seed"),
    ("store", {"password": "x"}, "store.password"),
    ("sources", {"time_unit": "weeks"}, "sources.time_unit"),
    ("sources", {"memory": "1GB'; DROP"}, "sources.memory"),
    ("stream", {"name": "a/b"}, "stream.name"),
]


@pytest.mark.parametrize(("part", "value", "words"), WRONG)
def test_wrong_settings(part: str, value: dict[str, Any], words: str) -> None:
    """Every mistake gives one error that names the place."""
    with pytest.raises(InvalidSetting, match=words):
        to_config(settings(**{part: value}))


def test_estimators() -> None:
    """`auto` is what is there without a word, and counts without assumptions; the others have no such choice."""
    plain = to_config({**settings(), "privacy": {}})
    assert plain.privacy.mechanism == "auto"
    assert plain.privacy.choices == {"estimator": "unbiased"}
    assert plain.fixed()["privacy.estimator"] == "unbiased"
    for word in ESTIMATORS:
        chosen = to_config(settings(privacy={"mechanism": "auto", "estimator": word}))
        assert chosen.fixed()["privacy.estimator"] == word
    assert "privacy.estimator" not in to_config(settings(privacy={"mechanism": "pbd"})).fixed()


def test_files_that_are_none(tmp_path: Path) -> None:
    """No file, no TOML, no UTF-8, a file of cells that is not there."""
    path = tmp_path / "wevent.toml"
    with pytest.raises(Unreadable, match="wevent init"):
        read_config(path)
    for data in (b"[stream", b"\xff\xfe"):
        path.write_bytes(data)
        with pytest.raises(Unreadable, match="not TOML"):
            read_config(path)
    path.write_text('[stream]\nname="a"\n[slots]\nwidth="1 s"\nfirst=2024-01-01\n[cells]\nfile="cells.txt"\n')
    with pytest.raises(Unreadable, match="cells"):
        read_config(path)
    (tmp_path / "cells.txt").write_text("a\n\n b \n")
    assert list(read_config(path).cells.declared().names) == ["a", "b"]


def test_the_witness_lies_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default it is in the user's state folder, by the store's own name."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    config = to_config(settings())
    assert witness_path(config, "abc") == tmp_path / "wevent" / "abc-town.json"


def test_durations() -> None:
    """Words and back."""
    for words in ("15 min", "1 h", "3 d", "250 ms", "1 us", "0 s"):
        assert show_duration(to_microseconds(words)) == words
    assert to_microseconds("1.5h") == 5_400_000_000
    for words in ("", "min", "-1 s", "1 week", "0.1 us", "1e3 s"):
        with pytest.raises(ValueError, match="length of time"):
            to_microseconds(words)


def levels(mechanism: str = "dpbd") -> Any:
    named = {"budgets": {"strict": 0.5, "open": 2}, "windows": {"hour": 4}}
    return to_config(settings(levels=named, privacy={"mechanism": mechanism, "limits": {"epsilon": 5, "window": 10}}))


def test_words_for_requirements() -> None:
    """Numbers and names of levels; a backward side makes it dynamic; leaving is a word of its own."""
    config = levels()
    assert to_requirement(config, "strict", "hour") == Fixed(0.5, 4)
    assert to_requirement(config, "0.25", "7") == Fixed(0.25, 7)
    assert to_requirement(config, "open", "hour", "strict", "2") == Dynamic((2, 4), (0.5, 2))
    assert to_requirement(config, "leave", "") is None
    for words in (("huge", "hour"), ("1", "day"), ("6", "hour"), ("1", "11"), ("nan", "4"), ("1", "-4"), ("", ""),
                  ("1", "4", "1", "")):  # fmt: skip
        with pytest.raises(InvalidRequirement):
            to_requirement(config, *words)
    with pytest.raises(WrongKind):
        to_requirement(levels("pbd"), "1", "4", "1", "4")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("user,budget\nann,1\n", 1),
        ("user,budget,window,colour\nann,1,4,red\n", 1),
        ("user,budget,window\nann,1,4\nsecret,99,4\n", 3),
        ("user,budget,window\nsecret,1\n", 2),
        ("user,budget,window\n,1,4\n", 2),
        ('user,budget,window\n"secret,1,4\n', 2),
        ("user,budget,window\nse\0cret,1,4\n", 2),
    ],
)
def test_broken_requirements(tmp_path: Path, text: str, line: int) -> None:
    """The error names file and line, never the user."""
    path = tmp_path / "people.csv"
    path.write_text(text)
    with pytest.raises(Unreadable, match=rf"people\.csv, line {line}") as refused:
        list(read_requirements(path, levels()))
    assert "secret" not in str(refused.value)
