"""The fixture `without_numba`, for tests of very many calls with few rows."""

from __future__ import annotations

import pytest


@pytest.fixture
def without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for numba takes longer than a call, and numba changes nothing for so few rows."""
    monkeypatch.setattr("wevent.decisions.selection.has_numba", lambda: False, raising=False)
