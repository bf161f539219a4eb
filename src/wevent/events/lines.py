"""Cuts any number of bytes into numbered lines, in batches of bounded memory.

A line ends at a newline and nowhere else: nothing that a line holds reaches into the next one.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

LONGEST_LINE = 1 << 20
"""Bytes of a line; a longer one is passed over as a whole."""

_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class LineBatch:
    """Consecutive complete lines.

    Attributes:
        lines: without their ends; None for one that is too long.
        number: of the first of them, counted from 1.
        place: how many bytes of the file end with the last of them.
    """

    lines: list[bytes | None] = field(repr=False)
    number: int
    place: int


class Lines:
    """Reads on from where it stopped; bytes come from a file, or from the caller of `cut`.

    Guarantees:
        Every line that has ended is given once, in order; at most a few hundred kilobytes and one line are held.
        `rest` is true if bytes follow the last newline; `finish` gives them as a line.
    """

    def __init__(self, file: BinaryIO | None = None, *, place: int = 0, number: int = 1) -> None:
        self._file = io.BytesIO() if file is None else file
        self._place, self._number = place, number
        self._unfinished, self._skipping = b"", 0

    @property
    def rest(self) -> bool:
        """Whether bytes were read behind the last newline."""
        return bool(self._unfinished) or self._skipping > 0

    @property
    def offset(self) -> int:
        """How many bytes of the file were read, those behind the last newline included."""
        return self._place + self._skipping + len(self._unfinished)

    def read(self, until: int | None = None) -> Iterator[LineBatch]:
        """Every line that has ended by now, batch by batch; no byte from `until` on is read."""
        while chunk := self._file.read(_CHUNK if until is None else max(0, min(_CHUNK, until - self.offset))):
            batch = self.cut(chunk)
            if batch.lines:
                yield batch

    def finish(self) -> LineBatch:
        """The last line of a file that does not end with a newline; empty if there is none."""
        if not self.rest:
            return LineBatch([], self._number, self._place)
        line = None if self._skipping else self._unfinished.removesuffix(b"\r")
        self._place += self._skipping + len(self._unfinished)
        self._unfinished, self._skipping = b"", 0
        self._number += 1
        return LineBatch([line], self._number - 1, self._place)

    def cut(self, chunk: bytes) -> LineBatch:
        """The lines that end in the next bytes; none if no newline is among them."""
        first = self._number
        *ended, self._unfinished = (self._unfinished + chunk).split(b"\n")
        lines: list[bytes | None] = []
        for line in ended:
            self._place += len(line) + 1 + self._skipping
            too_long = self._skipping > 0 or len(line) > LONGEST_LINE
            self._skipping = 0
            lines.append(None if too_long else line.removesuffix(b"\r"))
        if len(self._unfinished) > LONGEST_LINE or self._skipping:
            self._skipping += len(self._unfinished)
            self._unfinished = b""
        self._number += len(lines)
        return LineBatch(lines, first, self._place)
