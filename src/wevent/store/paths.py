"""Says what is wrong with the path of an embedded store, and makes files that only their owner may read."""

from __future__ import annotations

import os
from pathlib import Path

from wevent.errors import CorruptState, StoreUnavailable

OWNER_ONLY = 0o600
"""Who may read and write the files of a store."""

_BEGINNING = b"SQLite format 3\0"


def look_at_path(path: Path, *, create: bool, read_only: bool) -> None:
    """Say what is wrong with a path; make the file if it may be made, for its owner alone."""
    try:
        if path.is_dir():
            raise StoreUnavailable(f"the store's path {path} is a folder; give the path of a file in it", kind="path")
        if path.exists():
            return  # and is not opened here: closing it again would drop the locks that SQLite holds in this process
        if not create:
            advice = "is the path right, and was something published?" if read_only else "`wevent publish` makes one"
            raise StoreUnavailable(f"there is no store at {path}; {advice}", kind="path")
        if not path.absolute().parent.is_dir():
            raise StoreUnavailable(
                "the folder of the store does not exist; make it first, or choose another", kind="path"
            )
        make_private(path)
    except OSError as error:
        raise StoreUnavailable(
            f"the store's path {path} cannot be used ({error.strerror}); change its permissions, or choose another",
            kind="path",
        ) from None


def no_store(path: Path) -> CorruptState | None:
    """What to say of a file that SQLite does not know, if it is of another kind and not merely damaged."""
    try:
        with path.open("rb") as file:
            begins = file.read(len(_BEGINNING))
    except OSError:
        return None
    same = sum(ours == theirs for ours, theirs in zip(_BEGINNING, begins, strict=False))
    if not begins or same >= len(_BEGINNING) // 2:
        return None
    return CorruptState(
        f"{path} is no store: it does not begin as a SQLite file does. Give the path of the store's file, which "
        "`url` under [store] names",
        kind="path",
    )


def make_private(path: Path) -> None:
    """Make an empty file that only its owner may read; one that is there is not touched, see `look_at_path`."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, OWNER_ONLY))
