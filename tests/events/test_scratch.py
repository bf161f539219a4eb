"""Events on the disk while they are grouped are removed, however their process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from wevent.events.scratch import PREFIX, Scratch


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files of this test alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def test_a_folder_lives_as_long_as_it_is_used(tmp_path: Path) -> None:
    """It is readable by its owner alone, is not removed by a second one, and is gone when it is closed."""
    with Scratch() as first:
        assert first.path.stat().st_mode & 0o777 == 0o700
        with Scratch() as second:
            assert first.path.is_dir()
            assert second.path != first.path
    assert list(tmp_path.glob(f"{PREFIX}*")) == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    """A process that is killed leaves its folder; the next one removes it, and not that of one that lives."""
    code = "import sys; from wevent.events.scratch import Scratch; s = Scratch(); print(s.path, flush=True); input()"
    children = [
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        dead, alive = (Path(str(child.stdout and child.stdout.readline()).strip()) for child in children)
        (dead / "events.duckdb").write_bytes(b"private")
        os.kill(children[0].pid, signal.SIGKILL)
        children[0].wait()
        assert dead.is_dir()
        Scratch().close()
        assert not dead.exists()
        assert alive.is_dir()
    finally:
        for child in children:
            child.kill()
            child.communicate()
