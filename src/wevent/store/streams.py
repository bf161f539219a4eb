"""The streams of a store: a name and settings come in, the stream they belong to goes out.

Privacy settings are written down when a stream begins and compared whenever it is opened (ARCHITECTURE §3, rule 8).
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from wevent.errors import SettingsChanged, StreamUnknown
from wevent.store.database import Database
from wevent.store.schema import streams
from wevent.store.writer import Clock, StreamRow

_MAY_GROW = ("levels.budgets", "levels.windows")


def open_stream(database: Database, name: str, settings: dict[str, Any], clock: Clock) -> StreamRow:
    """The stream of a name; begun with these settings if it is new.

    Guarantees:
        A stream whose settings differ from the ones it began with raises `SettingsChanged` and stays as it is;
        only levels of new names may be added.
    """
    settings = json.loads(json.dumps(settings))
    with database.write() as connection:
        kept = connection.execute(sa.select(streams).where(streams.c.name == name)).first()
        if kept is None:
            values = {"name": name, "settings": json.dumps(settings), "created": clock(), "epoch": 0, "begun": False}
            connection.execute(streams.insert().values(**values))
            number = connection.execute(sa.select(streams.c.id).where(streams.c.name == name)).scalar_one()
            return StreamRow(number, name)
        merged = _compare(name, json.loads(kept.settings), settings)
        if merged != kept.settings:
            connection.execute(streams.update().where(streams.c.id == kept.id).values(settings=merged))
        return StreamRow(kept.id, name)


def find_stream(database: Database, name: str | None) -> tuple[StreamRow, dict[str, Any]]:
    """A stream and its settings by name; without a name, the only one there is."""
    with database.read() as connection:
        found = connection.execute(sa.select(streams.c.id, streams.c.name, streams.c.settings)).all()
    wanted = [row for row in found if name is None or row.name == name]
    if len(wanted) != 1:
        known = ", ".join(sorted(row.name for row in found)) or "none"
        raise StreamUnknown(f"say which stream is meant; the store has: {known}", known=known)
    return StreamRow(wanted[0].id, wanted[0].name), json.loads(wanted[0].settings)


def all_streams(database: Database) -> list[StreamRow]:
    """Every stream, in the order of their beginning."""
    with database.read() as connection:
        order = sa.select(streams.c.id, streams.c.name).order_by(streams.c.id)
        return [StreamRow(row.id, row.name) for row in connection.execute(order)]


def _compare(name: str, kept: dict[str, Any], now: dict[str, Any]) -> str:
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
    if changed:
        raise SettingsChanged(
            f"stream {name!r} began with other settings: {'; '.join(changed)}. The promise to people depends on "
            "them, so they stay as they are. Set them back, or begin a new stream: change `name` under [stream]. "
            "A new stream over the same people spends a budget of its own beside the old one",
            changed=tuple(changed),
        )
    return json.dumps(kept)


def _short(value: Any) -> str:
    words = json.dumps(value)
    return words if len(words) <= 80 else f"{words[:77]}…"
