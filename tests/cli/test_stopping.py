"""A request to stop ends a command where nothing is half-done, once, and without a trace."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

import pytest

from wevent.cli.stopping import Stopping
from wevent.errors import CorruptState, Unreadable


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Put back what a stopped program would leave ignored."""
    kinds = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = [(kind, signal.getsignal(kind)) for kind in kinds]
    yield
    for kind, handler in before:
        signal.signal(kind, handler)


def ask(kind: int = signal.SIGTERM) -> None:
    os.kill(os.getpid(), kind)


@pytest.mark.parametrize(("kind", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_at_once_or_after_the_slot(kind: int, code: int) -> None:
    """After a slot, or at once where that is safe, nowhere else; a second signal changes nothing."""
    usual = signal.getsignal(kind)
    did: list[str] = []

    def work() -> None:
        with stopping.uninterrupted():
            ask(kind)
            ask(kind)
            did.append("slot")
        did.append("more")

    with Stopping() as stopping:
        stopping.run(work)
        ask(kind)
        did.append("last words")
        assert stopping.exit_code == code
    ask(kind)  # while Python ends
    assert did == ["slot", "last words"]

    def read() -> None:
        ask(kind)
        did.append("import")  # where an exception out of nowhere would break what is half done
        with stopping.interruptible():
            did.append("never")

    def wait() -> None:
        with stopping.interruptible():
            ask(kind)
            did.append("never")

    for what in (read, wait):
        signal.signal(kind, usual)
        with Stopping() as stopping:
            stopping.run(what)
            assert stopping.exit_code == code
    assert did == ["slot", "last words", "import"]
    with Stopping() as stopping:
        stopping.run(lambda: did.append("work"))
        assert stopping.exit_code is None
    assert did[-1] == "work"


def test_errors_of_the_work_come_through() -> None:
    """An error without a signal is an error; one by which a library reports the signal is not."""
    with Stopping() as stopping, pytest.raises(ZeroDivisionError):
        stopping.run(lambda: print(1 // 0))

    def interrupted() -> None:
        with stopping.interruptible():
            try:
                ask()
            except BaseException:
                raise RuntimeError("Query interrupted") from None

    with Stopping() as stopping:
        stopping.run(interrupted)
        assert stopping.exit_code == 0


def test_a_swallowed_request_is_heard_later(capsys: pytest.CaptureFixture[str]) -> None:
    """In a callback whose errors Python ignores, the request leaves no trace and is heard after the next slot."""

    class Callback:
        def __del__(self) -> None:
            ask()

    did: list[str] = []

    def work() -> None:
        held = [Callback()]
        with stopping.interruptible():
            held.clear()
        did.append("goes on")
        with stopping.uninterrupted():
            did.append("slot")
        did.append("never")

    before = sys.unraisablehook
    with Stopping() as stopping:
        stopping.run(work)
        assert stopping.exit_code == 0
    assert sys.unraisablehook is before
    assert did == ["goes on", "slot"]
    assert capsys.readouterr().err == ""


def test_nohup_keeps_its_meaning() -> None:
    """A program that ignores the end of its terminal goes on."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Stopping() as stopping:
        stopping.run(lambda: ask(signal.SIGHUP))
        assert stopping.exit_code is None


def test_what_is_broken_is_said_though_somebody_stopped_it() -> None:
    """A damaged store that shows after a signal ends the command with that error; an interrupted library does not."""

    def work(error: Exception) -> None:
        with stopping.interruptible():
            try:
                ask()
            finally:
                raise error

    with Stopping() as stopping:
        stopping.run(lambda: work(Unreadable("interrupted")))
        assert stopping.exit_code == 0
    for kind in (signal.SIGTERM, signal.SIGINT):
        signal.signal(kind, signal.SIG_DFL)
    with Stopping() as stopping, pytest.raises(CorruptState):
        stopping.run(lambda: work(CorruptState("damaged")))
