"""What people ask for, from files: tables of requirements come in, types of users who always ask alike go out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wevent.cohorts.requirement import Dynamic, Fixed
from wevent.errors import InvalidRequirement, InvalidSetting, WeventError
from wevent.events.sql import literal_path
from wevent.study.datasets.reading import database
from wevent.study.datasets.stream import Stream
from wevent.study.wishes import Wishes
from wevent.units import to_epsilon


@dataclass(frozen=True, slots=True)
class Listed:
    """Changes that a file lists, by slot."""

    changes: Mapping[int, Sequence[tuple[int, Dynamic]]] = field(repr=False)

    def at(self, slot: int) -> Sequence[tuple[int, Dynamic]]:
        """Types that ask for something else from this slot on."""
        return self.changes.get(slot, ())


def from_files(stream: Stream, requirements: Path | None, dynamic: Path | None, usual: tuple[float, int]) -> Wishes:
    """Requirements of the users of a stream.

    Args:
        stream: whose users they are.
        requirements: a CSV or Parquet file with columns user, epsilon, window; None if everybody asks for `usual`.
        dynamic: one with user, slot, epsilon, window and, if wanted, backward_epsilon, backward_window: what a user
            asks for from that slot on, for mechanisms that can follow.
        usual: budget and window of everybody if there is no file of requirements.

    Guarantees:
        Users share a type exactly if they ask alike in every slot.
        A user without a line, twice in the file or not in the data is refused, and no message names one.
    """
    fixed = _fixed(stream, requirements, usual)
    moves = _moves(stream, dynamic)
    types: dict[Any, int] = {}
    type_of = np.empty(stream.users, np.int64)
    for user in range(stream.users):
        asks = (fixed[user], tuple(moves.get(user, {}).items()))
        type_of[user] = types.setdefault(asks, len(types))
    changes: dict[int, list[tuple[int, Dynamic]]] = defaultdict(list)
    for (_, listed), kind in types.items():
        for slot, requirement in listed:
            changes[slot].append((kind, requirement))
    asked = tuple(first for first, _ in types)
    common = Fixed(to_epsilon(min(one.units for one in asked)), max(one.window for one in asked))
    return Wishes(common, asked, type_of, Listed(dict(changes)) if changes else None)


def _fixed(stream: Stream, path: Path | None, usual: tuple[float, int]) -> list[Fixed]:
    if path is None:
        return [Fixed(*usual)] * stream.users
    found: list[Fixed | None] = [None] * stream.users
    for line, (user, epsilon, window) in enumerate(_positions(stream, path, ("epsilon", "window"), ()), start=1):
        if found[user] is not None:
            raise InvalidSetting(f"{path.name}: row {line} repeats a user; give one row for each")
        found[user] = _read(path, line, lambda e=epsilon, w=window: Fixed(e, w))
    missing = found.count(None)
    if missing:
        raise InvalidSetting(f"{path.name} has no row for {missing} of {stream.users} users of the data")
    return [one for one in found if one is not None]


def _moves(stream: Stream, path: Path | None) -> dict[int, dict[int, Dynamic]]:
    if path is None:
        return {}
    moves: dict[int, dict[int, Dynamic]] = defaultdict(dict)
    backward = ("backward_epsilon", "backward_window")
    rows = _positions(stream, path, ("slot", "epsilon", "window"), backward)
    for line, (user, slot, epsilon, window, *back) in enumerate(rows, start=1):
        if not float(slot).is_integer() or slot < 1:
            raise InvalidSetting(f"{path.name}: row {line} has a slot that is no whole number from 1 on")
        sides = [(epsilon, window)] + ([(back[0], back[1])] if back and None not in back else [])
        if int(slot) in moves[user]:
            raise InvalidSetting(f"{path.name}: row {line} repeats a user and slot; give one row for each")
        moves[user][int(slot)] = _read(path, line, lambda s=sides: Dynamic(*s))
    return {user: dict(sorted(changes.items())) for user, changes in moves.items()}


def _read(path: Path, line: int, make: Any) -> Any:
    try:
        return make()
    except WeventError as error:
        raise InvalidRequirement(f"{path.name}, row {line}: {error}") from None


def _positions(stream: Stream, path: Path, needed: Sequence[str], wanted: Sequence[str]) -> list[tuple[Any, ...]]:
    """Rows of a file with the position of the user first, then the other columns as numbers."""
    rows = _table(path, needed, wanted)
    names = getattr(stream, "people", ()) or map(str, range(stream.users))  # synthetic people are called 0, 1, 2, …
    place = {name: k for k, name in enumerate(names)}
    unknown = sum(row[0] not in place for row in rows)
    if unknown:
        raise InvalidSetting(f"{path.name} has {unknown} rows of users who are not in the data; leave them out")
    return [(place[row[0]], *row[1:]) for row in rows]


def _table(path: Path, needed: Sequence[str], wanted: Sequence[str]) -> list[tuple[Any, ...]]:
    """User as text and the other columns as numbers; those of `wanted` only where the file has all of them."""
    import duckdb

    if not path.is_file():
        raise InvalidSetting(f"there is no file {path.name} in {path.parent}; check the path")
    reader = "read_parquet" if path.suffix.lower() == ".parquet" else "read_csv"
    with database() as connection:
        try:
            table = connection.sql(f"SELECT * FROM {reader}($file)", params={"file": literal_path(path)})  # noqa: S608
            columns = {name.strip().lower(): name.replace('"', '""') for name in table.columns}
            if missing := [name for name in ("user", *needed) if name not in columns]:
                raise InvalidSetting(
                    f"{path.name} has no column {', '.join(missing)}; needed are user, {', '.join(needed)}"
                )
            more = wanted if all(name in columns for name in wanted) else ()
            numbers = ", ".join(f'TRY_CAST("{columns[name]}" AS DOUBLE)' for name in (*needed, *more))
            rows = table.project(f'CAST("{columns["user"]}" AS VARCHAR), {numbers}').fetchall()
        except duckdb.Error:  # its message may quote rows
            raise InvalidSetting(f"{path.name} cannot be read as a table; check that it is whole") from None
    for line, row in enumerate(rows, start=1):
        if None in row[: 1 + len(needed)]:
            raise InvalidSetting(f"{path.name}: row {line} lacks a user or a number in {', '.join(needed)}")
    return rows
