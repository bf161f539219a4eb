"""A position belongs to a file and not to its name: rotated files lose no event, and none is taken twice."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.store.scene import CELLS
from tests.store.test_feeding import Hand, iso, live

from wevent.events.following import ReadPosition, find_again, fingerprint, inode
from wevent.store.accounting import read_tallies
from wevent.store.feeding import Feed
from wevent.store.followed_files import FollowedFile
from wevent.store.intake import read_positions


def line(k: int) -> bytes:
    """The k-th event, a tenth of a second after the one before."""
    return f'{{"user": "person-{k % 4}", "time": "{iso(k / 10)}", "place": "{CELLS[k % 3]}"}}\n'.encode()


def lines(first: int, last: int) -> bytes:
    return b"".join(line(k) for k in range(first, last))


class Log:
    """A followed file in a stream whose clock stands still, and what was read from it so far."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "events.ndjson"
        self.path.touch()
        self.town = live(folder, lateness="10 d")
        self.seen: Counter[bytes] = Counter()
        self.warned: list[str] = []

    @contextmanager
    def follow(self, monkeypatch: pytest.MonkeyPatch, grace: float = 0) -> Iterator[Callable[[], None]]:
        """One run of the process; what it gives reads once."""
        clock = Hand()
        clock.seconds = 100_000
        with self.town.session(clock) as session:
            feed = Feed(session, lambda release: None, warn=self.warned.append)
            take = feed.take

            def note(content: list[bytes | None], *given: object, **more: object) -> object:
                self.seen.update(word + b"\n" for word in content if word is not None)
                return take(content, *given, **more)  # type: ignore[arg-type]

            monkeypatch.setattr(feed, "take", note)
            with FollowedFile(feed, self.path, "ndjson", grace) as file:
                yield lambda: file.read(feed.look())

    def check(self, many: int) -> None:
        """Every event was read, and none twice."""
        assert self.seen == Counter(line(k) for k in range(many))


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


@pytest.mark.parametrize("stopped", [False, True])
def test_renamed(log: Log, stopped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Renamed while it is followed or while nobody follows: the old file is finished, then the new one is read."""
    with log.follow(monkeypatch) as read:
        append(log.path, lines(0, 50))
        read()
        if not stopped:
            _rotate(log.path)
            read()
            read()
    if stopped:
        _rotate(log.path)
    with log.follow(monkeypatch) as read:
        read()
        append(log.path, lines(150, 160))
        read()
    log.check(160)
    assert log.warned == []


def _rotate(path: Path) -> None:
    append(path, lines(50, 100))
    path.rename(path.with_name("events.ndjson.1"))
    path.write_bytes(lines(100, 150))


def test_a_writer_that_keeps_the_old_file_open(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written to the old file after the new one is there is read too."""
    with log.follow(monkeypatch, grace=60) as read, log.path.open("ab", buffering=0) as writer:
        writer.write(lines(0, 10))
        read()
        log.path.rename(log.path.with_name("events.ndjson.1"))
        read()  # the name belongs to nobody
        writer.write(lines(10, 20))
        log.path.write_bytes(lines(30, 40))
        read()
        writer.write(lines(20, 30))
        read()
    log.check(40)


def test_cut(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copied and cut while it is followed, also if the new content is longer than the old: the copy is finished."""
    with log.follow(monkeypatch) as read:
        append(log.path, lines(0, 50))
        read()
        append(log.path, lines(50, 60))
        shutil.copy(log.path, log.path.with_name("events.ndjson.1"))
        os.truncate(log.path, 0)
        append(log.path, lines(60, 160))
        read()
        append(log.path, lines(160, 170))
        read()
    log.check(170)
    assert log.warned == []


def test_cut_while_nobody_follows(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same over a restart."""
    with log.follow(monkeypatch) as read:
        append(log.path, lines(0, 50))
        read()
    append(log.path, lines(50, 60))
    shutil.copy(log.path, log.path.with_name("events.ndjson.1"))
    log.path.write_bytes(lines(60, 160))
    with log.follow(monkeypatch) as read:
        read()
    log.check(160)
    assert log.warned == []


def test_rotated_twice_while_nobody_follows(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that came and went in between is read too, in its order."""
    with log.follow(monkeypatch) as read:
        append(log.path, lines(0, 50))
        read()
    _rotate(log.path)
    log.path.with_name("events.ndjson.1").rename(log.path.with_name("events.ndjson.2"))
    log.path.rename(log.path.with_name("events.ndjson.1"))
    log.path.write_bytes(lines(150, 160))
    log.path.with_name("events.ndjson.note").write_bytes(b"nothing of ours\n")
    with log.follow(monkeypatch) as read:
        read()
        assert list(log.seen) == [line(k) for k in range(160)]
    log.check(160)
    assert log.warned == []
    with log.town.database.read() as connection:
        assert [position.name for position in read_positions(connection, 1)] == [str(log.path)]


@pytest.mark.parametrize("how", ["removed", "compressed", "cut"])
def test_what_cannot_be_found_is_said(log: Log, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the rest of the old file is nowhere, a warning names the byte where it began; the new one is read."""
    with log.follow(monkeypatch) as read:
        append(log.path, lines(0, 50))
        read()
        size = log.path.stat().st_size
        if how == "cut":
            log.path.write_bytes(lines(50, 60))
            read()
    if how != "cut":
        log.path.unlink()
        log.path.write_bytes(lines(50, 60))
        if how == "compressed":
            log.path.with_name("events.ndjson.1.gz").write_bytes(b"\x1f\x8b")
        with log.follow(monkeypatch) as read:
            read()
    log.check(60)
    assert len(log.warned) == 1
    assert f"{size:,}" in log.warned[0]
    assert "missing" in log.warned[0]


def test_a_line_in_two_files(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that the rotation cut is refused and counted; it is neither joined with the next file nor half taken."""
    with log.follow(monkeypatch) as read:
        append(log.path, lines(0, 5) + line(5)[:20])
        read()
        log.path.rename(log.path.with_name("events.ndjson.1"))
        log.path.write_bytes(lines(6, 9))
        read()
        read()
    assert sum(log.seen.values()) == 8
    with log.town.database.read() as connection:
        assert read_tallies(connection, 1) == {"accepted": 8, "without an end of line": 1}


def test_inode_and_content(tmp_path: Path) -> None:
    """A header alone makes no file the same; the bytes that were read do, whatever inode or name they have."""
    old, new = tmp_path / "x.csv", tmp_path / "x.csv.1"
    old.write_bytes(b"user,time,place\n" + b"a,b,c\n" * 20)
    new.write_bytes(b"user,time,place\n" + b"d,e,f\n" * 20)
    with old.open("rb") as first_file, new.open("rb") as second_file:
        short = ReadPosition("x", inode(first_file), 16, 2, fingerprint(first_file, 16))
        assert (short.fits(first_file), short.fits(second_file)) == (True, False)
        long = ReadPosition("x", "another", 100, 9, fingerprint(first_file, 100))
        assert (long.fits(first_file), long.fits(second_file)) == (True, False)
    old.rename(tmp_path / "x-20240501.csv")
    assert find_again(old, long) == tmp_path / "x-20240501.csv"
    assert find_again(tmp_path / "y.csv", long) is None
