"""`wevent check` prints what publishing would do, and does nothing of it."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from tests.cli.support import printed
from tests.cli.town import BAD, UNTIL, csv_file, good, publish, town

from wevent.cli.main import main
from wevent.store.accounting import read_tallies
from wevent.store.database import open_database


@pytest.mark.parametrize("command", [["check"], ["publish", "--dry-run"]])
def test_check_says_it_and_does_nothing(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same words and exit codes as publishing, before and after a first run; no store, no charge, no tally."""
    config, events = town(tmp_path), csv_file(tmp_path, good())
    words = [*command, *config, "--events", events, "--requirements", str(tmp_path / "people.csv"), *UNTIL]
    output = printed(words, capsys)
    assert "8 accepted, 0 refused" in output
    assert "4 would be released" in output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.csv", "people.csv", "wevent.toml"]
    for bad in ("epoch numbers", "an empty folder"):
        assert "--allow-empty" in printed([*words, "--events", BAD[bad](tmp_path)], capsys, code=2)
    assert "--requirements" in printed([*command, *config, "--events", events, *UNTIL], capsys, code=2)
    assert not (tmp_path / "town.db").exists()
    csv_file(tmp_path, good())
    assert main(publish(tmp_path, events, "--until", "2024-05-01T00:01Z")) == 0
    before = {path: path.read_bytes() for path in tmp_path.glob("town.*") if path.is_file()}
    with open_database(tmp_path / "town.db") as database, database.read() as connection:
        tallies = read_tallies(connection, 1)
    output = printed(words, capsys)
    assert "3 would be released" in output
    assert "in slots that were released before" in output
    with open_database(tmp_path / "town.db") as database, database.read() as connection:
        assert read_tallies(connection, 1) == tallies
        assert connection.exec_driver_sql("SELECT count(*) FROM slots").scalar() == 1
    assert before[tmp_path / "town.json"] == (tmp_path / "town.json").read_bytes()


def test_check_reads_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--events -` is read to its end."""

    class Stdin:
        buffer = io.BytesIO(("user,time,place\n" + "\n".join(good()) + "\n").encode())

    monkeypatch.setattr(sys, "stdin", Stdin())
    people = ["--requirements", str(tmp_path / "people.csv")]
    words = ["check", *town(tmp_path, "arrival"), "--events", "-", "--format", "csv", *people, *UNTIL]
    assert "8 accepted" in printed(words, capsys)


def test_check_of_a_live_source_that_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A source of which everything is refused is not right for a live stream either; an empty one may fill."""
    words = ["check", *town(tmp_path, "arrival"), "--requirements", str(tmp_path / "people.csv"), *UNTIL, "--events"]
    assert "none of the 8 events" in printed([*words, BAD["epoch numbers"](tmp_path)], capsys, code=2)
    assert "this can be published" in printed([*words, csv_file(tmp_path, [])], capsys)
    assert "this can be published" in printed([*words, csv_file(tmp_path, good())], capsys)
