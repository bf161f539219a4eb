"""Cuts bytes of any number into numbered lines, in batches of bounded memory.

A line ends at a newline and nowhere else: whatever stands in one line, it cannot reach into the next.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

LONGEST_LINE = 1 << 20
"""Bytes of a line; what is longer is passed over as a whole."""

_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Batch:
    """Some whole lines.

    Attributes:
        lines: without their ends; None for one that is too long.
        number: of the first of them, counted from 1.
        place: how many bytes of the file end with the last of them.
    """

    lines: list[bytes | None] = field(repr=False)
    number: int
    place: int


class Lines:
    """Reads on from where it stopped; bytes come from a file, or one by one from whoever calls `take`.

    Guarantees:
        Every line that has ended is given once, in order; at most a few hundred kilobytes and one line are held.
        `rest` tells whether the file goes on behind the last newline; `finish` gives what stands there as a line.
    """

    def __init__(self, file: BinaryIO | None = None, *, place: int = 0, number: int = 1) -> None:
        self._file = io.BytesIO() if file is None else file
        self._place, self._number = place, number
        self._held, self._skipping = b"", 0

    @property
    def rest(self) -> bool:
        """Whether bytes were read behind the last newline."""
        return bool(self._held) or self._skipping > 0

    @property
    def offset(self) -> int:
        """How many bytes of the file were read, those behind the last newline included."""
        return self._place + self._skipping + len(self._held)

    def read(self, until: int | None = None) -> Iterator[Batch]:
        """Everything that has ended by now, batch by batch; no byte from `until` on is looked at."""
        while chunk := self._file.read(_CHUNK if until is None else max(0, min(_CHUNK, until - self.offset))):
            batch = self.take(chunk)
            if batch.lines:
                yield batch

    def finish(self) -> Batch:
        """The last line of a file that does not end with a newline; empty if there is none."""
        if not self.rest:
            return Batch([], self._number, self._place)
        line = None if self._skipping else self._held.removesuffix(b"\r")
        self._place += self._skipping + len(self._held)
        self._held, self._skipping = b"", 0
        self._number += 1
        return Batch([line], self._number - 1, self._place)

    def take(self, chunk: bytes) -> Batch:
        """The lines that end in the next bytes; none if no newline is among them."""
        first = self._number
        *ended, self._held = (self._held + chunk).split(b"\n")
        lines: list[bytes | None] = []
        for line in ended:
            self._place += len(line) + 1 + self._skipping
            too_long = self._skipping > 0 or len(line) > LONGEST_LINE
            self._skipping = 0
            lines.append(None if too_long else line.removesuffix(b"\r"))
        if len(self._held) > LONGEST_LINE or self._skipping:
            self._skipping += len(self._held)
            self._held = b""
        self._number += len(lines)
        return Batch(lines, first, self._place)
