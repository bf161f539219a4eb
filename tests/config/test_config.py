"""`wevent.toml`: what is right is read, what is wrong is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.store.scene import settings

from wevent import Dynamic, Fixed
from wevent.config.durations import show_duration, to_microseconds
from wevent.config.read import read_config, to_config, witness_path, write_example
from wevent.config.requirement_files import parse_requirement, read_requirement_file
from wevent.errors import InvalidRequirement, InvalidSetting, Unreadable, WrongRequirementKind
from wevent.mechanisms import ESTIMATORS


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
    ("privacy", {"mechanism": "auto", "estimator": "magic"}, "privacy.estimator: must be one of unbiased, pooled"),
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
        with pytest.raises(Unreadable, match=r"not TOML|not text in UTF-8"):
            read_config(path)
    path.write_text('[stream]\nname="a"\n[slots]\nwidth="1 s"\nfirst=2024-01-01\n[cells]\nfile="cells.txt"\n')
    with pytest.raises(Unreadable, match="cells"):
        read_config(path)
    (tmp_path / "cells.txt").write_text("a\n\nb\n")
    assert list(read_config(path).cells.declared().names) == ["a", "b"]


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no home folder, the error says what to configure."""

    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(InvalidSetting, match=r"witness.* under \[store\]"):
        witness_path(to_config(settings()), "town.json")


def test_the_witness_lies_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default it is in the user's state folder, away from the store."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    config = to_config(settings())
    assert witness_path(config, "town-1.json") == tmp_path / "wevent" / "town-1.json"


def test_durations() -> None:
    """Words and back."""
    for words in ("15 min", "1 h", "3 d", "250 ms", "1 us", "0 s"):
        assert show_duration(to_microseconds(words)) == words
    assert to_microseconds("1.5h") == 5_400_000_000
    for words in ("", "min", "-1 s", "1 week", "0.1 us", "1e3 s"):
        with pytest.raises(ValueError, match="length of time"):
            to_microseconds(words)


def levels(mechanism: str = "dpbd") -> Any:
    named = {"epsilons": {"strict": 0.5, "open": 2}, "windows": {"hour": 4}}
    return to_config(settings(levels=named, privacy={"mechanism": mechanism, "limits": {"epsilon": 5, "window": 10}}))


def test_words_for_requirements() -> None:
    """Numbers and names of levels; a backward side makes it dynamic; leaving is a word of its own."""
    config = levels()
    assert parse_requirement(config, "strict", "hour") == Fixed(0.5, 4)
    assert parse_requirement(config, "0.25", "7") == Fixed(0.25, 7)
    assert parse_requirement(config, "open", "hour", "strict", "2") == Dynamic((2, 4), (0.5, 2))
    assert parse_requirement(config, "leave", "") is None
    for words in (("huge", "hour"), ("1", "day"), ("6", "hour"), ("1", "11"), ("nan", "4"), ("1", "-4"), ("", ""),
                  ("1", "4", "1", "")):  # fmt: skip
        with pytest.raises(InvalidRequirement):
            parse_requirement(config, *words)
    with pytest.raises(WrongRequirementKind):
        parse_requirement(levels("pbd"), "1", "4", "1", "4")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("user,epsilon\nann,1\n", 1),
        ("user,epsilon,window,colour\nann,1,4,red\n", 1),
        ("user,epsilon,window\nann,1,4\nsecret,99,4\n", 3),
        ("user,epsilon,window\nsecret,1\n", 2),
        ("user,epsilon,window\n,1,4\n", 2),
        ('user,epsilon,window\n"secret,1,4\n', 2),
        ("user,epsilon,window\nse\0cret,1,4\n", 2),
    ],
)
def test_broken_requirements(tmp_path: Path, text: str, line: int) -> None:
    """The error names file and line, never the user."""
    path = tmp_path / "people.csv"
    path.write_text(text)
    with pytest.raises(Unreadable, match=rf"people\.csv, line {line}") as refused:
        list(read_requirement_file(path, levels()))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("slots", {"widht": "15 min"}, "slots.widht: no such setting; did you mean slots.width?"),
        ("slots", {"latenes": "1 min"}, "did you mean slots.lateness?"),
        ("stream", {"time_unit": "s"}, "stream.time_unit: no such setting; did you mean sources.time_unit?"),
        ("privacy", {"limits": {"widow": 3}}, "did you mean privacy.limits.window?"),
        ("store", {"qqq\x1b": 1}, "store.qqq\\x1b: no such setting; here are url, witness"),
        ("stroe", {"url": "x"}, "did you mean store?"),
        ("slots", {"width": 15}, "slots.width: a length of time needs a unit"),
        ("slots", {"lateness": 0}, "slots.lateness: a length of time needs a unit"),
        ("slots", {"ahead": 1.5}, "slots.ahead: a length of time needs a unit"),
        ("slots", {"width": "15"}, "slots.width: a length of time is a number and one of us"),
        ("slots", {"first": 20240501}, "slots.first: a time is ISO 8601"),
    ],
)
def test_what_was_meant(part: str, value: dict[str, Any], words: str) -> None:
    """An unknown setting says which one may be meant; numbers without a unit are refused."""
    with pytest.raises(InvalidSetting) as caught:
        to_config(settings(**{part: value}))
    assert words in str(caught.value)


def test_a_file_of_cells_is_exact(tmp_path: Path) -> None:
    """Names in a file of cells are taken as they stand; spaces around them, and other encodings, are refused."""
    cells = tmp_path / "cells.txt"
    tree = settings(cells={"file": str(cells)})
    tree["cells"].pop("names", None)
    cells.write_bytes(b"\xef\xbb\xbfnorth\r\n\r\ncaf\x65\xcc\x81\n[x]\x1d\n")
    assert list(to_config(tree).cells.declared().names) == ["north", "café", "[x]\x1d"]
    cells.write_text("north\nsouth \n")
    with pytest.raises(InvalidSetting, match="line 2 of the file of cells begins or ends with a space"):
        to_config(tree)
    cells.write_bytes("north\n".encode("utf-16"))
    with pytest.raises(InvalidSetting, match="not text in UTF-8"):
        to_config(tree)
