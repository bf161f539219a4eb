"""Fixtures of the store: a disk that nobody waits for, and a PostgreSQL server for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest
from tests.store.postgres import fresh_database, server
from tests.store.scene import Town

from wevent.store import witness


@pytest.fixture(autouse=True)
def _quick_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename that the system writes when it likes."""
    monkeypatch.setattr(witness, "_sync_folder", lambda folder: None)


@pytest.fixture(scope="module")
def postgres_address() -> Iterator[str]:
    """A server in a folder of its own: pytest clears its older folders while a server of another run may be at work."""
    folder = Path(mkdtemp(prefix="wevent-postgres-"))
    try:
        with server(folder) as found:
            yield found
    finally:
        rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_town(postgres_address: str, tmp_path: Path) -> Iterator[Town]:
    made = Town(fresh_database(postgres_address), tmp_path / "witness.json")
    made.people(12)
    yield made
    made.database.close()
