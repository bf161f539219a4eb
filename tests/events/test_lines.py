"""Cutting files of any size into lines, in little memory."""

from __future__ import annotations

import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wevent.events import lines as module
from wevent.events.lines import LONGEST_LINE, Lines


def all_lines(data: bytes) -> list[bytes | None]:
    lines = Lines(io.BytesIO(data))
    found = [line for batch in lines.read() for line in batch.lines]
    return found + lines.finish().lines


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b" ").replace(b"\r", b" "))), st.booleans())
def test_every_line_once(given: list[bytes], ended: bool) -> None:
    """Every line is given once and unchanged, with or without a last end, and with either kind of end."""
    for end in (b"\n", b"\r\n"):
        data = end.join(given) + (end if ended and given else b"")
        expected = given if ended or not given or given[-1] else given[:-1]
        assert all_lines(data) == expected


def test_a_line_of_100_megabytes() -> None:
    """It is passed over as one line, its neighbours are not, and memory stays small."""

    class Long(io.RawIOBase):
        """Good line, 100 MB without an end, good line."""

        def __init__(self) -> None:
            self.left = [b"good\n", *[b"x" * 2**20] * 100, b"\n", b"after\n"]

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            return self.left.pop(0) if self.left else b""

    tracemalloc.start()
    lines = Lines(Long())  # type: ignore[arg-type]
    batches = list(lines.read())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [line for batch in batches for line in batch.lines] == [b"good", None, b"after"]
    assert batches[-1].number + len(batches[-1].lines) == 4
    assert batches[-1].place == 5 + 100 * 2**20 + 1 + 6
    assert peak < 8 * 2**20


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_the_limit(more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of just the limit is given, one of a byte more is not, however it is cut into chunks."""
    for chunk in (7, 100, 4096):
        monkeypatch.setattr(module, "_CHUNK", chunk)
        monkeypatch.setattr(module, "LONGEST_LINE", 50)
        line = b"y" * (50 + more)
        assert all_lines(b"a\n" + line + b"\nb\n" + line) == [
            b"a",
            *([line, b"b", line] if more <= 0 else [None, b"b", None]),
        ]
    assert LONGEST_LINE == 2**20


def test_a_file_that_grows() -> None:
    """A line without an end is kept back until it has one; `place` is where the last line ends."""
    file = io.BytesIO(b"one\ntw")
    lines = Lines(file)
    (batch,) = lines.read()
    assert (batch.lines, batch.number, batch.place) == ([b"one"], 1, 4)
    assert list(lines.read()) == []
    end = file.tell()
    file.write(b"o\nthree\n")
    file.seek(end)
    (batch,) = lines.read()
    assert (batch.lines, batch.number, batch.place) == ([b"two", b"three"], 2, 14)
