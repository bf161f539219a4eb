"""Opens and publishes one stream of a store from Python, and reads it: `wevent.Store`.

It adds no rules of its own: requirement changes, events and slots go the way of the command line, with the same lock
and the same witness. Where a command would ask the operator, a method raises an error that names the argument by which
the caller agrees.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from wevent.cohorts.requirement import Requirement
from wevent.cohorts.requirement_change import RequirementChange
from wevent.config.model import Config
from wevent.config.read import read_config, to_config
from wevent.errors import EmptyRegister, InvalidSetting, RequirementsMissing, UnknownUser
from wevent.events.frames import DataFrame
from wevent.events.records import Event, read_records
from wevent.events.refusals import Refusal
from wevent.events.timeline import to_instant
from wevent.releases.release import Release
from wevent.reports.stored_stream import StoredStream
from wevent.store.build import opening_terms
from wevent.store.changes import store_changes
from wevent.store.clock import GuardedClock
from wevent.store.database import Database
from wevent.store.due_slots import last_slot, worth_a_question
from wevent.store.feeding import Confirm, Feed, ReleaseCallback, publish_files
from wevent.store.opening import Agreement, open_agreed, open_store, system_clock, witness_of
from wevent.store.planning import ChangeCounts
from wevent.store.session import Session
from wevent.store.sources import Source, accept_files
from wevent.store.streams import open_stream
from wevent.store.totals import RunTotals
from wevent.store.writer import Clock


class Store(StoredStream):
    """One stream of a store. Use it as a context manager, in one thread.

    The first call of `accept`, `accept_files`, `publish_files` or `release_due` takes the stream's lock and holds it
    until the store is closed: no other process can publish the stream meanwhile. Requirements and reading need no lock.

    Guarantees:
        A release is returned only after it was kept and read back.
        Every rule of the command line holds here, and no other.

    Example:
        >>> from wevent import Fixed, Store
        >>> settings = {
        ...     "stream": {"name": "town"},
        ...     "slots": {"width": "1 h", "first": "2024-05-01", "closing": "files"},
        ...     "cells": {"names": ["market", "park"]},
        ...     "store": {"url": "town.db", "witness": "witness.json"},
        ... }
        >>> _ = Path("events.ndjson").write_text('{"user": "ann", "time": "2024-05-01T00:10Z", "place": "market"}')
        >>> with Store.open(settings) as store:
        ...     stored = store.require("ann", Fixed(epsilon=1, window=8))
        ...     released = store.publish_files(["events.ndjson"], until="2024-05-01T02:00Z")
        ...     print([release.slot for release in released], store.audit().kept)
        [1, 2] True
    """

    def __init__(self, config: Config, database: Database, clock: Clock, agreed: Agreement) -> None:
        super().__init__(config, database)
        self._clock, self._agreed = clock, agreed
        self._session: Session | None = None  # opened by the first call that needs the lock, closed with the store
        self._guarded: GuardedClock | None = None  # of that session: it remembers when the clock jumped

    @classmethod
    def open(
        cls,
        config: str | Path | Mapping[str, Any] = "wevent.toml",
        *,
        read_only: bool = False,
        restored: int | None = None,
        requirements_lost: bool = False,
        allow_many: bool = False,
        clock: Clock = system_clock,
    ) -> Store:
        """Open the store of a configuration; a new one is created unless it is opened for reading.

        Args:
            config: the path of a `wevent.toml`, or the same settings as a mapping.
            read_only: open a store that exists, and refuse to write.
            restored: after a restore, or without the witness: slots up to this one may have been shown and are given
                up; 0 for none.
            requirements_lost: after a restore: go on without the requirement changes that are missing.
            allow_many: allow to release or give up more than 1,000 slots at once, or many without an event.
            clock: gives microseconds since 1970 in UTC; for tests and simulations. Jumps of the system's clock are
                noticed, those of another one are followed.
        """
        chosen = to_config(dict(config)) if isinstance(config, Mapping) else read_config(Path(config))
        shown = opening_terms(chosen, clock(), restored).shown
        database = open_store(chosen, create=not read_only, read_only=read_only, shown=shown)
        return cls(chosen, database, clock, Agreement(shown, requirements_lost, allow_many))

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.config.stream.name!r})"

    def close(self) -> None:
        """Release the lock and close the store."""
        if self._session is not None:
            self._session.close()
            self._session = None
        self._database.close()

    # --- requirements ----------------------------------------------------------------------------

    def require(self, user: Hashable, requirement: Requirement) -> ChangeCounts:
        """Store that a person requires something, from the first slot on that begins after this."""
        return self.store_changes([RequirementChange(user, requirement)])

    def leave(self, user: Hashable) -> ChangeCounts:
        """Store that a person leaves; raises `UnknownUser` for a name that was never listed."""
        stored = self.store_changes([RequirementChange(user, None)])
        if stored.unknown:
            raise UnknownUser("nobody of this name is listed in this stream, so nobody left; names are exact")
        return stored

    def store_changes(self, changes: Iterable[RequirementChange]) -> ChangeCounts:
        """Store requirement changes, all or none; return how many of each kind.

        Guarantees:
            Each is in force from the first slot on that begins after this; a change that names a slot is refused.
        """
        changes = list(changes)
        witness = witness_of(self.config)
        stream = open_stream(self._database, self.config.stream.name, self.config.fixed(), self._clock, witness)
        return store_changes(self._database, self.config, stream, changes, self._clock)

    # --- publishing ------------------------------------------------------------------------------

    def accept(self, events: Iterable[Event] | DataFrame) -> RunTotals:
        """Keep events until their slots are released; return how many were accepted, and refused for which reason.

        Args:
            events: triples of user, time and place, or a DataFrame with the columns that `[sources]` names. A time is a
                `datetime` (without a zone: UTC), text in ISO 8601, or a number in `sources.time_unit`.

        Guarantees:
            When this returns, every accepted event is on the disk. Each event is accepted or refused by itself.
        """
        self._check_closing("arrival", "operator")
        feed = self._feed()
        refused: Counter[Refusal] = Counter()
        look = feed.look()
        feed.session.refresh_people()
        validator, window = feed.validator, feed.acceptance_window(look)
        feed.keep(validator.validate(read_records(events, self.config.columns, refused), window, refused))
        return feed.totals

    def accept_files(self, files: Sequence[str | Path]) -> RunTotals:
        """Keep the events of CSV, NDJSON and Parquet files; a file that was accepted before is read on from its end."""
        self._check_closing("arrival", "operator")
        feed = self._feed()
        accept_files(feed, [Path(file) for file in files])
        return feed.totals

    def read_source(self, source: Source, until: datetime | str | None = None) -> list[Release]:
        """Let a data source feed the stream until it ends, or until the last slot that ends by `until` is released.

        Args:
            source: called with a `Feed` (`wevent.store.sources.Source` says what it must do), for example
                `lambda feed: follow(feed, path, "csv")`.
            until: release only slots that end by then.
        """
        self._check_closing("arrival", "operator")
        found: list[Release] = []
        source(self._feed(found, until))
        return found

    def release_due(self, until: datetime | str | None = None, *, allow_empty: bool = False) -> list[Release]:
        """Release every slot that is over, by the clock or, with `closing = "operator"`, by your word `until`.

        Args:
            until: release only slots that end by then.
            allow_empty: with `closing = "operator"`: release slots although no event waits for any of them.
        """
        self._check_closing("arrival", "operator")
        found: list[Release] = []
        feed = self._feed(found, until)
        if self.config.slots.closing == "arrival":
            feed.close_due()
        else:
            last = last_slot(feed.session, _instant(until))
            feed.close_by_word(last, allow_empty=allow_empty, confirm=self._confirm(feed.totals, until))
        return found

    def publish_files(
        self, files: Sequence[str | Path], until: datetime | str | None = None, *, allow_empty: bool = False
    ) -> list[Release]:
        """Release every slot that is over from whole files, with `closing = "files"`; called again it goes on."""
        self._check_closing("files")
        found: list[Release] = []
        paths, session = [Path(file) for file in files], self._open_session()
        on_release, totals = self._collector(found), RunTotals()
        confirm = self._confirm(totals, until)
        publish_files(
            session, paths, _instant(until), on_release, totals=totals, allow_empty=allow_empty, confirm=confirm
        )
        return found

    # --- inside ----------------------------------------------------------------------------------

    def _open_session(self) -> Session:
        """The session that holds the lock; opened once."""
        if self._session is None:
            try:
                session = open_agreed(self.config, self._database, self._agreed, self._clock)
            except RequirementsMissing:
                self._agreed = replace(self._agreed, restored=None)  # the slots are given up by now
                raise
            if not session.people and self.config.people.group is None:
                session.close()
                raise EmptyRegister("nobody is registered; store a requirement first (`Store.require`)")
            self._session, self._agreed = session, replace(self._agreed, restored=None)
            if self._clock is system_clock:
                self._guarded = GuardedClock(self._clock, self.config.slots.jump_limit)
        return self._session

    def _feed(self, found: list[Release] | None = None, until: datetime | str | None = None) -> Feed:
        session = self._open_session()
        on_release = self._collector([] if found is None else found)
        return Feed(session, on_release, _instant(until), clock=self._guarded, warn=_warn)

    def _collector(self, found: list[Release]) -> ReleaseCallback:
        return lambda release: found.append(replace(release, cells=self._cells))

    def _confirm(self, totals: RunTotals, until: datetime | str | None) -> Confirm:
        """Refuse what is `worth_a_question` and that no clock closes, without the caller's word."""

        def confirm(first: int, last: int) -> None:
            timeline, allowed = self.config.slots.timeline, self._agreed.allow_many
            if not allowed and worth_a_question(timeline, first, last, totals.seen, _instant(until)):
                raise InvalidSetting(
                    f"{last - first + 1:,} slots are due, and each is released and charged, empty ones too. If that is "
                    "meant, open the store with `allow_many=True`; otherwise compare slots.first, or say where to stop "
                    "(`until`). Nothing was released"
                )

        return confirm

    def _check_closing(self, *allowed: str) -> None:
        if self.config.slots.closing not in allowed:
            raise InvalidSetting(
                f"slots of this stream are closed by {self.config.slots.closing}: with closing = 'files' use "
                "publish_files, otherwise accept and release_due"
            )


def _warn(words: str) -> None:
    warnings.warn(words, stacklevel=2)


def _instant(time: datetime | str | None) -> int | None:
    if time is None:
        return None
    try:
        return to_instant(time.isoformat() if isinstance(time, datetime) else time)
    except ValueError:
        raise InvalidSetting("`until` is a datetime or text in ISO 8601, such as 2024-05-01T12:00Z") from None
