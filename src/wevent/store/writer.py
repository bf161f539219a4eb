"""The right to write a stream: a store, a stream and a witness come in, fenced transactions go out.

Two things keep writers apart: a lock that dies with its process, and an epoch that every transaction compares,
for the case that a lock was lost without anybody noticing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.errors import StreamTaken, WitnessMissing
from wevent.store.database import Database
from wevent.store.exclusion import exclude_others
from wevent.store.schema import slots, streams
from wevent.store.witness import Testimony, Witness

Clock = Callable[[], int]
"""Microseconds since 1970, UTC."""


@dataclass(frozen=True, slots=True)
class StreamRow:
    """A stream of a store."""

    id: int
    name: str


class Writer:
    """One process's right to publish a stream.

    Guarantees:
        A transaction of a writer whose epoch is over changes nothing and raises `StreamTaken`.
        `restored` is the last slot that may have been shown though this store does not know it, 0 if there is none.
    """

    def __init__(
        self, database: Database, stream: StreamRow, witness: Witness, clock: Clock, *, shown: int | None = None
    ) -> None:
        self.database, self.stream, self.witness, self.clock = database, stream, witness, clock
        self._lock = exclude_others(database, stream.id)
        try:
            self._open(shown)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let other processes in."""
        self._lock.release()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Write all of it or nothing, if the stream is still ours."""
        with self.database.write() as connection:
            mine = (streams.c.id == self.stream.id) & (streams.c.epoch == self.epoch)
            if connection.execute(streams.update().where(mine).values(begun=True)).rowcount != 1:
                raise StreamTaken(
                    "another process went on with this stream; nothing was written. Stop one of the two",
                    epoch=self.epoch,
                )
            yield connection

    def _open(self, shown: int | None) -> None:
        store, told = self.database.identity(), self.witness.read()
        if told is not None and (told.store, told.stream) != (store, self.stream.name):
            raise WitnessMissing(
                "the witness file belongs to another store or stream; give each stream a witness of its own"
            )
        with self.database.write() as connection:
            epoch, begun = connection.execute(
                sa.select(streams.c.epoch, streams.c.begun).where(streams.c.id == self.stream.id)
            ).one()
            newest = sa.select(sa.func.max(slots.c.slot)).where(slots.c.stream == self.stream.id)
            last = connection.execute(newest).scalar() or 0
            if told is None and begun and shown is None:
                raise WitnessMissing(
                    f"this store knows slots up to {last}, and no witness tells whether newer ones were shown. If the "
                    "store was restored or copied, or the witness was lost, say which slot may have been shown last "
                    "(`--restored`): up to there slots are lost, and nobody spends before their windows have passed"
                )
            witnessed = 0 if told is None else told.slot
            self.epoch = max(epoch, 0 if told is None else told.epoch) + 1
            self.restored = max(witnessed, shown or 0) if max(witnessed, shown or 0) > last else 0
            connection.execute(streams.update().where(streams.c.id == self.stream.id).values(epoch=self.epoch))
        self.witness.write(Testimony(store, self.stream.name, max(witnessed, last, shown or 0), self.epoch))
