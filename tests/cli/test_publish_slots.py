"""Which slots a run releases: none after `--until`, and very many only after a yes."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from tests.cli.support import printed
from tests.cli.town import UNTIL, csv_file, good, publish

from wevent.cli.confirmation import confirm_many
from wevent.cli.main import main
from wevent.config.read import read_config
from wevent.errors import InvalidSetting
from wevent.events.timeline import TimesSeen
from wevent.store.database import open_database


def test_many_slots_need_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than 1,000 slots are released only after a yes; the question names them and the times of the events."""
    events = csv_file(tmp_path, good())
    words = publish(tmp_path, events)
    (tmp_path / "wevent.toml").write_text((tmp_path / "wevent.toml").read_text().replace("1 min", "1 h"))
    output = printed(words, capsys, code=2)
    assert "slots are due, from 2024-05-01T00:00:00Z to " in output
    check = ["check", *words[1:]]
    until = ["--until", "2024-06-30"]
    for command in (words, check, [*words, *until], [*check, *until]):
        output = printed(command, capsys, code=2)
        assert "times from 2024-05-01T00:00:00Z to 2024-05-01T00:03:07Z" in output
        assert "--until" in output
        assert "--yes" in output
        assert ("1,440 slots are due, from 2024-05-01T00:00:00Z to 2024-06-30T00:00:00Z" in output) == (
            "2024-06-30" in command
        )
    assert "this can be published" in printed([*check, *until, "--yes"], capsys)
    with open_database(tmp_path / "town.db") as database, database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM slots").scalar() == 0

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    config = read_config(tmp_path / "wevent.toml")
    monkeypatch.setattr(sys, "stderr", Terminal())
    for answer, fine in (("y\n", True), ("n\n", False), ("", False)):
        monkeypatch.setattr(sys, "stdin", Terminal(answer))
        if fine:
            confirm_many(config, 1, 5_000)
        else:
            with pytest.raises(InvalidSetting, match="5,000 slots"):
                confirm_many(config, 1, 5_000)
    confirm_many(config, 1, 1_000)

    def seen(first: int, last: int) -> TimesSeen:
        return TimesSeen(config.slots.timeline.start(first), config.slots.timeline.start(last))

    end = config.slots.timeline.end(100)
    for times, named in ((seen(1, 30), None), (seen(60, 70), None), (seen(60, 100), end)):
        with pytest.raises(InvalidSetting, match="100 slots are due"):
            confirm_many(config, 1, 100, times, until=named, asking=False)
    for times, named in ((seen(1, 60), None), (seen(1, 30), end), (seen(20, 90), None)):
        confirm_many(config, 1, 100, times, until=named, asking=False)


def test_the_operator_is_asked_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the operator closes slots, `--until` is no yes to more than 1,000 of them."""
    people = "[people.group]\nsize = 10\nepsilon = 1.0\nwindow = 4\n"
    words = publish(tmp_path, csv_file(tmp_path, good()), "--until", "2024-05-02", closing="operator", settings=people)
    output = printed(words, capsys, code=2)
    assert "1,440 slots are due" in output
    assert "Nothing was released" in output
    assert "0 released" in output
    assert "next is slot 5" in printed([*words, *UNTIL], capsys)


@pytest.mark.parametrize("closing", ["files", "operator", "arrival"])
def test_an_end_before_the_first_slot(closing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An end by which no slot can ever be due is refused, naming slots.first, before anything is stored."""
    words = publish(tmp_path, csv_file(tmp_path, good()), closing=closing)
    check = ["check", *words[1:]]
    for until in ("2023-05-01T00:04Z", "2024-05-01", "2024-05-01T00:00:59Z"):
        for command in (words, check):
            assert "slots.first" in printed([*command, "--until", until], capsys, code=2)
    assert not (tmp_path / "town.db").exists()
    assert not (tmp_path / "town.json").exists()


def test_an_end_in_the_future_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Slots up to now are released, and a sentence says that no others can be."""
    words = publish(tmp_path, csv_file(tmp_path, good()), "--until", "9000-01-01")
    (tmp_path / "wevent.toml").write_text((tmp_path / "wevent.toml").read_text().replace("1 min", "365 d"))
    output = printed(words, capsys)
    assert "9000-01-01T00:00:00Z is in the future" in output
    assert "run it again with all files once it is over" in output


def test_no_slot_is_due(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is read, which is said, with when the next slot is over, be it years ago or years ahead."""
    words = publish(tmp_path, csv_file(tmp_path, good()), *UNTIL)
    check = ["check", *words[1:]]
    assert main(words) == 0
    output = printed(words, capsys)
    assert "no slot was due; next is slot 5" in output
    assert "nothing was read: no slot is due by --until, slot 5 was over at 2024-05-01T00:05:00Z" in output
    assert "it is over: run it again with all files and a later `--until`" in output
    assert "times" not in output
    assert "no slot is due, so nothing would be released" in printed(check, capsys)
    ahead = tmp_path / "ahead"
    ahead.mkdir()
    words = publish(ahead, csv_file(ahead, good()))
    (ahead / "wevent.toml").write_text((ahead / "wevent.toml").read_text().replace("2024-05", "2924-05"))
    output = printed(words, capsys)
    assert "nothing was read: no slot is due, slot 1 is over at 2924-05-01T00:01:00Z" in output
    assert "run it again with all files once it is over" in output
    assert "times" not in output
    check = ["check", *words[1:]]
    assert "none of the 8 events can be accepted: 8 before the first slot" in printed(check, capsys, code=2)
    csv_file(ahead, [line.replace("2024", "2924") for line in good()])
    output = printed(check, capsys)
    assert "8 accepted" in output
    assert "no slot is due, so nothing would be released; slot 1 ends at 2924-05-01T00:01:00Z" in output
    assert "this can be published" not in output
