"""Opens what several commands need: the configuration, its store, its witness, a session and the clock."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wevent.config.model import Config
    from wevent.store.database import Database
    from wevent.store.session import Session
    from wevent.store.witness import Witness


def open_store(config: Config, *, create: bool = False, read_only: bool = False, shown: int | None = None) -> Database:
    """The store of a configuration; commands that only look at it open it for reading.

    Guarantees:
        Where a witness knows of slots that were shown, no new file takes the place of one that is gone, unless the
        operator says what was shown.
    """
    from wevent.store.database import open_database, to_url
    from wevent.store.reconciling import check_new_stream

    url = to_url(config.store.url)
    if create and url.get_backend_name() == "sqlite" and _nothing_at(Path(url.database or "")):
        check_new_stream(config.stream.name, witness_of(config).read(), shown)
    return open_database(config.store.url, create=create, read_only=read_only)


def witness_of(config: Config) -> Witness:
    """The witness of a configuration's stream: named by stream and place of the store, unless the file says where."""
    from wevent.config.read import witness_path
    from wevent.store.database import to_url
    from wevent.store.witness import Witness, place_of, witness_name

    return Witness(witness_path(config, witness_name(config.stream.name, place_of(to_url(config.store.url)))))


def open_session(
    config: Config, database: Database, shown: int | None = None, *, requirements_lost: bool = False
) -> Session:
    """The stream of a configuration, for this process alone."""
    from wevent.store.session import Session

    return Session(database, config, witness_of(config), now, shown=shown, requirements_lost=requirements_lost)


def _nothing_at(path: Path) -> bool:
    return not path.exists() or path.stat().st_size == 0


def now() -> int:
    """Microseconds since 1970, UTC."""
    return time.time_ns() // 1_000
