"""Reading needs no writing; the files of a store are their owner's."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.store.scene import START, Town, config, random_rows

from wevent.cli.main import main
from wevent.errors import StoreUnavailable
from wevent.events.timeline import show_instant
from wevent.store.database import open_database
from wevent.store.schema import releases, slots, waiting

TOML = f"""
[stream]
name = "town"
[slots]
width = "1 min"
first = {show_instant(START)}
closing = "operator"
[cells]
names = ["north", "south", "east"]
[privacy]
mechanism = "uniform"
history_slots = 8
[store]
url = "URL"
"""


def filled(where: str | Path, folder: Path) -> Town:
    """A store with a few slots."""
    town = Town(where, folder / "w.json", config(privacy={"mechanism": "uniform"}))
    town.people(5)
    with town.session() as session:
        for slot in range(1, 5):
            session.release(random_rows(session, slot))
    town.database.close()
    return town


def every_reading_command(toml: Path, store: str, out: Path) -> list[str]:
    """Run each command that only reads; return what went wrong."""
    wrong = []
    chosen = ["--config", str(toml)]
    for words in (
        ["audit", store],
        ["audit", store, "--html", str(out / "a.html")],
        ["releases", *chosen, "--format", "csv"],
        ["plot", *chosen, "--output", str(out / "a.png")],
        ["status", *chosen],
        ["smooth", *chosen, "--output", str(out / "s.csv")],
        ["requirements", "list", *chosen],
        ["requirements", "list", *chosen, "--history"],
    ):
        said = StringIO()
        with redirect_stderr(said), redirect_stdout(StringIO()):
            code = main(words)
        if code != 0:
            wrong.append(f"{words[0]} ended with {code}: {said.getvalue()}")
    return wrong


def listing(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file of a folder with its mode, time and content."""
    return {
        file.name: (file.stat().st_mode, file.stat().st_mtime_ns, file.read_bytes())
        for file in sorted(folder.iterdir())
    }


def as_nobody(work: Callable[[], list[str]]) -> list[str]:
    """Run something in a process that may write next to nothing; return what it returns."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            said = work()
        except BaseException as error:
            said = [repr(error)]
        os.write(writing, "\n".join(said).encode()[:60_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        words = answer.read()
    os.waitpid(child, 0)
    return words.splitlines()


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Path]:
    """A read-only copy of a store in a read-only folder, with a configuration beside it."""
    (tmp_path / "live").mkdir()
    filled(tmp_path / "live/town.db", tmp_path)
    folder = tmp_path / "copy"
    folder.mkdir()
    shutil.copy(tmp_path / "live/town.db", folder / "town.db")
    (folder / "wevent.toml").write_text(TOML.replace("URL", str(folder / "town.db")), "utf-8")
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)


def test_a_read_only_copy(copy: Path, tmp_path: Path) -> None:
    """All commands that only read work on a read-only copy; no file in its folder changes or appears."""
    before = listing(copy)
    assert every_reading_command(copy / "wevent.toml", str(copy / "town.db"), tmp_path) == []
    assert listing(copy) == before


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can become nobody")
def test_a_read_only_copy_for_a_user_without_rights(copy: Path) -> None:
    """The same for a user whom permissions really bind; in a folder that a run of tests beside it does not close."""
    with TemporaryDirectory(prefix="wevent-nobody-") as made:
        folder, out = Path(made) / "copy", Path(made) / "out"
        Path(made).chmod(0o755)
        out.mkdir()
        out.chmod(0o777)
        shutil.copytree(copy, folder)
        toml = (copy / "wevent.toml").read_text("utf-8").replace(str(copy), str(folder))
        folder.chmod(0o755)
        (folder / "wevent.toml").write_text(toml, "utf-8")
        folder.chmod(0o555)
        before = listing(folder)
        assert as_nobody(lambda: every_reading_command(folder / "wevent.toml", str(folder / "town.db"), out)) == []
        assert listing(folder) == before
        folder.chmod(0o755)


def test_a_live_store(tmp_path: Path) -> None:
    """Reading beside a process that publishes sees what is committed, and leaves its files alone."""
    town = Town(tmp_path / "town.db", tmp_path / "w.json", config(privacy={"mechanism": "uniform"}))
    town.people(3)
    with town.session() as session:
        for slot in (1, 2, 3):
            session.release(random_rows(session, slot))
            before = sorted(file.name for file in tmp_path.iterdir())
            reader = open_database(tmp_path / "town.db", read_only=True)
            with reader.read() as connection:
                assert len(connection.execute(releases.select()).all()) == slot
            reader.close()
            assert sorted(file.name for file in tmp_path.iterdir()) == before


def test_a_writer_that_begins_while_a_copy_is_read(tmp_path: Path) -> None:
    """A file that changes under a reader without locks is noticed: what was read may not belong together."""
    town = filled(tmp_path / "town.db", tmp_path)
    reader = open_database(tmp_path / "town.db", read_only=True)
    with pytest.raises(StoreUnavailable, match="while it was read"), reader.read() as connection:
        connection.execute(slots.select()).all()
        with town.session() as session:
            session.release(random_rows(session, 5))
        town.database.close()


def test_reading_refuses_to_write(copy: Path) -> None:
    """A store that was opened for reading writes nothing, whatever is called."""
    reader = open_database(copy / "town.db", read_only=True)
    with pytest.raises(StoreUnavailable, match="for reading"), reader.write():
        pass
    with pytest.raises(StoreUnavailable, match="not written"), reader.read() as connection:
        connection.execute(slots.delete())


@pytest.mark.skipif(sys.platform == "win32", reason="other permissions there")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_owner_may_read(tmp_path: Path, umask: int) -> None:
    """Store, write-ahead log, its index and the lock are made with mode 0600, whatever the umask; also at the end."""
    before = os.umask(umask)
    try:
        town = Town(tmp_path / "town.db", tmp_path / "w.json", quick=False)
        town.people(3)
        with town.session() as session:
            session.release(random_rows(session, 1))
            names = {file.name for file in tmp_path.iterdir()}
            assert {"town.db", "town.db-wal", "town.db-shm", "town.db.1.lock"} <= names
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("town*")}
        assert set(modes.values()) == {0o600}, modes
    finally:
        os.umask(before)


def test_deleted_events_are_overwritten(tmp_path: Path) -> None:
    """What was deleted is not found in the store's file any more, once the log is written back."""
    town = Town(tmp_path / "town.db", tmp_path / "w.json")
    secret = b"nobody may find this again" * 400
    town.people(1)
    with town.session() as session, session.writer.transaction() as connection:
        values = {"stream": session.writer.stream.id, "slot": 9, "batch": 1, "number": 1, "events": secret}
        connection.execute(waiting.insert().values(**values))
    town.database.close()
    assert secret[:60] in (tmp_path / "town.db").read_bytes()
    with town.database.write() as connection:
        connection.execute(waiting.delete())
    town.database.close()
    assert secret[:60] not in (tmp_path / "town.db").read_bytes()
