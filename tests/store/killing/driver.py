"""Kills the command `wevent` at its n-th write, sync, rename or send, runs it again, and says what does not hold.

Runs as a process of its own with `shim.c` preloaded. Everything is imported once; each command is a forked child, so
that a kill costs milliseconds. It prints one JSON document.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import opendp.prelude  # noqa: F401  (takes long, and is wanted before the fork)
import sqlalchemy as sa
from tests.store.killing.check import Snapshot, problems, take_snapshot
from tests.store.killing.town import FIRST_SLOTS, SLOTS, START, Command, Files, write_files

from wevent.cli.main import main as wevent

MOMENTS = ("before", "after", "torn")


@dataclass
class Outcome:
    """What came of many kills.

    Attributes:
        kills: how many there were.
        calls: how many calls the command makes in all.
        problems: what did not hold, with the point of the kill.
        endings: how the slots that a kill could touch ended, over all kills.
    """

    kills: int = 0
    calls: int = 0
    problems: list[str] = field(default_factory=list)
    endings: Counter[str] = field(default_factory=Counter)


class Place:
    """A folder, and perhaps a database on a server, that can be put back to how they were."""

    def __init__(self, folder: Path, server: str | None) -> None:
        self.folder, self._server = folder, server
        self._kept = folder.with_name(folder.name + "-kept")
        self.url = f"{folder}/town.db" if server is None else str(_named(server, "killed"))

    def keep(self) -> None:
        """Remember how everything is now."""
        shutil.copytree(self.folder, self._kept)
        if self._server is not None:
            self._on_server("CREATE DATABASE kept TEMPLATE killed")

    def put_back(self) -> None:
        """Make everything as it was."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._kept, self.folder)
        if self._server is not None:
            self._on_server("DROP DATABASE killed WITH (FORCE)", "CREATE DATABASE killed TEMPLATE kept")

    def create(self) -> None:
        """Begin with nothing."""
        if self._server is not None:
            self._on_server("CREATE DATABASE killed")

    def _on_server(self, *words: str) -> None:
        assert self._server is not None
        engine = sa.create_engine(_psycopg(self._server), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with engine.connect() as connection:
            for order in words:
                connection.exec_driver_sql(order)


def run(files: Files, target: str, server: str | None, step: int) -> Outcome:
    """Kill one kind of command at every `step`-th call: `publish` with either way of closing, or `requirements`."""
    place, outcome = Place(files.folder, server), Outcome()
    place.create()
    first, second = files.parts
    _must(files.import_people(files.people, -1))
    _must(files.publish((first,), FIRST_SLOTS))
    place.keep()
    if target == "requirements":
        command = files.import_people(files.changed_people, FIRST_SLOTS + 0.5)
    else:
        command = files.publish((first, second) if target == "files" else (second,), SLOTS)
    outcome.calls = _asked(lambda: _armed(files, command, 0, "before", server))
    for number, moment in _points(outcome.calls, step):
        place.put_back()
        if _killed(files, command, number, moment, server):
            outcome.kills += 1
            before: Snapshot = _asked(lambda: take_snapshot(place.url))
            _must(command)
            if target == "requirements":
                _must(files.publish((second,), SLOTS))
            found, endings = _asked(partial(problems, files, place.url, before))
            outcome.problems += [f"{moment} call {number}: {problem}" for problem in found]
            outcome.endings.update(endings)
    return outcome


def _points(calls: int, step: int) -> Iterator[tuple[int, str]]:
    """Which call to die at and when, all moments in turn."""
    for turn, number in enumerate(range(1, calls + 1, step)):
        for moment in MOMENTS if step == 1 else (MOMENTS[turn % len(MOMENTS)],):
            yield number, moment


def _armed(files: Files, command: Command, number: int, moment: str, server: str | None) -> int:
    """Run a command that dies at the n-th call, or never if that is 0; return how many calls there were."""
    shim: Any = ctypes.CDLL(None)
    shim.calls_seen.restype = ctypes.c_long
    shim.kill_at(str(files.folder).encode(), ctypes.c_long(number), MOMENTS.index(moment), int(server is not None))
    if _say(command) != 0:
        raise SystemExit(9)
    return int(shim.calls_seen())


def _say(command: Command) -> int:
    """Run a command in this process, at its minute."""
    ahead, running = int((START + 60 * command.minute) * 1e9) - time.time_ns(), time.time_ns
    time.time_ns = lambda: running() + ahead
    return wevent(command.words)


def _killed(files: Files, command: Command, number: int, moment: str, server: str | None) -> bool:
    """Whether the command died; it may have had fewer calls to make than the one that was counted."""
    child = os.fork()
    if child == 0:
        _silently(lambda: _armed(files, command, number, moment, server))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    if status != 0:
        raise SystemExit(f"the command ended with status {status} where it was to be killed ({moment} call {number})")
    return False


def _must(command: Command) -> None:
    """Run a command that nobody kills; a server may need a moment to notice that the one before is dead."""
    for _ in range(100):
        child = os.fork()
        if child == 0:
            _silently(lambda: os._exit(_say(command)))
        _, status = os.waitpid(child, 0)
        if status == 0:
            return
        time.sleep(0.05)
    raise SystemExit(
        f"the command {command.words[0]} does not succeed after a kill: status {os.waitstatus_to_exitcode(status)}"
    )


def _silently(work: Callable[[], object]) -> None:
    """Work in a child without a word on standard output, then end it."""
    code = 9
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        work()
        code = 0
    except SystemExit as error:
        code = int(str(error.code))
    finally:
        os._exit(code)


def _asked(question: Callable[[], Any]) -> Any:
    """The answer of a child: this process never opens a store, so that no child inherits one."""
    listen, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(listen)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        with os.fdopen(tell, "w") as file:
            json.dump(question(), file)
        os._exit(0)
    os.close(tell)
    with os.fdopen(listen) as file:
        answer = file.read()
    os.waitpid(child, 0)
    return json.loads(answer)


def _psycopg(address: str) -> sa.URL:
    return sa.make_url(address).set(drivername="postgresql+psycopg")


def _named(address: str, name: str) -> str:
    return sa.make_url(address).set(database=name).render_as_string(hide_password=False)


if __name__ == "__main__":
    folder, target, step, server = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] or None
    closing = "files" if target == "files" else "operator"
    files = write_files(folder, closing, Place(folder, server).url)
    print(json.dumps(vars(run(files, target, server, step))))
