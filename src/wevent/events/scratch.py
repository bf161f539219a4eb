"""Keeps events on the disk while they are grouped, and removes what a killed process left behind of them.

Each process has a folder below the system's folder for temporary files, readable by its owner alone, and holds a lock
in it. A process that starts later removes the folders whose lock is free: their process is gone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import IO

PREFIX = "wevent-events-"
_LOCK = "lock"


class Scratch:
    """A folder that is gone when it is closed, or when the next one is made after a kill.

    Guarantees:
        A folder of a process that is alive is never removed by another.
    """

    def __init__(self) -> None:
        _sweep(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        beside = self.path / f"{_LOCK}.new"
        self._lock = _locked(beside, "w")
        beside.replace(self.path / _LOCK)  # only now: a file that others see under this name is locked already

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sweep(parent: Path) -> None:
    """Remove the folders of this user whose process is gone; one without a lock is just being made."""
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            if os.name == "posix" and folder.lstat().st_uid != os.getuid():
                continue
            lock = _locked(folder / _LOCK, "r+")
        except OSError:
            continue
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            lock.close()


def _locked(path: Path, mode: str) -> IO[str] | None:
    """The file, locked; None where another process holds it, or where files cannot be locked like this."""
    file = path.open(mode, encoding="utf-8")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        file.close()
        return None
    return file
