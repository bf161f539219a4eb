"""Follows a file under its name through rotations, from the position that the store keeps.

The position belongs to the file and not to the name. Under one name there may be several files: predecessors that still
have to be read to their end, found again by what was read of them, and the one that has the name now.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from wevent.errors import Unreadable
from wevent.events.following import ReadPosition, find_again, fingerprint, inode, rotated_between
from wevent.events.formats import Format, LineReader, line_reader
from wevent.events.lines import Lines
from wevent.events.refusals import Refusal, RefusedEvent
from wevent.events.validation import refuse_unfinished
from wevent.store.feeding import ClockLook, Feed
from wevent.store.intake import forget_position, keep_position, read_positions

GRACE = 10.0
"""Seconds in which nothing was written to a rotated file, before it counts as finished: a program may go on writing to
the old file until it learns of the new one."""


class OpenFile:
    """One file of lines, open, with the position up to which its lines are kept.

    Guarantees:
        A line is accepted once; together with it the position is kept.
        Nothing is accepted from a file that no longer begins with what was read of it.
    """

    def __init__(self, feed: Feed, path: Path, name: str, kind: Format, position: ReadPosition | None = None) -> None:
        self._feed, self._path, self._kind = feed, path, kind
        self._file = path.open("rb", buffering=0)
        self.inode = inode(self._file)
        at = position or ReadPosition(name, self.inode, 0, 1, b"")
        self.position = ReadPosition(name, self.inode, at.place, at.line, fingerprint(self._file, at.place))
        self._read: LineReader | None = None
        if at.place and kind == "csv":
            beginning = next(iter(Lines(self._file).read()), None)
            self._read = self._reader(None if beginning is None else beginning.lines[0])
        self._file.seek(at.place)
        self._lines = Lines(self._file, place=at.place, number=at.line)
        self.written = time.monotonic()  # when something was seen to be written to it

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @property
    def rest(self) -> bool:
        """Whether a line has begun and not ended."""
        return self._lines.rest

    def fits(self, position: ReadPosition) -> bool:
        """Whether the file begins with what was read up to a position."""
        return position.fits(self._file)

    def read(self, look: ClockLook) -> bool:
        """Accept every line that has ended by now; False if the file was cut or written anew."""
        size = os.fstat(self._file.fileno()).st_size
        acceptance_window = self._feed.acceptance_window(
            look
        )  # after the size: no line that is there can be from the future
        if size < self._lines.offset or not self.fits(self.position):
            return False
        for batch in self._lines.read(size):
            if not self.fits(self.position):  # cut while it was read
                return False
            content = batch.lines
            if self._read is None:
                self._read = self._reader(content[0])
                content = content[1:] if self._kind == "csv" else content
            mark = fingerprint(self._file, batch.place)
            position = ReadPosition(self.position.name, self.inode, batch.place, batch.number + len(batch.lines), mark)
            self._feed.take(content, self._read, position, acceptance_window)
            self.position, self.written = position, time.monotonic()
        return True

    def take_last(self, look: ClockLook) -> bool:
        """Accept what stands behind the last newline if it is certain to be a whole line; nothing is read after it."""
        if self._read is None and self._kind == "ndjson":
            self._read = self._reader(None)
        batch = self._lines.finish()
        (line,) = batch.lines
        if line is None or self._read is None:
            return False
        try:
            self._read.last(line)
        except RefusedEvent as refused:
            if refused.kind is Refusal.UNFINISHED:
                return False
        mark = fingerprint(self._file, batch.place)
        self.position = ReadPosition(self.position.name, self.inode, batch.place, batch.number + 1, mark)
        self._feed.take([line], self._read.last, self.position, self._feed.acceptance_window(look))
        return True

    def _reader(self, first: bytes | None) -> LineReader:
        header = first if self._kind == "csv" else None
        return line_reader(self._kind, self._feed.session.config.columns, header, str(self._path))


class FollowedFile:
    """A name, the file that has it, and predecessors that are not finished.

    Guarantees:
        A predecessor that can be found is read to its end; for one that cannot, a warning says what may be missing.
    """

    def __init__(self, feed: Feed, path: Path, kind: Format, grace: float = GRACE) -> None:
        self._feed, self._path, self._kind, self._grace = feed, path.absolute(), kind, grace
        self._name = str(self._path)
        self._stream = feed.session.writer.stream.id
        self._files: list[OpenFile] = []  # in the order of reading; the last has the name, or had it last
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> FollowedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all files; positions stay."""
        for file in self._files:
            file.close()

    def read(self, look: ClockLook) -> None:
        """Accept all lines there are, the oldest file first."""
        self._notice_new_file()
        for file in list(self._files):
            if not file.read(look):
                self._begin_anew(file, look)
        for file in self._files[:-1]:
            if time.monotonic() - file.written > self._grace:
                self._finish(file, look)

    def finish(self, look: ClockLook) -> None:
        """Count every file but the one that has the name as finished; say if that one ends within a line."""
        for file in self._files[:-1]:
            self._finish(file, look)
        if self._files and self._files[-1].rest and not self._files[-1].take_last(look):
            self._feed.warn(
                f"{self._path}: the last line has no end and is not read yet; it may be half a line. If it is whole, "
                "end it with a newline and publish the file again"
            )

    # --- inside ----------------------------------------------------------------------------------

    def _open(self) -> None:
        """Find every file whose reading has begun under this name, and the one that has it now."""
        with self._feed.session.writer.database.read() as connection:
            known = read_positions(connection, self._stream, name=self._name)
        current = OpenFile(self._feed, self._path, self._name, self._kind) if self._path.is_file() else None
        if current is None and self._path.exists():
            raise Unreadable(
                f"{self._path}: not a file; read a pipe with `--events - < {self._path}`", file=str(self._path)
            )
        if current is None and not known:
            raise Unreadable(f"{self._path}: no such file", file=str(self._path))
        position: ReadPosition | None = None
        if current is not None:
            with self._feed.session.writer.database.read() as connection:
                of_inode = read_positions(connection, self._stream, file=current.inode)
            position = next((found for found in [*of_inode, *known] if current.fits(found)), None)
            current.close()
        self._find_old([found for found in known if found != position], rotated=position is None)
        if current is not None:
            self._files.append(OpenFile(self._feed, self._path, self._name, self._kind, position))
        self._keep_positions(forget=[*known, *([] if position is None else [position])])

    def _find_old(self, positions: Sequence[ReadPosition], *, rotated: bool) -> None:
        """Open predecessors by what was read of them; if the name has a new file, also those that had it between."""
        places = [(find_again(self._path, position), position) for position in positions]
        for place, position in places:
            if place is None:
                self._feed.warn(
                    f"{self._path}: the file that was read under this name up to byte {position.place:,} is gone or "
                    "was changed; whatever was written to it behind that is missing"
                )
        furthest = {
            place: position
            for place, position in sorted(places, key=lambda pair: pair[1].place)
            if place is not None and place != self._path
        }
        found = sorted(furthest.items(), key=lambda pair: pair[0].stat().st_mtime_ns)
        self._files += [OpenFile(self._feed, place, self._name, self._kind, position) for place, position in found]
        if found and rotated:
            self._find_between(found[-1][0])

    def _find_between(self, old: Path) -> None:
        """Open rotated files that had the name after `old`, and that nobody has read."""
        known = {file.inode for file in self._files}
        if self._path.is_file():
            present = self._path.stat()
            known.add(f"{present.st_dev}:{present.st_ino}")
        between = rotated_between(self._path, old, frozenset(known))
        self._files += [OpenFile(self._feed, file, self._name, self._kind) for file in between.files]
        if between.packed:
            self._feed.warn(
                f"{self._path}: {between.packed:,} rotated files are compressed and were never read; what they hold is "
                "missing"
            )

    def _notice_new_file(self) -> None:
        """If the name belongs to another file by now, read that one too."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return  # renamed, and the new one is not there yet
        if not self._files or f"{found.st_dev}:{found.st_ino}" in {file.inode for file in self._files}:
            return
        if (old := find_again(self._path, self._files[-1].position)) is not None:
            self._find_between(old)
        self._files.append(OpenFile(self._feed, self._path, self._name, self._kind))
        self._keep_positions()

    def _begin_anew(self, file: OpenFile, look: ClockLook) -> None:
        """A file was cut: finish what was copied of it before, if it can be found, then read it from its start."""
        old = file.position
        place = find_again(self._path, old) if old.place else None
        if place is not None and place != self._path:
            copied = OpenFile(self._feed, place, self._name, self._kind, old)
            copied.read(look)
            copied.close()
            forget = [old, copied.position]
        else:
            self._feed.warn(
                f"{self._path}: the file was cut or written anew after byte {old.place:,} was read; whatever stood "
                "behind that is missing, if anything did"
            )
            forget = [old]
        file.close()
        if file is not self._files[-1]:  # a predecessor has no name under which it could begin anew
            self._files.remove(file)
            self._keep_positions(forget)
            return
        self._files[-1] = OpenFile(self._feed, self._path, self._name, self._kind)
        self._keep_positions(forget)
        self._files[-1].read(look)

    def _finish(self, file: OpenFile, look: ClockLook) -> None:
        """A rotated file was read to its end: forget it."""
        if file.rest and not file.take_last(look):
            self._feed.keep(refuse_unfinished())
        self._keep_positions(forget=[file.position], without=file)
        self._files.remove(file)
        file.close()

    def _keep_positions(self, forget: Sequence[ReadPosition] = (), without: OpenFile | None = None) -> None:
        """Let the store know of all files at once, so that none is forgotten if this process dies."""
        with self._feed.session.writer.transaction() as connection:
            for position in forget:
                forget_position(connection, self._stream, position)
            for file in self._files:
                if file is not without:
                    keep_position(connection, self._stream, file.position)
