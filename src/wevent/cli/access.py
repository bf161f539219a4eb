"""Opens what several commands need, and loads `store.opening`, which is heavy, only when a command does."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wevent.config.model import Config
    from wevent.store.database import Database
    from wevent.store.session import Session
    from wevent.store.witness import Witness


def open_store(config: Config, *, create: bool = False, read_only: bool = False, shown: int | None = None) -> Database:
    """The store of a configuration; commands that only read open it for reading."""
    from wevent.store import opening

    return opening.open_store(config, create=create, read_only=read_only, shown=shown)


def witness_of(config: Config) -> Witness:
    """The witness of a configuration's stream."""
    from wevent.store import opening

    return opening.witness_of(config)


def open_session(
    config: Config, database: Database, shown: int | None = None, *, requirements_lost: bool = False
) -> Session:
    """The stream of a configuration, for this process alone."""
    from wevent.store import opening

    return opening.open_session(config, database, shown, requirements_lost=requirements_lost, clock=now)


def now() -> int:
    """Microseconds since 1970, UTC."""
    return time.time_ns() // 1_000
