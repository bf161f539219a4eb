"""Ends a command in order on SIGTERM and Ctrl-C: at once while it reads files or waits, after the slot otherwise.

A slot that is charged and not released is lost, and everybody has paid for it. So between charge and release a signal
only leaves a note. Exit codes: 0 after SIGTERM, which is how services are stopped; 130 after Ctrl-C; 129 after SIGHUP,
when a terminal is closed.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

from wevent.errors import Unreadable, WeventError

_EXIT = {signal.SIGTERM: 0, signal.SIGINT: 130, signal.SIGHUP: 129}


class Stopped(BaseException):
    """Somebody asked the program to end."""


class Stopping:
    """Catches the signals that ask a program to end.

    Guarantees:
        A signal takes effect at a safe point, the end of `uninterrupted`, or inside `interruptible`, and nowhere else:
        raised in the middle of an import or of a library's callback, it could break what is half done.
        It takes effect once, so that a second signal does not disturb the cleaning up.
        `run` lets no trace of a signal through but its return value.
    """

    def __init__(self) -> None:
        self._asked: signal.Signals | None = None
        self._interruptible = False
        self._raised = self._last_words = False
        self._before: list[tuple[signal.Signals, object]] = []
        self._report = sys.unraisablehook

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():  # elsewhere Python lets nobody catch signals
            wanted = [kind for kind in _EXIT if kind != signal.SIGHUP or signal.getsignal(kind) != signal.SIG_IGN]
            self._before = [(kind, signal.signal(kind, self._hear)) for kind in wanted]  # nohup keeps its meaning
        self._report, sys.unraisablehook = sys.unraisablehook, self._unraisable
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.unraisablehook = self._report
        for number, handler in self._before:  # while a stopped program ends, a further signal must not kill it
            signal.signal(number, signal.SIG_IGN if self._asked is not None else handler)  # type: ignore[arg-type]

    @property
    def exit_code(self) -> int | None:
        """What to end with if somebody asked for it; None if nobody did."""
        return None if self._asked is None else _EXIT[self._asked]

    def run(self, work: Callable[[], None]) -> None:
        """Work until the end, or until somebody asks to stop."""
        try:
            work()
        except Stopped:
            return
        finally:
            self.only_note()

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Let signals wait until the end of a block, which is a safe point."""
        before, self._interruptible = self._interruptible, False
        try:
            yield
        finally:
            self._interruptible = before
        self._stop_if_asked()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let signals take effect at once, while a file is read or a question waits for its answer."""
        self._stop_if_asked()
        before, self._interruptible = self._interruptible, True
        try:
            yield
        except Exception as error:  # a library may report the interruption in words of its own; a damaged store is told
            if self._raised and (isinstance(error, Unreadable) or not isinstance(error, WeventError)):
                raise Stopped from None
            raise
        finally:
            self._interruptible = before

    def only_note(self) -> None:
        """From now on let signals leave a note and nothing more: the command is at its last words."""
        self._last_words = True

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._asked is None:
            self._asked = signal.Signals(number)
        if self._interruptible and not self._raised:  # a second one would disturb the cleaning up
            self._stop_if_asked()

    def _stop_if_asked(self) -> None:
        """Stop at a safe point, also if a library swallowed the first try."""
        if self._asked is not None and not self._last_words:
            self._raised = True
            raise Stopped

    def _unraisable(self, what: sys.UnraisableHookArgs) -> None:
        """Be silent if a library swallowed the request to stop, as in a callback: the next safe point comes."""
        if not isinstance(what.exc_value, Stopped):
            self._report(what)
