"""A run that is more likely a mistake releases nothing in silence: no acceptable events, or very many slots."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.cli.support import printed
from tests.cli.test_publish_live import CONFIG

from wevent.cli.confirmation import confirm_many
from wevent.cli.main import main
from wevent.cli.progress import ProgressBar
from wevent.config.read import read_config
from wevent.errors import InvalidSetting
from wevent.events.timeline import show_instant
from wevent.store.accounting import read_tallies
from wevent.store.database import open_database

FIRST = "2024-05-01T00:00:00Z"
UNTIL = ["--until", "2024-05-01T00:04Z"]


def town(folder: Path, closing: str = "files", more: str = "") -> list[str]:
    """A stream of minutes, ten people, two places."""
    text = CONFIG.format(width="1 min", first=FIRST, closing=closing, lateness="0 s")
    (folder / "wevent.toml").write_text(text + more)
    (folder / "people.csv").write_text("user,epsilon,window\n" + "".join(f"{k},1,4\n" for k in range(10)))
    return ["--config", str(folder / "wevent.toml")]


def csv_file(folder: Path, lines: list[str], name: str = "events.csv") -> str:
    path = folder / name
    path.write_text("\n".join(["user,time,place", *lines]) + "\n")
    return str(path)


def good(many: int = 8) -> list[str]:
    return [f"{k % 10},2024-05-01T00:0{k % 4}:{k:02d}Z,north" for k in range(many)]


def publish(folder: Path, *events: str, closing: str = "files", settings: str = "") -> list[str]:
    people = ["--requirements", str(folder / "people.csv")]
    return ["publish", *town(folder, closing, settings), *people, "--events", *events]


def parquet_file(folder: Path, select: str) -> str:
    path = folder / "events.parquet"
    duckdb.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return str(path)


def ndjson_file(folder: Path, event: Callable[[int], Any]) -> str:
    path = folder / "events.ndjson"
    path.write_text("".join(json.dumps(event(k)) + "\n" for k in range(8)))
    return str(path)


def empty_folder(folder: Path) -> str:
    (folder / "empty").mkdir()
    return str(folder / "empty")


BAD: dict[str, Callable[[Path], str]] = {
    "epoch numbers": lambda folder: csv_file(folder, [f"{k},{1714521600 + k},north" for k in range(8)]),
    "another format of times": lambda folder: csv_file(folder, [f"{k},05/01/2024 00:01,north" for k in range(8)]),
    "before the first slot": lambda folder: csv_file(folder, [f"{k},2023-05-01T00:00:01Z,north" for k in range(8)]),
    "nobody listed": lambda folder: csv_file(folder, [f"x{k},2024-05-01T00:00:01Z,north" for k in range(8)]),
    "places unknown": lambda folder: csv_file(folder, [f"{k},2024-05-01T00:03:01Z,moon" for k in range(8)]),
    "nested": lambda folder: ndjson_file(
        folder, lambda k: {"event": {"user": str(k), "time": "2024-05-01T00:00:01Z", "place": "north"}}
    ),
    "an empty file": lambda folder: csv_file(folder, []),
    "an empty folder": empty_folder,
    "epoch numbers in Parquet": lambda folder: parquet_file(
        folder, "SELECT k AS user, 1714521600 + k AS time, 'north' AS place FROM range(8) t(k)"
    ),
}


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


def test_init_does_not_lead_to_years_of_slots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself slot 1 is today's first; `--first` and the others are written; what makes no sense writes nothing."""
    path = tmp_path / "wevent.toml"
    printed(["init", str(path)], capsys)
    config = read_config(path)
    now = time.time_ns() // 1000
    assert 0 <= now - config.slots.first < 2 * 86_400_000_000
    assert config.slots.first % 86_400_000_000 == 0
    path.unlink()
    chosen = ["--first", "2024-05-01", "--width", "1 h", "--closing", "arrival", "--name", "a b", "--cells", "x, y"]
    assert "2024-05-01T00:00:00Z" in printed(["init", str(path), *chosen], capsys)
    config = read_config(path)
    assert show_instant(config.slots.first) == FIRST
    assert (config.slots.width, config.slots.closing, config.stream.name) == (3_600_000_000, "arrival", "a b")
    assert config.cells.names == ("x", "y")
    path.unlink()
    assert "slots.width" in printed(["init", str(path), "--width", "soon"], capsys, code=2)
    assert not path.exists()


def test_init_of_a_live_stream_begins_with_the_next_slot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--closing arrival` slot 1 has not begun when the configuration is written, so that it has people."""
    path = tmp_path / "wevent.toml"
    for width, length in ((None, 900_000_000), ("10 s", 10_000_000), ("7 d", 604_800_000_000)):
        before = time.time_ns() // 1000
        printed(["init", str(path), "--closing", "arrival", *([] if width is None else ["--width", width])], capsys)
        slots = read_config(path).slots
        assert slots.timeline.start(1) == slots.first
        assert before <= slots.first <= time.time_ns() // 1000 + length
        path.unlink()
    for width in ("soon", "0 s", "99999999999 d"):
        assert "width" in printed(["init", str(path), "--closing", "arrival", "--width", width], capsys, code=2)


def test_settings_that_nothing_was_released_under(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before a slot is charged the error says how to begin again, and it works; afterwards it names another stream."""
    events, people = csv_file(tmp_path, good()), str(tmp_path / "people.csv")
    words = publish(tmp_path, events, *UNTIL)
    toml = tmp_path / "wevent.toml"
    toml.write_text(toml.read_text().replace("2024-05-01", "2023-05-01"))
    printed(["requirements", "import", "--config", str(toml), people], capsys)
    town(tmp_path)
    check = ["check", *words[1:]]
    for command in (check, words):
        output = printed(command, capsys, code=3)
        assert "slots.first was" in output
        assert "Nothing was released under them" in output
        for path in (tmp_path / "town.db", tmp_path / "town.json"):
            assert str(path) in output
        assert "import the requirements again" in output
        assert "`name`" not in output
        assert "shared" not in output
    (tmp_path / "town.db").unlink()
    (tmp_path / "town.json").unlink()
    assert "next is slot 5" in printed(words, capsys)
    toml.write_text(toml.read_text().replace("2024-05-01", "2023-05-01"))
    for command in (check, words):
        output = printed(command, capsys, code=3)
        assert "change `name` under [stream]" in output
        assert "remove" not in output


def test_settings_beside_other_streams_and_a_witness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A store that other streams use is not to be removed; nor is one whose witness knows of slots that were shown."""
    words = publish(tmp_path, csv_file(tmp_path, good()), *UNTIL)
    toml = tmp_path / "wevent.toml"
    printed(["requirements", "import", "--config", str(toml), str(tmp_path / "people.csv")], capsys)
    copy = (tmp_path / "town.db").read_bytes()
    assert main(words) == 0
    shown = (tmp_path / "town.db").read_bytes()
    (tmp_path / "town.db").write_bytes(copy)
    other = toml.read_text().replace("1 min", "2 min")
    toml.write_text(other)
    output = printed(words, capsys, code=3)
    assert "Nothing was released" not in output
    assert "remove" not in output
    (tmp_path / "town.db").write_bytes(shown)
    toml.write_text(other.replace('"town"', '"second"').replace("town.json", "second.json"))
    (tmp_path / "second.csv").write_text("user,epsilon,window\nx,1,4\n")
    printed(["requirements", "import", "--config", str(toml), str(tmp_path / "second.csv")], capsys)
    toml.write_text(toml.read_text().replace("2 min", "3 min"))
    output = printed(["requirements", "import", "--config", str(toml), str(tmp_path / "second.csv")], capsys, code=3)
    assert "the store holds other streams and must stay" in output
    assert "remove" not in output


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


def test_check_of_a_live_source_that_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A source of which everything is refused is not right for a live stream either; an empty one may fill."""
    words = ["check", *town(tmp_path, "arrival"), "--requirements", str(tmp_path / "people.csv"), *UNTIL, "--events"]
    assert "none of the 8 events" in printed([*words, BAD["epoch numbers"](tmp_path)], capsys, code=2)
    assert "this can be published" in printed([*words, csv_file(tmp_path, [])], capsys)
    assert "this can be published" in printed([*words, csv_file(tmp_path, good())], capsys)


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


@pytest.mark.parametrize("when", ["reading", "releasing"])
def test_stopped(
    when: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C: the summary says that it was stopped, and how many slots were due and not released."""
    kinds = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = [(kind, signal.getsignal(kind)) for kind in kinds]
    where = "reading" if when == "reading" else "advance"
    monkeypatch.setattr(ProgressBar, where, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    output = printed(publish(tmp_path, csv_file(tmp_path, good()), *UNTIL), capsys, code=130)
    for kind, handler in before:
        signal.signal(kind, handler)
    assert "no slot was due" not in output
    assert "times   none" not in output
    left = 4 if when == "reading" else 3
    assert f"stopped, {left} due slots are left" in output
    assert f"stopped: {left} slots that are due were not released" in output
    assert ("stopped before the sources were read" in output) == (when == "reading")
    assert ("8 accepted" in output) == (when == "releasing")
    assert "it is over: run it again with all files\n" in output


def test_waiting_events_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At the end the summary says how many accepted events still wait for their slots."""
    people = "[people.group]\nsize = 10\nepsilon = 1.0\nwindow = 4\n"
    until = ["--until", "2024-05-01T00:02Z"]
    words = publish(tmp_path, csv_file(tmp_path, good()), *until, closing="operator", settings=people)
    assert "waiting 4 accepted events wait" in printed(words, capsys)
    assert "waiting" not in printed([*words, *UNTIL], capsys)
