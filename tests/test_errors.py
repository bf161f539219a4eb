"""Exceptions: each has the documented parent, and its facts are fields."""

from __future__ import annotations

import inspect

import pytest

from wevent import errors
from wevent.errors import BudgetError, InvalidInput, InvalidRequirement, NotExact, WeventError

ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, WeventError)]
TREE = {
    "InvalidInput": "WeventError",
    "InvalidRequirement": "InvalidInput",
    "WrongRequirementKind": "InvalidRequirement",
    "InvalidSetting": "InvalidInput",
    "EmptyRegister": "InvalidInput",
    "AlreadyRegistered": "InvalidInput",
    "UnknownUser": "InvalidInput",
    "SharedPeople": "InvalidInput",
    "UnknownCell": "InvalidInput",
    "TooManyCells": "InvalidInput",
    "WrongShape": "InvalidInput",
    "UnknownName": "InvalidInput",
    "MissingData": "InvalidInput",
    "SlotOutOfOrder": "InvalidInput",
    "NoAcceptableEvents": "InvalidInput",
    "Unreadable": "InvalidInput",
    "BudgetError": "WeventError",
    "BudgetExceeded": "BudgetError",
    "Infeasible": "BudgetError",
    "NotCharged": "WeventError",
    "NotExact": "WeventError",
    "SeededNoiseRefused": "WeventError",
    "CopyRefused": "WeventError",
    "CorruptState": "WeventError",
    "RowMismatch": "WeventError",
    "StoreError": "WeventError",
    "StoreUnavailable": "StoreError",
    "StoreFull": "StoreError",
    "StoreVersion": "StoreError",
    "StreamUnknown": "StoreError",
    "StreamBusy": "StoreError",
    "StreamTaken": "StoreError",
    "SettingsChanged": "StoreError",
    "WitnessMissing": "StoreError",
    "StoreReplaced": "StoreError",
    "RequirementsMissing": "StoreError",
}


@pytest.mark.parametrize("kind", ALL)
def test_everything_is_one_family(kind: type[WeventError]) -> None:
    """One `except WeventError` catches all; message and fields are kept."""
    raised = kind("what happened", slot=3)
    assert str(raised) == "what happened"
    assert raised.fields == {"slot": 3}
    assert kind.__doc__


def test_the_family_tree() -> None:
    """Each kind has the parent that the module's picture shows."""
    parents = {kind.__name__: kind.__bases__[0].__name__ for kind in ALL if kind is not WeventError}
    assert parents == TREE


def test_builtin_kinds() -> None:
    """Wrong input is a `ValueError`, an inexact number a `TypeError`; a budget that is too small is neither."""
    assert issubclass(InvalidInput, ValueError)
    assert issubclass(errors.CorruptState, ValueError)
    assert issubclass(NotExact, TypeError)
    assert not issubclass(BudgetError, ValueError)


def test_the_picture_names_every_kind() -> None:
    """The docstring's picture is complete."""
    assert errors.__doc__ is not None
    assert all(kind.__name__ in errors.__doc__ for kind in ALL)
    assert issubclass(InvalidRequirement, InvalidInput)
