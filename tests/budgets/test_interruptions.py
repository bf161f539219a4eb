"""A change that is interrupted half-way, at whichever call, is never built upon: nobody gets fresh budget by Ctrl-C."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from wevent import Fixed, Publisher, Register, Slot, pbd
from wevent.errors import CorruptState, WeventError
from wevent.noise import SeededNoise

STRICT, LENIENT = Fixed(1, 2), Fixed(50, 1)


def publisher() -> Publisher:
    """Three people with rows of their own that can merge, and one who has left."""
    made = pbd(Register.from_rows(dict.fromkeys("abcd", STRICT)), cells=2, noise=SeededNoise(1))
    for slot in range(1, 4):
        made.step(Slot(slot, {}))
        if slot == 1:
            made.leave("d")
        for user in "ab":
            made.change(user, LENIENT if slot % 2 else STRICT)
    return made


def interrupt(call: int) -> Any:
    """A tracer that raises KeyboardInterrupt at the `call`-th function of the package that is entered."""
    left = call

    def trace(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        inside = "/wevent/budgets/" in frame.f_code.co_filename and not frame.f_code.co_name.startswith("<")
        if event == "call" and inside:
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt

    return trace


CHANGES: dict[str, Any] = {
    "merge": lambda made: made.step(Slot(4, {})),
    "leave": lambda made: made.leave("a"),
    "return": lambda made: made.join("d", LENIENT),
    "change": lambda made: made.change("c", LENIENT),
}


def account(made: Publisher) -> list[tuple[Any, ...]]:
    """Who has spent and may spend what, in the order of names."""
    return [(user, made.spent(user), made.remaining(user)) for user in "abcd" if user in made.members.register]


@pytest.mark.parametrize("name", CHANGES)
def test_an_interrupted_change_is_undone_or_refused(name: str) -> None:
    """After Ctrl-C at any call of a change, a second try has the effect of the first, or it is refused."""
    whole = publisher()
    CHANGES[name](whole)
    refused = done = 0
    for call in range(10_000):
        made = publisher()
        sys.settrace(interrupt(call))
        try:
            CHANGES[name](made)
        except KeyboardInterrupt:
            pass
        else:
            break  # the change is over before so many calls
        finally:
            sys.settrace(None)
        try:
            if made.ledger.slot == 4 and not (name == "leave" and "a" not in made.members.register):
                CHANGES[name](made)
            made.to_bytes()
        except CorruptState as error:
            assert "interrupted half-way" in str(error)
            refused += 1
        except WeventError:
            assert made.ledger.slot == 4  # said again, it is known already
            done += 1
        else:
            assert account(made) == account(whole) or name == "merge"
            done += 1
    assert refused > 0 and done > 0
