"""The real command on live sources: slow and silent pipes, signals at any moment."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from wevent.events.timeline import show_instant
from wevent.store.intake import WITH_THEIR_SLOT

CONFIG = """
[stream]
name = "town"
[slots]
width = "{width}"
first = {first}
closing = "{closing}"
lateness = "{lateness}"
[cells]
names = ["north", "south"]
[privacy]
mechanism = "pbd"
horizon = 8
[store]
url = "town.db"
witness = "town.json"
"""


SERVED = "SELECT slot FROM releases WHERE decision <> 'lost'"


def town(
    folder: Path, *, width: str = "500 ms", lateness: str = "500 ms", closing: str = "arrival", ago: float = 0
) -> None:
    """A stream that began so many seconds ago."""
    first = show_instant(int(time.time() - ago) * 1_000_000)
    (folder / "wevent.toml").write_text(CONFIG.format(width=width, first=first, closing=closing, lateness=lateness))
    (folder / "people.csv").write_text("user,epsilon,window\n" + "".join(f"p{k},1,4\n" for k in range(10)))


def start(folder: Path, *more: str, **options: Any) -> subprocess.Popen[bytes]:
    words = ["publish", "--config", str(folder / "wevent.toml"), "--requirements", str(folder / "people.csv"), *more]
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([sys.executable, "-m", "wevent", *words], **options)


def end(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Wait for the end; what was said on both streams."""
    if process.stdin is not None and not process.stdin.closed:
        process.stdin.close()
    process.stdin = None
    return process.communicate(timeout=60)


def ask(folder: Path, words: str) -> list[Any]:
    """What the store says; nothing before it is there."""
    try:
        with sqlite3.connect(f"file:{folder / 'town.db'}?mode=ro", uri=True) as connection:
            return connection.execute(words).fetchall()
    except sqlite3.OperationalError:
        return []


def tallies(folder: Path) -> dict[str, int]:
    """How many events were accepted, or refused and why."""
    found = dict(ask(folder, "SELECT kind, number FROM tallies"))
    return {kind: number for kind, number in found.items() if kind not in WITH_THEIR_SLOT}


def wait_for(folder: Path, slots: int, process: subprocess.Popen[bytes]) -> None:
    """Until so many slots are released in which people were registered; those before are lost."""
    for _ in range(600):
        if len(ask(folder, SERVED)) >= slots:
            return
        assert process.poll() is None, end(process)
        time.sleep(0.05)
    raise AssertionError("no slot was released")


def line(user: str, place: str = "north", ago: int = 0) -> bytes:
    instant = show_instant(time.time_ns() // 1000 - ago * 1_000_000)
    return f'{{"user": "{user}", "time": "{instant}", "place": "{place}"}}\n'.encode()


def test_a_slow_pipe(tmp_path: Path) -> None:
    """At 100 events per second and slots of half a second, every punctual event is accepted."""
    town(tmp_path)
    process = start(tmp_path, "--events", "-")
    assert process.stdin is not None
    process.stdin.write(line("p0"))
    process.stdin.flush()
    wait_for(tmp_path, 1, process)
    for k in range(100):
        process.stdin.write(line(f"p{k % 10}"))
        process.stdin.flush()
        time.sleep(0.01)
    out, err = end(process)
    assert process.returncode == 0, (out, err)
    assert tallies(tmp_path)["accepted"] >= 100, tallies(tmp_path)
    assert sum(tallies(tmp_path).values()) == 101


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_silent_pipe(tmp_path: Path, kind: signal.Signals) -> None:
    """Slots are released while nothing comes; a signal ends the waiting at once, with 0 or 130 and no trace."""
    town(tmp_path, ago=1)
    process = start(tmp_path, "--events", "-")
    wait_for(tmp_path, 4, process)
    process.send_signal(kind)
    out, err = end(process)
    assert process.returncode == (0 if kind == signal.SIGTERM else 130), err
    assert b"Traceback" not in err
    assert b"next is slot" in out
    served = min(ask(tmp_path, SERVED))
    assert [slot for slot in ask(tmp_path, "SELECT slot FROM releases WHERE decision = 'lost'") if slot > served] == []


@pytest.mark.slow
def test_a_file_that_is_rotated_while_it_is_followed(tmp_path: Path) -> None:
    """The real command over two rotations, one of them while it is stopped: nothing is refused, nothing is missing."""
    town(tmp_path, width="1 s", lateness="20 s")
    path, written = tmp_path / "log.ndjson", 0

    def write(many: int) -> None:
        nonlocal written
        with path.open("ab") as file:
            for _ in range(many):
                file.write(line(f"p{written % 10}"))
                written += 1

    def count() -> int:
        return sum(tallies(tmp_path).values())

    path.touch()

    def read_all() -> None:
        for _ in range(400):
            if count() == written:
                return
            time.sleep(0.05)

    process = start(tmp_path, "--events", str(path), "--follow")
    write(300)
    read_all()
    write(200)
    path.rename(path.with_name("log.ndjson.1"))
    write(300)
    read_all()
    process.terminate()
    out, err = end(process)
    assert process.returncode == 0, (out, err)
    write(200)
    path.rename(path.with_name("log.ndjson.1"))
    path.touch()
    process = start(tmp_path, "--events", str(path), "--follow")
    read_all()
    process.terminate()
    out, err = end(process)
    assert tallies(tmp_path) == {"accepted": written}, (out, err)
    assert written == 1000


def catches_signals(process: subprocess.Popen[bytes]) -> bool:
    """Whether the command has begun: before that it is Python that starts, and nothing of ours runs."""
    for words in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if words.startswith("SigCgt"):
            return bool(int(words.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs to know when the command has begun")
@pytest.mark.parametrize("rounds", [2, pytest.param(60, marks=pytest.mark.slow)])
def test_signals_at_any_moment(tmp_path: Path, rounds: int) -> None:
    """Stopped while it opens, imports, reads or releases, once or twice: 0 or 130, no trace, and no slot is lost."""
    town(tmp_path, width="1 s", lateness="0 s", closing="files", ago=900)
    lines = [line(f"p{k % 10}", ("north", "south")[k % 2], ago=60) for k in range(2000)]
    (tmp_path / "e.ndjson").write_bytes(b"".join(lines))
    codes: Counter[int] = Counter()
    for number in range(rounds):
        kind = (signal.SIGTERM, signal.SIGINT)[number % 2]
        process = start(tmp_path, "--yes", "--allow-empty", "--events", str(tmp_path / "e.ndjson"))
        before = len(ask(tmp_path, "SELECT slot FROM releases"))
        while process.poll() is None and not catches_signals(process):
            time.sleep(0.002)
        while number % 4 < 2 and len(ask(tmp_path, "SELECT slot FROM releases")) == before and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.013 * (number % 31))
        process.send_signal(kind)
        if number % 3 == 0:
            time.sleep(0.003)
            process.send_signal(kind)
        out, err = end(process)
        codes[process.returncode] += 1
        over = process.returncode == -kind and b"\nnext " in err  # it had said its last words, and Python was ending
        assert process.returncode in (0, 130) or over, (number, out, err)
        assert b"Traceback" not in err, (number, err)
    ended = Counter(ask(tmp_path, "SELECT decision FROM releases"))
    assert ended[("lost",)] == 0, ended
    assert ask(tmp_path, "SELECT count(*) FROM slots") == ask(tmp_path, "SELECT count(*) FROM releases")
    assert min(codes[0], codes[130]) >= 1


def test_the_end_of_a_pipe_says_what_waits(tmp_path: Path) -> None:
    """Events that were accepted and whose slot is not over are counted in the summary: they are not lost."""
    town(tmp_path, width="1 h")
    process = start(tmp_path, "--events", "-")
    assert process.stdin is not None
    moment = show_instant(int(time.time() * 1_000_000))
    process.stdin.write(
        b"".join(b'{"user": "p%d", "time": "%s", "place": "north"}\n' % (k, moment.encode()) for k in (1, 2))
    )
    out, said = end(process)
    assert process.returncode == 0, said
    assert b"no slot was due; next is slot 1" in out
    assert b"2 accepted, 0 refused" in said
    assert b"waiting 2 accepted events wait" in said
