"""How commands end: 1 is a broken promise alone, and no output shows a traceback or private data."""

from __future__ import annotations

import errno
import gzip
import io
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.support import config

from wevent.cli import exits, tour
from wevent.cli.main import main
from wevent.cli.options import Volume
from wevent.cli.progress import ProgressBar
from wevent.errors import CorruptState, InvalidSetting, StoreFull

ODD = ["[bold]x[/bold]", "[/red]", "a\x1b[31mb", "$\\frac{$", "_hidden", "\u202eleft", "c d"]


@pytest.fixture(scope="module")
def odd_city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stream whose cells have names that could steer a terminal or a plot."""
    folder = tmp_path_factory.mktemp("odd")
    tour.write_city(folder, 20, 3, 1)
    (folder / "cells.txt").write_text("\n".join(ODD) + "\n", "utf-8")
    text = (folder / "wevent.toml").read_text()
    start, end = text.index("[cells]"), text.index("\n[", text.index("[cells]"))
    (folder / "wevent.toml").write_text(text[:start] + '[cells]\nfile = "cells.txt"\nother = "rest"\n' + text[end:])
    words = ["--requirements", str(folder / "requirements.csv"), "--until", "2024-05-01T00:45Z"]
    assert main(["publish", *config(folder), "--events", str(folder / "events.csv"), *words]) == 0
    return folder


def ended(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code and what was said on the error stream."""
    capsys.readouterr()
    code = main(words)
    return code, capsys.readouterr().err


def test_output_that_cannot_be_written(odd_city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing folder ends every command that writes with 2 and a sentence that names the file."""
    nowhere = str(tmp_path / "none" / "file")
    (store,) = map(str, odd_city.glob("*.db"))
    for words in (
        ["releases", *config(odd_city), "--format", "csv", "--output", f"{nowhere}.csv"],
        ["releases", *config(odd_city), "--format", "parquet", "--output", f"{nowhere}.parquet"],
        ["plot", *config(odd_city), "--output", f"{nowhere}.png"],
        ["plot", *config(odd_city), "--output", f"{nowhere}.html"],
        ["smooth", *config(odd_city), "--output", f"{nowhere}.csv"],
        ["audit", store, "--html", f"{nowhere}.html"],
    ):
        code, said = ended(words, capsys)
        assert code == 2, words
        assert said.startswith("wevent: ")
        assert nowhere in said


def test_full_and_closed_output(odd_city: Path) -> None:
    """A full disk behind standard output, or none at all, ends with 2 and one sentence, also when Python ends."""
    command = [sys.executable, "-m", "wevent", "releases", *config(odd_city), "--format", "csv"]
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert process.returncode == 2
    assert process.stderr.count(b"\n") == 1
    assert b"No space left" in process.stderr
    closed = subprocess.run(["/bin/sh", "-c", '"$@" >&-', "sh", *command], stderr=subprocess.PIPE, check=False)
    assert closed.returncode == 2
    assert closed.stderr.count(b"\n") == 1
    assert b"standard output is closed" in closed.stderr


def test_a_full_disk_names_the_file(odd_city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is written to a full disk names the file in its sentence, whatever command writes it."""
    (store,) = map(str, odd_city.glob("*.db"))
    page = tmp_path / "page.html"
    page.symlink_to("/dev/full")
    for words, name in (
        (["releases", *config(odd_city), "--format", "csv", "--output", "/dev/full"], "/dev/full"),
        (["releases", *config(odd_city), "--format", "ndjson", "--output", "/dev/full"], "/dev/full"),
        (["smooth", *config(odd_city), "--output", "/dev/full"], "/dev/full"),
        (["plot", *config(odd_city), "--output", str(page)], str(page)),
        (["audit", store, "--html", str(page)], str(page)),
    ):
        code, said = ended(words, capsys)
        assert code == 2, words
        assert f"{name}: No space left" in said


def test_audit_of_what_is_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong path gets no advice to publish, and a file of another kind none to restore it."""
    code, said = ended(["audit", str(tmp_path / "nosuch.db")], capsys)
    assert code == 3
    assert "there is no store at" in said
    assert "wevent publish" not in said
    for name, content in (("people.csv", b"user,epsilon,window\na,1,2\n"), ("events.parquet", b"PAR1\0\0" * 99)):
        (tmp_path / name).write_bytes(content)
        code, said = ended(["audit", str(tmp_path / name)], capsys)
        assert code == 3
        assert f"{name} is no store" in said
        assert "restore" not in said


@pytest.mark.parametrize("name", ["events", "requirements", "wevent.toml", "smooth"])
def test_files_of_another_format(odd_city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Binary, UTF-16 and gzip files under a wrong name end with 2 and a sentence."""
    for content in (gzip.compress(b"user,time,place\n"), "user,time,place\n".encode("utf-16"), bytes(range(256)) * 9):
        path = tmp_path / "odd.csv"
        path.write_bytes(content)
        publish = ["publish", *config(odd_city), "--until", "2024-05-01T01:00Z"]
        words = {
            "events": [*publish, "--events", str(path)],
            "requirements": ["requirements", "import", *config(odd_city), str(path)],
            "wevent.toml": ["status", "--config", str(path)],
            "smooth": ["smooth", str(path)],
        }[name]
        code, said = ended(words, capsys)
        assert code == 2
        assert said.startswith("wevent: ")
        assert said.count("\n") == 1


def test_every_ending(capsys: pytest.CaptureFixture[str]) -> None:
    """Each kind of error has its exit code; only a command that returns 1 ends with 1."""

    def raising(error: BaseException) -> int:
        def command() -> int:
            raise error

        return exits.run(command)

    assert exits.run(lambda: 1) == 1
    assert raising(InvalidSetting("x")) == 2
    assert raising(StoreFull("x")) == raising(CorruptState("x")) == 3
    assert raising(OSError(errno.EACCES, "Permission denied", "a\x1b.csv")) == 2
    assert raising(UnicodeDecodeError("utf-8", b"secret", 0, 1, "bad")) == 2
    assert raising(UnicodeEncodeError("ascii", "secret", 0, 1, "bad")) == 2
    assert raising(MemoryError("secret")) == 2
    assert raising(KeyboardInterrupt()) == 130
    assert raising(RuntimeError("secret")) == raising(KeyError("secret")) == raising(RecursionError("secret")) == 70
    said = capsys.readouterr().err
    assert "secret" not in said
    assert "a\\x1b.csv: Permission denied" in said
    assert "Traceback" not in said


def test_unexpected_errors_show_no_values(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With WEVENT_DEBUG=1 an unexpected error says where it arose, and still nothing of what it holds."""

    def command() -> int:
        person = "secret-person"
        raise ValueError(f"{person} was here") from KeyError(person)

    monkeypatch.setenv(exits.DEBUG, "1")
    assert exits.run(command) == 70
    said = capsys.readouterr().err
    assert "test_exits.py" in said
    assert "in command" in said
    assert "secret-person was" not in said


def test_names_are_shown_as_they_are(odd_city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Markup, control characters, formulas and underscores in names of cells are shown, not obeyed."""
    capsys.readouterr()
    assert main(["releases", *config(odd_city)]) == 0
    table = capsys.readouterr().out
    for shown in ("[bold]x[/bold]", "[/red]", "a\\x1b[31mb", "$\\frac{$", "_hidden", "\\u202eleft"):
        assert shown in table
    assert "\x1b" not in table
    path = tmp_path / "plot.html"
    assert main(["plot", *config(odd_city), "--output", str(path)]) == 0
    steering = str(tmp_path / "\x1b[31m.csv")
    until = ["--until", "2024-05-01T01:00Z"]
    code, said = ended(["publish", *config(odd_city), *until, "--events", steering], capsys)
    assert code == 2
    assert "\\x1b[31m.csv" in said
    for words in (
        ["--\x1b[31m"],
        ["\x1b[31m"],
        ["simulate", "--rest", "\x1b[31m[red]"],
        ["plot", "--first", "\x1b[1m"],
    ):
        code, said = ended(words, capsys)
        assert code == 2
        assert "\x1b" not in said
        assert "\\x1b[" in said


def test_the_progress_bar_shows_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Markup in the name of a file neither raises nor colours the bar."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    with ProgressBar(Volume(), 1) as bar:
        for name in ("[/red].csv", "[bold]\x1b[31m.csv"):
            bar.reading(Path(name))
            bar._progress.refresh()  # type: ignore[union-attr]
        assert bar._progress is not None
        assert bar._progress.tasks[0].description == "reading \\[bold]\\x1b[31m.csv"
