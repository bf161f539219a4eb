"""Exceptions: each has the documented parent, and its facts are fields."""

from __future__ import annotations

import inspect
import re

import pytest

from wevent import errors
from wevent.errors import BudgetError, InvalidInput, NotExact, WeventError

ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, WeventError)]


@pytest.mark.parametrize("kind", ALL)
def test_everything_is_one_family(kind: type[WeventError]) -> None:
    """One `except WeventError` catches all; message and fields are kept."""
    raised = kind("what happened", slot=3)
    assert str(raised) == "what happened"
    assert raised.fields == {"slot": 3}
    assert kind.__doc__


def test_the_family_tree() -> None:
    """Each kind has the parent that the module's picture shows, and the picture names every kind."""
    shown, path = {}, list[str]()
    for depth, name in re.findall(r"^    ([│├└─ ]*)(\w+Error|[A-Z]\w+)(?= |$)", errors.__doc__ or "", re.MULTILINE):
        path[len(depth) // 4 :] = [name]
        shown[name] = path[-2] if len(path) > 1 else "Exception"
    assert shown == {kind.__name__: kind.__bases__[0].__name__ for kind in ALL}


def test_builtin_kinds() -> None:
    """Wrong input is a `ValueError`, an inexact number a `TypeError`; a budget that is too small is neither."""
    assert issubclass(InvalidInput, ValueError)
    assert issubclass(errors.CorruptState, ValueError)
    assert issubclass(NotExact, TypeError)
    assert not issubclass(BudgetError, ValueError)
