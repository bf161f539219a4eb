"""What several commands begin with: words from the shell come in, a configuration, a store or a clock goes out."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wevent.config.model import Config
    from wevent.store.database import Database
    from wevent.store.session import Session

CONFIG = Path("wevent.toml")


def add_config(parser: argparse.ArgumentParser) -> None:
    """The option that says where the configuration is."""
    parser.add_argument("--config", type=Path, default=CONFIG, metavar="FILE", help=f"default: {CONFIG}")


def read(given: argparse.Namespace) -> Config:
    """The configuration that the command names."""
    from wevent.config.read import read_config

    config: Config = read_config(given.config)
    return config


def open_store(config: Config, *, create: bool = False) -> Database:
    """The store of a configuration."""
    from wevent.store.database import open_database

    return open_database(config.store.url, create=create)


def open_session(config: Config, database: Database, shown: int | None = None) -> Session:
    """The stream of a configuration, for this process alone."""
    from wevent.config.read import witness_path
    from wevent.store.session import Session
    from wevent.store.witness import Witness

    witness = Witness(witness_path(config, database.identity()))
    return Session(database, config, witness, now, shown=shown)


def now() -> int:
    """Microseconds since 1970, UTC."""
    return time.time_ns() // 1_000


def instant(text: str) -> int:
    """A point in time from the command line."""
    from wevent.events.timeline import to_instant

    try:
        return to_instant(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a time in ISO 8601, such as 2024-05-01T12:00Z, got {text!r}"
        ) from None
