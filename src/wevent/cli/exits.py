"""Turns whatever ends a command into an exit code and one sentence on the error stream.

1 means that a promise was broken and nothing else. No sentence holds a value that an unexpected error carries: it may
be what a person did.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from wevent.cli.output import say
from wevent.errors import CorruptState, RowMismatch, StoreError, WeventError

FINE, BROKEN, WRONG, STORE, UNEXPECTED, STOPPED = 0, 1, 2, 3, 70, 130
"""Exit codes: all is well; a promise was broken; a command, file or output makes no sense; the store cannot do what it
should; an error of this program; stopped."""

DEBUG = "WEVENT_DEBUG"
"""With this variable set to 1, an unexpected error shows where it arose, without values."""


def run(command: Callable[[], int]) -> int:
    """Run a command to its end.

    Guarantees:
        No exception leaves, and no traceback is shown unless `WEVENT_DEBUG` is 1; then it holds no values.
        Output that cannot be written ends with exit code 2; a reader who has seen enough, with 0.
    """
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    if sys.stdout is None:
        say("standard output is closed; send it somewhere, for example to /dev/null. Nothing was done.")
        return WRONG
    try:
        code = command()
        sys.stdout.flush()
    except RowMismatch as error:
        return _end(UNEXPECTED, str(error))
    except WeventError as error:
        return _end(STORE if isinstance(error, StoreError | CorruptState) else WRONG, str(error))
    except ModuleNotFoundError as error:
        return _end(WRONG, f"this command needs {error.name}, which is not installed; install 'wevent[all]'")
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:  # the reader has seen enough, as in `wevent simulate | head`
        _drop_output()
        return FINE
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise  # of Typer, after it answered a shell that completes
        return FINE  # of Rich, which would end with 1
    except OSError as error:
        return _end(WRONG, _of_the_system(error))
    except UnicodeEncodeError:
        return _end(WRONG, "standard output cannot show all names in its encoding; set PYTHONUTF8=1, or use --output")
    except UnicodeDecodeError:
        return _end(WRONG, "a file that this command reads is not text in UTF-8; convert it first")
    except MemoryError:
        return _end(WRONG, "this needs more memory than there is; take fewer slots, cells or people at once")
    except Exception as error:
        return _unexpected(error)
    return code


def _end(code: int, words: str) -> int:
    _drop_output()
    say(words)
    return code


def _of_the_system(error: OSError) -> str:
    reason = error.strerror or type(error).__name__
    if error.filename is not None:
        return f"{error.filename}: {reason}"
    return f"a file, or standard output, cannot be read or written: {reason}"


def _unexpected(error: Exception) -> int:
    frames = ""
    if os.environ.get(DEBUG) == "1":
        frames = "\n" + "".join(traceback.format_list(traceback.extract_tb(error.__traceback__))).rstrip()
    hint = "" if frames else f" Run it again with {DEBUG}=1 to see where it arose, and report that."
    return _end(
        UNEXPECTED,
        f"an error of this program ({type(error).__name__}); its words are not shown, since they may be private.{hint}"
        f"{frames}",
    )


def _drop_output() -> None:
    """Write what can still be written; what cannot would fail again, with another exit code, when Python ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        except (OSError, ValueError):  # no real file, as under a test
            return
