"""What all commands share: help, version, completion, global options, JSON, configuration, slots and times."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.cli.support import config, printed

from wevent import RECIPES, __version__
from wevent.cli import tour
from wevent.cli.app import PANELS
from wevent.cli.main import main
from wevent.cli.options import MechanismName, RestName
from wevent.settings import Rest

HEAVY = ("sqlalchemy", "duckdb", "numba", "matplotlib", "alembic", "scipy", "pandas")


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated city of six slots, of which four are published."""
    folder = tmp_path_factory.mktemp("city")
    tour.write_city(folder, 20, 6, 1)
    assert main([*publish(folder), "--until", "4", "--requirements", str(folder / "requirements.csv")]) == 0
    return folder


def publish(folder: Path) -> list[str]:
    return ["publish", *config(folder), "--events", str(folder / "events.csv")]


def document(words: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    """The one JSON document that a command prints."""
    capsys.readouterr()
    assert main(words) == 0
    return json.loads(capsys.readouterr().out)


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    """The help names every panel and command, with exit code 0; the version is that of the package."""
    out = printed(["--help"], capsys)
    for panel, commands in PANELS.items():
        assert panel in out
        assert all(name in out for name in commands)
    assert printed(["--version"], capsys) == f"wevent {__version__}\n"
    assert "Example: wevent publish --events" in printed(["publish", "--help"], capsys)


def test_choices_are_those_of_the_product() -> None:
    """The names that options offer are the recipes and the ways to rest; `auto` comes first."""
    assert get_args(MechanismName) == tuple(RECIPES)
    assert get_args(RestName) == get_args(Rest)


def test_the_help_imports_nothing_heavy() -> None:
    """`wevent --help` imports neither the store nor DuckDB, numba or matplotlib."""
    show = f"print([name for name in {HEAVY} if name in sys.modules])"
    program = f"import sys; from wevent.cli.main import main; main(['--help']); {show}"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"


def test_completion() -> None:
    """The shell gets a script, and names of commands and options."""

    def answer(instruction: str, **more: str) -> str:
        variables = {**os.environ, "_WEVENT_COMPLETE": instruction, **more}
        command = [sys.executable, "-m", "wevent"]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=variables).stdout

    assert "complete" in answer("source_bash")
    assert answer("complete_bash", COMP_WORDS="wevent pub", COMP_CWORD="1").split() == ["publish"]
    assert "--until" in answer("complete_bash", COMP_WORDS="wevent publish --un", COMP_CWORD="2")


def test_interrupted_while_importing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C during the imports of a command ends with 130 and not one word."""

    class Interrupted:
        def find_spec(self, name: str, *_: object) -> None:
            if name.startswith("wevent.cli."):
                raise KeyboardInterrupt

    for module in ("wevent.cli.app", "wevent.cli.exits"):
        monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.delattr(module, raising=False)
        with monkeypatch.context() as patched:
            patched.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
            assert main(["--help"]) == 130
    assert capsys.readouterr() == ("", "")


def test_quiet_and_verbose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both may stand anywhere; quiet leaves results and warnings, verbose adds files and slots."""
    tour.write_city(tmp_path, 20, 6, 1)
    words = [*publish(tmp_path), "--requirements", str(tmp_path / "requirements.csv")]
    loud = printed([*words, "--until", "2", "--verbose"], capsys)
    assert "reading" in loud
    assert "slot 2: " in loud
    assert "accepted" in loud
    quiet = printed(["--quiet", *words, "--until", "3"], capsys)
    assert "next is slot 4" in quiet
    assert "accepted" not in quiet
    check = printed(["check", *words[1:], "-q", "--until", "9000-01-01"], capsys, code=2)
    assert "is in the future" in check
    assert "accepted" not in check


def test_json(city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that a program may read prints one JSON document."""
    chosen = config(city)
    assert document(["status", "--json", *chosen], capsys)["next_slot"] == 5
    listed = document(["requirements", "list", "--json", *chosen], capsys)
    assert {row["status"] for row in listed} == {"in force"}
    shown = document(["requirements", "show", listed[0]["user"], "--json", *chosen], capsys)
    assert shown["changes"][0]["epsilon"] == listed[0]["epsilon"]
    assert shown["charged"] == 4
    assert [release["slot"] for release in document(["releases", "--json", *chosen], capsys)] == [1, 2, 3, 4]
    assert document(["audit", "--json", *chosen], capsys)["kept"] is True
    check = document(["check", *publish(city)[1:], "--until", "6", "--json"], capsys)
    assert (check["next_slot"], check["due"]) == (5, 2)
    tour.write_city(tmp_path, 20, 6, 1)
    words = [*publish(tmp_path), "--requirements", str(tmp_path / "requirements.csv"), "--until", "3", "--json"]
    published = document(words, capsys)
    assert (published["next_slot"], sum(published["decisions"].values())) == (4, 3)


def test_the_configuration_from_the_environment(
    city: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`WEVENT_CONFIG` names the configuration; a store or a file that is named wins over it."""
    monkeypatch.setenv("WEVENT_CONFIG", str(city / "wevent.toml"))
    assert "stream city" in printed(["status"], capsys)
    assert "every promise was kept" in printed(["audit", str(city / "city.db")], capsys)
    assert "cannot be read" in printed(["smooth", str(city / "none.csv")], capsys, code=2)


def test_slots_and_times(city: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A slot is named by its number or by a time in it; other words are refused."""

    def slots(*words: str) -> list[int]:
        return [release["slot"] for release in document(["releases", "--json", *config(city), *words], capsys)]

    assert slots("--first", "2", "--last", "3") == [2, 3]
    assert slots("--first", "2024-05-01T00:15Z", "--last", "2024-05-01T00:44:59Z") == [2, 3]
    assert slots("--last", "2024-04-30") == []
    for wrong in ("-1", "soon", "1.5"):
        assert "must be" in printed(["plot", *config(city), "--output", "x.png", f"--first={wrong}"], capsys, code=2)
    check = ["check", *publish(city)[1:], "--until"]
    assert "2 would be released" in printed([*check, "6"], capsys)
    assert "2 would be released" in printed([*check, "2024-05-01T01:30Z"], capsys)
    assert "slots.first" in printed([*check, "0"], capsys, code=2)


def test_files_may_follow_the_first(city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--events` takes several files, as a shell writes them for a pattern, or once each."""
    head, *lines = (city / "events.csv").read_text().splitlines()
    halves = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    for path, half in zip(halves, (lines[::2], lines[1::2]), strict=True):
        Path(path).write_text("\n".join([head, *half]) + "\n")
    check = ["check", *config(city), "--until", "6", "--json"]
    whole = document([*check, "--events", str(city / "events.csv")], capsys)
    for words in (["--events", *halves], ["--events", halves[0], "--events", halves[1]], halves):
        assert document([*check, *words], capsys)["accepted"] == whole["accepted"]
