"""Reads one stream of a store for a Python program: releases, status, one person's report and the audit."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from datetime import datetime

from wevent.config.model import Config
from wevent.errors import InvalidSetting, UnknownUser
from wevent.events.names import to_name
from wevent.events.timeline import to_instant
from wevent.releases.release import Release
from wevent.reports.audit import audit
from wevent.reports.findings import Audit
from wevent.reports.history import read_history
from wevent.reports.person_report import PersonReport, read_person_report
from wevent.reports.releases import checked_releases
from wevent.reports.status import StreamStatus, stream_status
from wevent.store.accounting import EventAccount, read_account
from wevent.store.damage import check_store
from wevent.store.database import Database
from wevent.store.requirements import last_charged
from wevent.store.streams import find_stream


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """Where a stream stands, for the operator; the repr shows no numbers of people or events.

    Attributes:
        next_slot: the first slot that was not charged.
        stream: since when nothing was published, and who has too little budget left.
        events: how many accepted events wait, were released, or were lost.
    """

    next_slot: int
    stream: StreamStatus = field(repr=False)
    events: EventAccount = field(repr=False)


class StoredStream:
    """What a store holds of one stream; reading takes no lock."""

    def __init__(self, config: Config, database: Database) -> None:
        self.config, self._database = config, database
        self._cells = list(config.cells.declared().names)

    def releases(self, first: int | datetime = 1, last: int | datetime | None = None) -> list[Release]:
        """The kept releases of a range of slots, oldest first; a time stands for the slot that holds it."""
        first, last = self._slot(first), None if last is None else self._slot(last)
        stream, _ = find_stream(self._database, self.config.stream.name)
        end = 2**62 if last is None else last
        found = checked_releases(self._database, stream.id, len(self._cells), first, end)
        return [replace(release, cells=self._cells) for release in found]

    def _slot(self, given: int | datetime) -> int:
        if isinstance(given, datetime):
            return self.config.slots.timeline.number(to_instant(given.isoformat()))
        if not isinstance(given, int):
            raise InvalidSetting("a range of releases is given by slot numbers or by datetimes")
        return given

    def status(self) -> StoreStatus:
        """Where the stream stands, for the operator."""
        stream, _ = find_stream(self._database, self.config.stream.name)
        standing = stream_status(read_history(self._database, stream.name))
        with self._database.read() as connection:
            return StoreStatus(last_charged(connection, stream.id) + 1, standing, read_account(connection, stream.id))

    def person(self, user: Hashable) -> PersonReport:
        """Everything that is kept of one person's requirements, and what was spent on them."""
        report = read_person_report(self._database, self.config, to_name(user))
        if report is None:
            raise UnknownUser("nobody of this name was ever listed in this stream; names count letter for letter")
        return report

    def audit(self) -> Audit:
        """Prove from the stored history that every promise was kept; `kept` is the verdict."""
        check_store(self._database)
        return audit(read_history(self._database, self.config.stream.name))
