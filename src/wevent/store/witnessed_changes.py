"""Counts requirement changes in the store and in its witness, and refuses to publish while some are missing.

A copy of the store that was made before a change does not have it. The witness does, so that a restored copy is not
served by requirements that people have tightened since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.errors import RequirementsMissing, WitnessMissing
from wevent.store.checksums import update
from wevent.store.schema import about, streams
from wevent.store.witness import WitnessRecord
from wevent.store.writer import StreamRow, Writer

_MARKS = 2**62


def count_changes(connection: Connection, stream: StreamRow, new: int, longest: int, fingerprints: int) -> None:
    """Count changes that are stored in this transaction; call it last, just before the commit.

    Args:
        connection: of the transaction.
        stream: whose people they are.
        new: how many changes there are.
        longest: the longest window that they require.
        fingerprints: the sum of their `change_fingerprint`s.

    Guarantees:
        If the witness cannot be written, or is not the newest, this raises and nothing must be committed.
        A change that is counted and then not committed is missing: publishing refuses to go on without it.
    """
    if not new:
        return
    if stream.witness is None:
        raise WitnessMissing("a stream that was opened for reading takes no requirement changes; nothing was stored")
    kept = connection.execute(
        sa.select(streams.c.epoch, streams.c.changes, streams.c.fingerprint, streams.c.settings).where(
            streams.c.id == stream.id
        )
    ).one()
    store = connection.execute(sa.select(about.c.value).where(about.c.key == "store")).scalar_one()
    changes, fingerprint = kept.changes + new, (kept.fingerprint + fingerprints) % _MARKS
    update(connection, streams, streams.c.id == stream.id, changes=changes, fingerprint=fingerprint)
    carry = int(json.loads(kept.settings).get("people.carry", 1))
    window = longest + carry - 1
    record = WitnessRecord(str(store), stream.name, 0, kept.epoch, changes, window, fingerprint)
    stream.witness.count_changes(record, new, kept.fingerprint)


def change_fingerprint(name: str, terms: Sequence[object]) -> int:
    """A number that stands for a requirement change; those of the same changes in any order have the same sum."""
    words = json.dumps([name, *terms]).encode()
    return int.from_bytes(hashlib.sha256(words).digest()[:8]) % _MARKS


def check_changes(writer: Writer, *, requirements_lost: bool) -> None:
    """Refuse to publish while requirement changes are missing that the witness has counted.

    Guarantees:
        As many other changes do not take their place: the witness knows them by their fingerprint.
        If the operator goes on without them (`requirements_lost`), the store says for ever how many were given up.
    """
    missing = writer.opening.missing_changes
    if not missing:
        return
    if not requirements_lost:
        raise RequirementsMissing(
            f"{missing:,} requirement changes are missing in this store, or more if new ones were stored since: the "
            f"witness has counted {writer.opening.record.changes:,}. People may have tightened their requirements, or "
            "left, since this copy was made. Import the newest file of requirements again (`wevent requirements import "
            "FILE`). If everything is imported, or they are lost for good, say so with `wevent publish "
            "--requirements-lost`. Nothing was released",
            missing=missing,
        )
    with writer.transaction() as connection:
        known = writer.opening.record
        update(
            connection,
            streams,
            streams.c.id == writer.stream.id,
            changes=lambda old: max(old, known.changes),
            changes_lost=lambda old: old + missing,
            fingerprint=known.fingerprint,
        )


def count_lost_changes(connection: Connection, stream: int) -> int:
    """How many requirement changes the operator gave up after restores."""
    return int(connection.execute(sa.select(streams.c.changes_lost).where(streams.c.id == stream)).scalar_one())
