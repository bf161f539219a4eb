"""Stores the requirements of a file or of one person, and says in words what became of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from wevent.cohorts.requirement_change import RequirementChange
from wevent.config.model import Config
from wevent.config.requirement_files import read_requirement_file
from wevent.errors import Unreadable
from wevent.store.changes import store_changes
from wevent.store.database import Database
from wevent.store.opening import system_clock, witness_of
from wevent.store.planning import ChangeCounts, ChangePolicy
from wevent.store.requirements import IMPORT
from wevent.store.streams import open_stream


def import_file(
    config: Config,
    database: Database,
    path: Path,
    *,
    returning: bool = False,
    overwrite: bool = False,
    sync: bool = False,
    preview: bool = False,
) -> ChangeCounts:
    """Store the requirement changes of a file; people who left stay away, and who set their own keep it."""
    changes = list(read_requirement_file(path, config))
    if sync and not changes:
        raise Unreadable(f"{path}: an empty file would let everybody leave; nothing was stored", file=str(path))
    policy = ChangePolicy(IMPORT, returning=returning, overwrite=overwrite)
    return store_requirements(config, database, changes, policy, sync=sync, preview=preview)


def describe(stored: ChangeCounts) -> str:
    """What became of changes, in words."""
    parts = [
        f"{number:,} {word}"
        for word in ("joined", "changed", "left", "returned", "unchanged")
        if (number := getattr(stored, word)) or word == "joined"
    ]
    words = ", ".join(parts)
    if stored.total:
        words += f"; changes hold from slot {stored.from_slot} on"
    if stored.away:
        words += f"; {stored.away:,} left before and stay away, --return brings them back"
    if stored.own:
        have = "person has" if stored.own == 1 else "people have"
        stay = "they stay as they are unless --overwrite"
        words += f"; {stored.own:,} {have} set their own requirement since; {stay}"
    if stored.unknown:
        words += f"; {stored.unknown:,} were to leave and were never listed"
    return words


def store_requirements(
    config: Config, database: Database, changes: Iterable[RequirementChange], policy: ChangePolicy, **more: bool
) -> ChangeCounts:
    """Store requirement changes in the stream of a configuration, which begins if there is none."""
    stream = open_stream(database, config.stream.name, config.fixed(), system_clock, witness_of(config))
    return store_changes(database, config, stream, changes, system_clock, policy, **more)
