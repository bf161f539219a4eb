"""Reads what a stream accepts: whole files, a growing file and its rotated predecessors, or a pipe.

What can be proven about when an event was there differs. A file proves that its bytes were written by the moment its
size was asked for; a pipe that they were in its buffer when it was read. So the clock is looked at first, then all that
is there is accepted by that look, and only then are the slots closed that were over at that look: an event that reached
file or buffer in time is never late, however long a pause or a release took.
"""

from __future__ import annotations

import os
import select
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from wevent.errors import InvalidSetting
from wevent.events.files import ELSEWHEN, GroupedFiles, check_file, find_files
from wevent.events.formats import Format, LineReader, line_reader
from wevent.events.lines import Lines
from wevent.events.names import show_name
from wevent.events.sorting import Door, Sorted, unfinished
from wevent.events.staging import ACCEPTED
from wevent.store.feeding import Feed, reading_files
from wevent.store.followed import FollowedFile
from wevent.store.intake import add_tallies

PAUSE = 0.2
"""Seconds between two looks at a source in which nothing happens."""

_AT_ONCE = 1 << 20
"""Bytes of a pipe between two looks at the clock; no less than a pipe's buffer can hold."""


def accept_files(feed: Feed, files: Sequence[Path], reading: Callable[[Path], None] | None = None) -> None:
    """Accept whole files; one that was accepted before is read on from where that stopped.

    Guarantees:
        Everything in the files is accepted for slots that were not released when this began, however long it takes.
    """
    look = feed.look()
    for path, kind in find_files(files):
        if reading is not None:
            reading(path)
        if kind == "parquet":
            accept_parquet(feed, path, feed.door(look))
            continue
        check_file(path, kind)
        before = feed.tallies.copy()
        with FollowedFile(feed, path, kind) as file:
            file.read(look)
            file.finish(look)
        read = feed.tallies - before
        if read and not any(read[kind] for kind in (ACCEPTED, *ELSEWHEN)):
            feed.totals.unusable.append(path)


def accept_parquet(feed: Feed, path: Path, door: Door) -> None:
    """Accept a Parquet file, in batches that DuckDB sorted into slots."""
    session = feed.session
    columns, memory = session.config.columns, session.config.sources.memory
    session.refresh_people()
    read = partial(GroupedFiles, [path], feed.sorter, door, session.config.people.one_cell, columns, memory=memory)
    with reading_files(read, feed.stops) as grouped:
        with session.writer.transaction() as connection:
            add_tallies(connection, session.writer.stream.id, grouped.refused)
        feed.totals.add_tallies(grouped.refused, grouped.seen, grouped.unusable)
        for slot in grouped.slots:
            for portion in grouped.portions(slot):
                numbers = np.full(portion.person.size, slot, np.int64)
                feed.keep(
                    Sorted(numbers, portion.person, portion.offset, portion.cell, list(portion.strangers), Counter())
                )


def follow(feed: Feed, path: Path, kind: Format, pause: float = PAUSE) -> None:
    """Accept what is written to a growing file, until the last wanted slot is released.

    Guarantees:
        What was in the file when this began is accepted before any slot is closed.
        A file that is rotated, by a new name or by being cut, is read to its end before its successor.
    """
    if kind == "parquet":
        raise InvalidSetting(f"{show_name(path)}: a Parquet file does not grow; --follow reads CSV and NDJSON")
    with FollowedFile(feed, path, kind) as file:
        while True:
            look = feed.look()
            file.read(look)
            feed.close_by(look)
            if feed.over:
                return
            time.sleep(pause)


def pipe(feed: Feed, file: BinaryIO, kind: Format, pause: float = PAUSE) -> None:
    """Accept everything that comes through a pipe, to its end or until the last wanted slot is released.

    Guarantees:
        What is there is read at once, and slots are closed by the clock also while nothing comes.
    """
    columns, lines = feed.session.config.columns, Lines()
    read: LineReader | None = None
    ended = False
    while not (ended or feed.over):
        ready, _, _ = select.select([file.fileno()], [], [], pause)
        look = feed.look()
        chunk = b""
        while ready and not ended and len(chunk) < _AT_ONCE:
            more = os.read(file.fileno(), _AT_ONCE - len(chunk))
            chunk, ended = chunk + more, not more
            ready, _, _ = select.select([file.fileno()], [], [], 0)
        content = lines.take(chunk).lines
        if content and read is None:
            read = line_reader(kind, columns, content[0] if kind == "csv" else None, "standard input")
            content = content[1:] if kind == "csv" else content
        if content and read is not None:
            feed.take(content, read, door=feed.door(look))
        feed.close_by(look)
    if not lines.rest:
        return
    if read is None and kind == "ndjson":
        read = line_reader(kind, columns, None, "standard input")
    if read is None or feed.over:
        feed.keep(unfinished())
    else:
        feed.take(lines.finish().lines, read.last)
