"""Checks that a file is what its name says, and that it has the columns that the settings name.

A file that is wrong as a whole raises `Unreadable` with a sentence that says what to do. The message shows names of
columns, but never a first line that may be an event instead of a header.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from wevent.errors import Unreadable
from wevent.events.names import show_name
from wevent.events.refusals import Refusal, RefusedEvent

HEAD = 1 << 16
"""How many bytes of a file are inspected."""

_MAGIC = {
    b"\x1f\x8b": "compressed with gzip: unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed with Zstandard: unpack it first",
    b"BZh": "compressed with bzip2: unpack it first",
    b"\xfd7zXZ\x00": "compressed with xz: unpack it first",
    b"PK\x03\x04": "a ZIP archive or an Excel file: unpack it, or save it as CSV",
    b"PAR1": "a Parquet file: its name must end with .parquet",
    b"SQLite format 3\x00": "an SQLite database",
    b"\xff\xfe": "in UTF-16 or UTF-32: convert it to UTF-8",
    b"\xfe\xff": "in UTF-16: convert it to UTF-8",
    b"\x00\x00\xfe\xff": "in UTF-32: convert it to UTF-8",
}
_MOST_SHOWN = 20


def other_format(head: bytes) -> str | None:
    """What a file is, and what to do, if its first bytes are not those of text in UTF-8; None if they may be."""
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            return what
    return "in UTF-16, or no text at all: convert it to UTF-8" if len(head) > 4 and b"\0" in head[:4] else None


def check_header(header: bytes | None, settings: Mapping[str, str], delimiter: str, file: str) -> list[str]:
    """The names of the columns of a CSV file; each that `settings` name must be there once."""
    if header is None:
        raise Unreadable(f"{file}, line 1: the header is too long to be one", file=file, line=1)
    if (what := other_format(header)) is not None:
        raise Unreadable(f"{file} is {what}. Nothing of it was counted.", file=file)
    try:
        names = split_fields(header.removeprefix(b"\xef\xbb\xbf"), delimiter)
    except RefusedEvent:
        raise Unreadable(
            f"{file}, line 1: the header is not a line of CSV in UTF-8; is this a text file?", file=file, line=1
        ) from None
    if "\r" in header.decode("utf-8"):
        raise Unreadable(
            f"{file}: its lines end with a carriage return alone; write it with newlines", file=file, line=1
        )
    check_columns(names, settings, f"{file}, line 1", file, certain=False)
    return names


def check_columns(
    names: Sequence[str], settings: Mapping[str, str], place: str, file: str, *, certain: bool = True
) -> None:
    """Refuse a file that lacks a column, or has it twice; say which were found and which setting names it.

    Args:
        names: of the columns of the file.
        settings: the column that each setting names.
        place: of the header, for the message.
        file: its name.
        certain: whether `names` are those of columns, and not perhaps an event in a file without a header.
    """
    wrong = {key: name for key, name in settings.items() if names.count(name) != 1}
    if not wrong:
        return
    # Every event has a time, and so a digit; the message must show nothing of it.
    maybe_event = any(not name or any(letter.isdigit() for letter in name) for name in names)
    header = certain or len(wrong) < len(settings) or not maybe_event
    problems = []
    for key, name in wrong.items():
        many = "twice a" if name in names else "no"
        problems.append(f"{many} column '{show_name(name)}' (setting {key}{_meant(name, names) if header else ''})")
    found = ", ".join(show_name(name[:40]) for name in names[:_MOST_SHOWN]) + (", …" if names[_MOST_SHOWN:] else "")
    shown = f"found: {found or 'nothing'}" if header else f"is there a header? The first line has {len(names)} fields"
    raise Unreadable(f"{place}: there is {'; '.join(problems)}; {shown}", file=file, line=1)


def split_fields(line: bytes, delimiter: str) -> list[str]:
    """The fields of a line of CSV; any other line raises `RefusedEvent`."""
    try:
        text = line.decode("utf-8")
        if "\0" in text:
            raise RefusedEvent(Refusal.MALFORMED)
        if '"' not in text:
            return text.split(delimiter)
        return next(csv.reader([text], delimiter=delimiter, strict=True))
    except (UnicodeDecodeError, csv.Error, StopIteration):
        raise RefusedEvent(Refusal.MALFORMED) from None


def _meant(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(name, names, 1) or [other for other in names if other.lower() == name.lower()]
    return f"; did you mean '{show_name(close[0])}'?" if close and close[0] != name else ""
