"""Grants one process the right to publish a stream, and fences its transactions.

Two things keep writers apart: a lock that dies with its process, and an epoch that every transaction compares, for
the case that a lock was lost without anybody noticing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.errors import StoreUnavailable, StreamTaken, WitnessMissing
from wevent.store.checksums import update
from wevent.store.database import Database
from wevent.store.locks import lock_stream
from wevent.store.reconciling import Opening, OpeningTerms, StreamInStore, reconcile
from wevent.store.schema import about, slots, streams
from wevent.store.witness import Witness, WitnessRecord

Clock = Callable[[], int]
"""Microseconds since 1970, UTC."""


@dataclass(frozen=True, slots=True)
class StreamRow:
    """A stream of a store; with the witness that remembers it, unless it was opened for reading only."""

    id: int
    name: str
    witness: Witness | None = None


class Writer:
    """One process's right to publish a stream.

    Guarantees:
        A transaction of a writer whose epoch is over changes nothing and raises `StreamTaken`.
        `opening` says which slots have to be given up, because they may have been shown and this store does not
        know them.
    """

    def __init__(
        self, database: Database, stream: StreamRow, witness: Witness, clock: Clock, terms: OpeningTerms
    ) -> None:
        self.database, self.stream, self.witness, self.clock = database, stream, witness, clock
        self._lock = lock_stream(database, stream.id)
        try:
            _check_names(database)
            witness.check_names()
            self.opening = self._open(terms)
            self.epoch = self.opening.record.epoch
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let other processes in."""
        self._lock.release()

    def check_witness(self) -> None:
        """Raise unless the witness is there and no other copy went on; before a charge, so that no slot is lost."""
        self.witness.check(self.opening.record)

    def advance(self, slot: int) -> None:
        """Let the witness know that `slot` may be shown from now on."""
        self.witness.advance(slot, self.opening.record)

    def hold(self) -> int:
        """For how many slots, the last one given up included, nobody spends anything, by what is promised until now."""
        known = self.witness.read()
        return max(self.opening.hold, 1 if known is None else known.longest_window)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Write all of it or nothing, if the stream is still ours."""
        with self.database.write() as connection:
            ours = (streams.c.id == self.stream.id) & (streams.c.epoch == self.epoch)
            if connection.execute(streams.update().where(ours).values(epoch=self.epoch)).rowcount != 1:
                raise StreamTaken(
                    "another process went on with this stream; nothing was written. Stop one of the two",
                    epoch=self.epoch,
                )
            if not connection.execute(sa.select(streams.c.begun).where(ours)).scalar():
                update(connection, streams, ours, begun=True)
            yield connection

    def _open(self, terms: OpeningTerms) -> Opening:
        with self.database.write() as connection:
            stored = StreamInStore(read_record(connection, self.stream, lock=True))
            if self.witness.read() is None:
                _check_elsewhere(self.witness, stored.record)
                reconcile(stored, None, terms)  # refuses before a missing folder is made
            with self.witness.locked():
                opening = reconcile(stored, self.witness.read(), terms)
                self.witness.write(opening.record)  # before the commit: no store is of a newer epoch than its witness
            epoch = opening.record.epoch
            update(connection, streams, streams.c.id == self.stream.id, epoch=epoch)
        return opening


def plan_opening(database: Database, name: str, witness: Witness, terms: OpeningTerms) -> Opening:
    """What would follow if a stream were opened now; nothing is changed."""
    with database.read() as connection:
        number = connection.execute(sa.select(streams.c.id).where(streams.c.name == name)).scalar()
        if number is None:
            store = connection.execute(sa.select(about.c.value).where(about.c.key == "store")).scalar_one()
            stored = StreamInStore(WitnessRecord(str(store), name), exists=False)
        else:
            stored = StreamInStore(read_record(connection, StreamRow(number, name)))
    known = witness.read()
    if known is None and stored.exists:
        _check_elsewhere(witness, stored.record)
    return reconcile(stored, known, terms)


def read_record(connection: Connection, stream: StreamRow, *, lock: bool = False) -> WitnessRecord:
    """What the store itself knows of what a witness remembers; `lock` keeps others from changing it meanwhile."""
    find = sa.select(streams.c.epoch, streams.c.changes, streams.c.fingerprint).where(streams.c.id == stream.id)
    kept = connection.execute(find.with_for_update() if lock else find).one()
    newest = sa.select(sa.func.max(slots.c.slot)).where(slots.c.stream == stream.id)
    store = connection.execute(sa.select(about.c.value).where(about.c.key == "store")).scalar_one()
    last = connection.execute(newest).scalar() or 0
    return WitnessRecord(str(store), stream.name, last, kept.epoch, kept.changes, fingerprint=kept.fingerprint)


def _check_elsewhere(witness: Witness, record: WitnessRecord) -> None:
    other = witness.elsewhere(record)
    if other is not None:
        raise WitnessMissing(
            f"the witness of this stream lies at {other}, for another place of the store. If the store was moved or "
            f"restored to here, move that file to {witness.path} and run it again; then the store at the other place "
            "does not go on, so that only one of the two draws. Nothing was changed",
            elsewhere=str(other),
        )


def _check_names(database: Database) -> None:
    if database.embedded and database.path.exists() and database.path.stat().st_nlink > 1:
        raise StoreUnavailable(
            "the store's file has several names (hard links), and SQLite keeps a log beside only one of them. Remove "
            "the other names, or copy the file, then run it again. Nothing was changed"
        )
