"""Opens the store, the witness and the session of a configuration, for the command line and for `wevent.Store`."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from wevent.config.model import Config
from wevent.config.read import witness_path
from wevent.errors import InvalidSetting
from wevent.settings import MANY_SLOTS
from wevent.store.build import opening_terms
from wevent.store.database import Database, open_database, to_url
from wevent.store.reconciling import check_new_stream
from wevent.store.session import Session
from wevent.store.witness import Witness, place_of, witness_name
from wevent.store.writer import Clock, plan_opening


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a program agrees to where a command would ask the operator.

    Attributes:
        restored: the last slot that may have been shown; None without a statement.
        requirements_lost: to go on without requirement changes that are missing.
        allow_many: to release or give up very many slots at once.
    """

    restored: int | None
    requirements_lost: bool
    allow_many: bool


def open_store(config: Config, *, create: bool = False, read_only: bool = False, shown: int | None = None) -> Database:
    """The store of a configuration; a caller that only reads opens it for reading.

    Guarantees:
        Where a witness knows of slots that were shown, no new file takes the place of a missing one, unless the
        operator says what was shown.
    """
    url = to_url(config.store.url)
    if create and url.get_backend_name() == "sqlite" and _is_missing(Path(url.database or "")):
        check_new_stream(config.stream.name, witness_of(config).read(), shown)
    return open_database(config.store.url, create=create, read_only=read_only)


def witness_of(config: Config) -> Witness:
    """The witness of a configuration's stream: named by stream and place of the store, unless the file says where."""
    return Witness(witness_path(config, witness_name(config.stream.name, place_of(to_url(config.store.url)))))


def system_clock() -> int:
    """Microseconds since 1970, UTC."""
    return time.time_ns() // 1_000


def open_session(
    config: Config,
    database: Database,
    shown: int | None = None,
    *,
    requirements_lost: bool = False,
    clock: Clock = system_clock,
) -> Session:
    """The stream of a configuration, for this process alone."""
    return Session(database, config, witness_of(config), clock, shown=shown, requirements_lost=requirements_lost)


def open_agreed(config: Config, database: Database, agreed: Agreement, clock: Clock) -> Session:
    """The stream of a configuration for this process alone; warns of slots that are given up.

    Guarantees:
        Very many slots are given up on a statement only if that was agreed to; otherwise `InvalidSetting` is raised and
        nothing is changed.
    """
    terms = opening_terms(config, clock(), agreed.restored)
    opening = plan_opening(database, config.stream.name, witness_of(config), terms)
    if opening.given_up:
        if agreed.restored is not None and opening.given_up > MANY_SLOTS and not agreed.allow_many:
            raise InvalidSetting(f"{opening}. If that is meant, say `allow_many=True`. Nothing was changed")
        warnings.warn(str(opening), stacklevel=5)
    lost = agreed.requirements_lost
    return open_session(config, database, agreed.restored, requirements_lost=lost, clock=clock)


def _is_missing(path: Path) -> bool:
    return not path.exists() or path.stat().st_size == 0
