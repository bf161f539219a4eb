"""Writes sentences and questions to the error stream and JSON to standard output; names the file of a failed write."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wevent.events.names import show_name


def print_json(document: object) -> None:
    """One JSON document on standard output; it escapes everything that could steer a terminal."""
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def say(words: str) -> None:
    """A sentence on the error stream; what could steer a terminal is shown as an escape."""
    shown = "\n".join(show_name(line) for line in words.split("\n"))
    sys.stderr.write(f"wevent: {shown}\n")
    sys.stderr.flush()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error of the system inside name the file that is written, such as one on a full disk, which names none."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror or "", str(path)) from None


def ask(question: str) -> str:
    """The answer from the terminal; nothing where the command does not run in one."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return ""
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def agrees(question: str) -> bool:
    """Whether the operator says yes in a terminal; without one, no."""
    return ask(f"{question} [y/N] ").lower() in ("y", "yes")
