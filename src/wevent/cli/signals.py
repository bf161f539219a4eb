"""Ends a command in order on SIGTERM and Ctrl-C: at once while it reads or waits, after the slot while one is released.

A slot that is charged and not released is lost, and every row has paid for it. So between charge and release a signal
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
    """A signal stops the command."""


class SignalGuard:
    """Catches the signals that stop a program.

    Guarantees:
        Nothing is interrupted inside `uninterrupted`; what is interrupted elsewhere is interrupted once, so that
        a second signal does not disturb the cleaning up.
        `run` lets no trace of a signal through but its return value.
    """

    def __init__(self) -> None:
        self._signal: signal.Signals | None = None
        self._depth = 0
        self._raised = False
        self._before: list[tuple[signal.Signals, object]] = []
        self._report = sys.unraisablehook

    def __enter__(self) -> SignalGuard:
        if threading.current_thread() is threading.main_thread():  # Python catches signals in no other thread
            wanted = [kind for kind in _EXIT if kind != signal.SIGHUP or signal.getsignal(kind) != signal.SIG_IGN]
            self._before = [(kind, signal.signal(kind, self._receive)) for kind in wanted]  # nohup keeps its meaning
        self._report, sys.unraisablehook = sys.unraisablehook, self._unraisable
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.unraisablehook = self._report
        for number, handler in self._before:  # while a stopped program ends, a further signal must not kill it
            signal.signal(number, signal.SIG_IGN if self._signal is not None else handler)  # type: ignore[arg-type]

    @property
    def exit_code(self) -> int | None:
        """What to end with after a signal; None without one."""
        return None if self._signal is None else _EXIT[self._signal]

    def run(self, work: Callable[[], None]) -> None:
        """Work until the end, or until a signal stops it."""
        try:
            work()
        except Stopped:
            return
        except Exception as error:
            if not self._raised or not _reports_a_stop(error):
                raise
        finally:
            self.only_note()

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Let signals wait until the end of a block."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
        if self._signal is not None and not self._depth:
            self._raise()

    def only_note(self) -> None:
        """From now on let signals leave a note and nothing more: the command is at its last words."""
        self._depth += 1

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._signal is None:
            self._signal = signal.Signals(number)
        if not self._depth and not self._raised:
            self._raise()

    def _unraisable(self, what: sys.UnraisableHookArgs) -> None:
        """Be silent if a library swallowed the stop, as in a callback: it takes effect after the next slot."""
        if not isinstance(what.exc_value, Stopped):
            self._report(what)

    def _raise(self) -> None:
        self._raised = True
        raise Stopped


def _reports_a_stop(error: BaseException) -> bool:
    """Whether an error only says that a library was interrupted: DuckDB does so in its own words."""
    if isinstance(error, WeventError):  # a damaged store must be reported
        return isinstance(error, Unreadable)
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, Stopped):
        cause = cause.__context__
    return cause is not None
