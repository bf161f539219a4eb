"""Begins and finds the streams of a store.

Privacy settings are written down when a stream begins and compared whenever it is opened.
Where a witness knows that a stream was shown, it never begins anew without the operator's word.
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.errors import SettingsChanged, StreamUnknown
from wevent.store.checksums import check, update
from wevent.store.database import Database
from wevent.store.reconciling import OpeningTerms, StreamInStore, reconcile
from wevent.store.schema import about, slots, streams
from wevent.store.sharing import one_at_a_time, refuse_shared_group
from wevent.store.witness import Witness, WitnessRecord
from wevent.store.writer import Clock, StreamRow

_MAY_GROW = ("levels.epsilons", "levels.windows")
_NOTHING_SAID = OpeningTerms(shown=None, begun_slot=0, promised=1, allowed=1)


def open_stream(
    database: Database,
    name: str,
    settings: dict[str, Any],
    clock: Clock,
    witness: Witness,
    terms: OpeningTerms = _NOTHING_SAID,
) -> StreamRow:
    """The stream of a name; begun with these settings if it is new.

    Guarantees:
        A stream that is not in the store, but of which the witness knows that it was shown, raises `StoreReplaced`,
        unless the terms say what was shown.
        The witness knows of a stream before the store does.
        A stream whose settings differ from the ones it began with raises `SettingsChanged` and stays as it is;
        only levels of new names may be added.
    """
    settings = json.loads(json.dumps(settings))
    with database.write() as connection:
        kept = connection.execute(sa.select(streams).where(streams.c.name == name)).first()
        if kept is None:
            one_at_a_time(connection)
            refuse_shared_group(connection, name, settings)
            store = str(connection.execute(sa.select(about.c.value).where(about.c.key == "store")).scalar_one())
            begin = StreamInStore(WitnessRecord(store, name), exists=False)
            values = {"name": name, "settings": json.dumps(settings), "created": clock(), "epoch": 0, "begun": False}
            connection.execute(streams.insert().values(**values))
            number = connection.execute(sa.select(streams.c.id).where(streams.c.name == name)).scalar_one()
            witness.update(lambda known: reconcile(begin, known, terms).record)
            return StreamRow(number, name, witness)
        check(streams, [kept])
        merged, changed = _compare(json.loads(kept.settings), settings)
        if changed:
            raise _changed(database, connection, StreamRow(kept.id, name, witness), changed)
        if merged != kept.settings:
            update(connection, streams, streams.c.id == kept.id, settings=merged)
        return StreamRow(kept.id, name, witness)


def check_settings(database: Database, name: str, settings: dict[str, Any], witness: Witness) -> None:
    """Raise `SettingsChanged` if a stream of the store began with other settings; nothing is written."""
    stream, kept = find_stream(database, name)
    _, changed = _compare(kept, json.loads(json.dumps(settings)))
    if changed:
        with database.read() as connection:
            raise _changed(database, connection, StreamRow(stream.id, name, witness), changed)


def find_stream(database: Database, name: str | None) -> tuple[StreamRow, dict[str, Any]]:
    """A stream and its settings by name; without a name, the only one there is."""
    with database.read() as connection:
        found = connection.execute(sa.select(streams)).all()
        check(streams, found)
    wanted = [row for row in found if name is None or row.name == name]
    if len(wanted) != 1:
        known = ", ".join(sorted(row.name for row in found)) or "none"
        raise StreamUnknown(f"say which stream is meant; the store has: {known}", known=known)
    return StreamRow(wanted[0].id, wanted[0].name), json.loads(wanted[0].settings)


def all_streams(database: Database) -> list[StreamRow]:
    """Every stream, in the order of their beginning."""
    with database.read() as connection:
        found = connection.execute(sa.select(streams).order_by(streams.c.id)).all()
        check(streams, found)
        return [StreamRow(row.id, row.name) for row in found]


def _compare(kept: dict[str, Any], now: dict[str, Any]) -> tuple[str, list[str]]:
    """The settings with levels of new names, and what differs otherwise, in words."""
    changed = []
    for key in sorted(kept.keys() | now.keys()):
        before, after = kept.get(key), now.get(key)
        if key in _MAY_GROW and isinstance(before, dict) and isinstance(after, dict):
            changed += [
                f"{key}.{level} was {before[level]}, is {after[level]}"
                for level in before
                if level in after and before[level] != after[level]
            ]
            kept[key] = {**before, **after}
        elif before != after:
            changed.append(f"{key} was {_short(before)}, is {_short(after)}")
    return json.dumps(kept), changed


def _changed(database: Database, connection: Connection, stream: StreamRow, changed: list[str]) -> SettingsChanged:
    """The error for other settings; how to begin again depends on whether anything was charged under the old ones."""
    if _was_charged(connection, stream):
        advice = (
            "The promise to people depends on them, so they stay as they are. Set them back, or begin a new stream: "
            "change `name` under [stream]. A new stream over the same people spends a budget of its own beside the old "
            "one"
        )
    elif len(connection.execute(sa.select(streams.c.id)).all()) > 1:
        advice = (
            "Nothing was released under them, but the store holds other streams and must stay. Set them back, or keep "
            "this stream in a store of its own (`url` and `witness` under [store]) and import its requirements again"
        )
    else:
        advice = f"Nothing was released under them. Set them back, or begin again: {_remove(database, stream)}"
    return SettingsChanged(
        f"stream {stream.name!r} began with other settings: {'; '.join(changed)}. {advice}", changed=tuple(changed)
    )


def _was_charged(connection: Connection, stream: StreamRow) -> bool:
    """Whether a slot was ever charged, as far as the store or the witness knows."""
    if connection.execute(sa.select(slots.c.slot).where(slots.c.stream == stream.id).limit(1)).first() is not None:
        return True
    known = None if stream.witness is None else stream.witness.read()
    return known is not None and known.slot > 0


def _remove(database: Database, stream: StreamRow) -> str:
    files = [] if stream.witness is None else [f"the witness's file {stream.witness.path}"]
    if database.embedded:
        files.insert(0, f"the store's file {database.path} (also -wal and -shm beside it, if they are there)")
        return f"remove {' and '.join(files)}, then import the requirements again"
    return (
        " and ".join(
            ["drop the database, or choose another (`url` under [store])", *(f"remove {file}" for file in files)]
        )
        + ", then import the requirements again"
    )


def _short(value: Any) -> str:
    words = json.dumps(value)
    return words if len(words) <= 80 else f"{words[:77]}…"
