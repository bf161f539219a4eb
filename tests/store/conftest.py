"""Tests of the store write to the disk without waiting for it, but for those that need it."""

from __future__ import annotations

import pytest

from wevent.store import witness


@pytest.fixture(autouse=True)
def _quick_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename that the system writes when it likes."""
    monkeypatch.setattr(witness, "_sync_folder", lambda folder: None)
