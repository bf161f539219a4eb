"""Recognises a file under any name: by device and inode, and by a fingerprint of the bytes that were read.

A position is valid for one file only. Logs are rotated by renaming (the name then belongs to a new file) or by copying
and cutting (name and inode stay, the read bytes are gone). The fingerprint shows both. Devices and inodes may change
when a machine restarts: the fingerprint decides, and they only say where to look first.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

SAMPLE = 4096
"""So many bytes at the start of a file, and so many before the position, make the fingerprint."""

_LEAST = 64
"""With fewer bytes read than this, a file of another inode is never taken for the same one: all headers look alike."""

_ROTATED = re.compile(r"[-._]?\d[-._:T\d]*")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip")


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """How far a file was read.

    Attributes:
        name: the path under which it was given; another file may have that name by now.
        file: device and inode.
        place: how many bytes were read; they end with a newline.
        line: the number of the next line.
        fingerprint: of the bytes that were read.
    """

    name: str
    file: str
    place: int
    line: int
    fingerprint: bytes = field(repr=False)

    def fits(self, file: BinaryIO) -> bool:
        """Whether an open file begins with what was read."""
        if self.place < _LEAST and inode(file) != self.file:
            return False
        return fingerprint(file, self.place) == self.fingerprint


def inode(file: BinaryIO) -> str:
    """Device and inode of an open file."""
    found = os.fstat(file.fileno())
    return f"{found.st_dev}:{found.st_ino}"


def fingerprint(file: BinaryIO, place: int) -> bytes:
    """A hash of the first bytes of a file and of those before `place`; of no other file that is shorter or differs."""
    number, size = file.fileno(), min(SAMPLE, place)
    head, tail = os.pread(number, size, 0), os.pread(number, size, place - size)
    return hashlib.blake2b(place.to_bytes(8, "big") + head + tail, digest_size=16).digest()


def find_again(path: Path, position: ReadPosition) -> Path | None:
    """Where the file of a position is now: under its own name or a new one in the same folder; None if nowhere.

    Guarantees:
        What is found begins with the bytes that were read, so that reading can go on at the position.
    """
    candidates = [path, *(file for file in _siblings(path) if file != path)]
    for file in sorted(candidates, key=lambda file: _inode(file) != position.file):
        with suppress(OSError), file.open("rb", buffering=0) as opened:
            if position.fits(opened):
                return file
    return None


@dataclass(frozen=True, slots=True)
class Between:
    """Files that had the name after one file and before another, oldest first; `packed` of them are compressed."""

    files: list[Path]
    packed: int


def rotated_between(path: Path, old: Path, known: frozenset[str]) -> Between:
    """Rotated files of a name that were written after `old`; `known` are inodes that are accounted for."""
    since, named = _written(old), [file for file in _siblings(path) if file != path and _is_rotated(path, file)]
    later = sorted((_written(file), file) for file in named if _written(file) >= since and _inode(file) not in known)
    packed = [file for _, file in later if file.suffix in _PACKED]
    return Between([file for _, file in later if file not in packed], len(packed))


def _is_rotated(path: Path, file: Path) -> bool:
    """Whether a name is how `path` is called after a rotation: `log.csv.1`, `log.csv-20240501`, `log-20240501.csv`."""
    name = file.name
    for packed in _PACKED:
        name = name.removesuffix(packed)
    if name.startswith(path.name):
        return _ROTATED.fullmatch(name.removeprefix(path.name)) is not None
    rest = name.removeprefix(path.stem).removesuffix(path.suffix)
    return name == path.stem + rest + path.suffix and _ROTATED.fullmatch(rest) is not None


def _siblings(path: Path) -> list[Path]:
    """Files of the same folder whose names begin alike."""
    try:
        found = sorted(file for file in path.parent.iterdir() if file.name.startswith(path.stem))
    except OSError:
        return []
    return [file for file in found if file.is_file()]


def _written(file: Path) -> int:
    """When a file was written last, in nanoseconds; 0 if it is gone."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _inode(file: Path) -> str:
    try:
        found = file.stat()
    except OSError:
        return ""
    return f"{found.st_dev}:{found.st_ino}"
