"""Locks a stream for one process; the lock dies with its process."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from pathlib import Path
from typing import Protocol

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.errors import StoreUnavailable, StreamBusy
from wevent.store.database import Database
from wevent.store.failures import guarded, make_private


class Lock(Protocol):
    """Held until `release`, or until the process or its connection ends."""

    def release(self) -> None:
        """Let others in."""
        ...


def lock_stream(database: Database, stream: int) -> Lock:
    """Lock a stream for this process.

    Guarantees:
        While it is held, any other call for the same stream of the same store raises `StreamBusy`.
        A process that was killed holds nothing.
    """
    return _FileLock(database, stream) if database.embedded else _ServerLock(database, stream)


def _busy() -> StreamBusy:
    return StreamBusy("another process publishes this stream; wait for it, or stop it. Nothing was changed")


def _closed() -> StoreUnavailable:
    return StoreUnavailable(
        "the file that locks the stream cannot be opened beside the store; this user must be able to write there",
        kind="permission",
    )


class _FileLock:
    """An exclusive transaction on an empty SQLite file beside the store: every system has such locks."""

    def __init__(self, database: Database, stream: int) -> None:
        real = Path(os.path.realpath(database.path))  # whatever names lead to the store, there is one lock
        path = real.with_name(f"{real.name}.{stream}.lock")
        try:
            make_private(path)
            self._connection = sqlite3.connect(path, timeout=0, isolation_level=None)
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise _busy() from None
            raise _closed() from None
        except OSError:
            raise _closed() from None

    def release(self) -> None:
        self._connection.close()


class _ServerLock:
    """An advisory lock of a connection of its own."""

    def __init__(self, database: Database, stream: int) -> None:
        words = f"wevent {database.identity()} {stream}".encode()
        key = int.from_bytes(hashlib.sha256(words).digest()[:8], "big", signed=True)
        with guarded(database.url):
            self._connection: Connection = database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            held = self._connection.execute(sa.text("SELECT pg_try_advisory_lock(:key)"), {"key": key}).scalar()
        if not held:
            self._connection.close()
            raise _busy()

    def release(self) -> None:
        self._connection.invalidate()  # closes it for good: a lock must not go back into the pool
        self._connection.close()
