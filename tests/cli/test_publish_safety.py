"""A run without acceptable events is more likely a mistake: it releases nothing, and its summary says why."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.cli.support import printed
from tests.cli.town import BAD, UNTIL, csv_file, good, ndjson_file, parquet_file, publish

from wevent.cli.main import main
from wevent.cli.progress import ProgressBar
from wevent.events.validation import EventValidator
from wevent.store.database import open_database


@pytest.mark.parametrize(
    ("what", "closing"),
    [*((what, "files") for what in BAD), ("epoch numbers", "operator"), ("an empty folder", "operator")],
)
def test_nothing_acceptable(what: str, closing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, a reason, nothing charged; with `--allow-empty` the slots are released."""
    events = BAD[what](tmp_path)
    words = publish(tmp_path, events, *UNTIL, closing=closing)
    output = printed(words, capsys, code=2)
    assert "--allow-empty" in output
    assert "4 slots" in output
    assert "nothing was charged" in output
    if closing == "files":  # nothing has begun, so that settings may still be corrected
        assert not (tmp_path / "town.db").exists()
        assert not (tmp_path / "town.json").exists()
        printed(["requirements", "import", *words[1:3], str(tmp_path / "people.csv")], capsys)
        assert "nothing was charged" in printed(words, capsys, code=2)
    with open_database(tmp_path / "town.db") as database, database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM slots").scalar() == 0
    assert "next is slot 5" in printed([*words, "--allow-empty"], capsys)


def test_a_live_stream_only_warns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a clock closes slots they are released in any case, since a missing release would tell something."""
    events = BAD["epoch numbers"](tmp_path)
    words = publish(tmp_path, events, *UNTIL, closing="arrival")
    output = printed(words, capsys)
    assert "none of 8 events could be accepted" in output
    assert "next is slot 5" in output


def test_the_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Accepted, refused by reason, first and last time, slots and what comes next, on the error stream."""
    lines = [
        *good(),
        "nobody,2024-05-01T00:00:30Z,north",
        "1,2024-04-30T23:59:59Z,north",
        "2,2024-05-01T00:59:00Z,south",
    ]
    assert main(publish(tmp_path, csv_file(tmp_path, lines), *UNTIL)) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert "next is slot 5" in out
    assert "8 accepted, 3 refused" in err
    assert "1 of unlisted people" in err
    assert "1 before the first slot" in err
    assert "1 in slots that are not due" in err
    assert "first 2024-04-30T23:59:59Z, last 2024-05-01T00:59:00Z" in err
    assert "4 released" in err
    assert "2024-05-01T00:00:00Z to 2024-05-01T00:04:00Z" in err
    assert "slot 5, 2024-05-01T00:04:00Z to 2024-05-01T00:05:00Z" in err


def test_slots_before_anybody_is_registered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Slots that began before anybody's requirement was stored are all lost: they are released after a yes only."""
    words = publish(tmp_path, csv_file(tmp_path, good()), *UNTIL, closing="operator")
    check = ["check", *words[1:]]
    for command in (check, words):
        output = printed(command, capsys, code=2)
        assert "nobody is registered in slots 1 to 4" in output
        assert "Nothing was charged" in output
    output = printed([*words, "--allow-empty"], capsys)
    assert "4 lost" in output
    assert "nobody was registered" in output


@pytest.mark.parametrize("closing", ["files", "operator"])
@pytest.mark.parametrize("what", ["places unknown", "epoch numbers in Parquet", "nested", "in Parquet, unlisted"])
def test_one_bad_file_among_good_ones_is_named(
    what: str, closing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are published; the summary names the file. One of other slots, or without events, is not named."""
    fine = csv_file(tmp_path, good(), "good.csv")
    before = csv_file(tmp_path, ["1,2024-05-01T00:00:01Z,north"], "before.csv")
    after = csv_file(tmp_path, ["1,2024-05-01T00:30:00Z,north"], "after.csv")
    empty = csv_file(tmp_path, [], "empty.csv")
    anyway = ["--allow-empty"] if closing == "operator" else []  # these people came after the slots had begun
    assert main(publish(tmp_path, before, "--until", "2024-05-01T00:01Z", *anyway, closing=closing)) == 0
    unlisted = "SELECT 'x' AS user, TIMESTAMP '2024-05-01 00:01:01' AS time, 'north' AS place FROM range(8)"
    bad = BAD[what](tmp_path) if what in BAD else parquet_file(tmp_path, unlisted)
    words = publish(tmp_path, fine, bad, after, before, empty, *UNTIL, *anyway, closing=closing)
    output = printed(words, capsys)
    assert f"nothing could be accepted from {bad}\n" in output
    assert "next is slot 5" in output


def test_integer_ids_are_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whole numbers as users and places, in Parquet and NDJSON, are their decimal text."""
    select = "SELECT k AS user, TIMESTAMP '2024-05-01 00:00:01' AS time, 'north' AS place FROM range(8) t(k)"
    assert "8 accepted, 0 refused" in printed(publish(tmp_path, parquet_file(tmp_path, select), *UNTIL), capsys)
    events = ndjson_file(tmp_path, lambda k: {"user": k, "time": "2024-05-01T00:04:01Z", "place": "north"})
    assert "8 accepted" in printed(publish(tmp_path, events, "--until", "2024-05-01T00:05Z"), capsys)


def test_a_failed_run_does_not_say_that_no_slot_was_due(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Slots that are due and were not released are counted, also when the run ends with an error."""
    words = publish(tmp_path, BAD["places unknown"](tmp_path), *UNTIL)
    output = printed(words, capsys, code=2)
    assert "8 outside the cells" in output
    assert "4 slots that are due were not released" in output
    printed(["requirements", "import", *words[1:3], str(tmp_path / "people.csv")], capsys)
    output = printed(words, capsys, code=2)
    assert "no slot was due" not in output
    assert "no slot was released, 4 due slots are left" in output
    assert "4 slots that are due were not released" in output


@pytest.mark.parametrize("when", ["beginning", "reading", "releasing"])
def test_stopped(
    when: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C: the summary says that it was stopped, and how many slots were due and not released."""
    kinds = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = [(kind, signal.getsignal(kind)) for kind in kinds]
    owner, method = {
        "beginning": (EventValidator, "validate_lines"),
        "reading": (ProgressBar, "reading"),
        "releasing": (ProgressBar, "advance"),
    }[when]
    monkeypatch.setattr(owner, method, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    output = printed(publish(tmp_path, csv_file(tmp_path, good()), *UNTIL), capsys, code=130)
    for kind, handler in before:
        signal.signal(kind, handler)
    assert "no slot was due" not in output
    assert "times   none" not in output
    left = 3 if when == "releasing" else 4
    assert (f"stopped, {left} due slots are left" in output) == (when != "beginning")
    assert (tmp_path / "town.db").exists() == (when != "beginning")
    assert f"stopped: {left} slots that are due were not released" in output
    assert ("stopped before the sources were read" in output) == (when != "releasing")
    assert ("8 accepted" in output) == (when == "releasing")
    assert "it is over: run it again with all files\n" in output


def test_waiting_events_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At the end the summary says how many accepted events still wait for their slots."""
    people = "[people.group]\nsize = 10\nepsilon = 1.0\nwindow = 4\n"
    until = ["--until", "2024-05-01T00:02Z"]
    words = publish(tmp_path, csv_file(tmp_path, good()), *until, closing="operator", settings=people)
    assert "waiting 4 accepted events wait" in printed(words, capsys)
    assert "waiting" not in printed([*words, *UNTIL], capsys)
