"""Reads people's requirements, and how they change, from CSV or Parquet files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wevent import Dynamic, Fixed
from wevent.errors import InvalidRequirement, InvalidSetting, WeventError
from wevent.extend import to_epsilon
from wevent.study.datasets.reading import database, literal_path
from wevent.study.datasets.stream import DataStream
from wevent.study.requirements import StudyRequirements


@dataclass(frozen=True, slots=True)
class ListedChanges:
    """Changes that a file lists, by slot."""

    changes: Mapping[int, Sequence[tuple[int, Dynamic]]] = field(repr=False)

    def at(self, slot: int) -> Sequence[tuple[int, Dynamic]]:
        """Types whose requirement changes in this slot."""
        return self.changes.get(slot, ())


def read_requirements(
    stream: DataStream, requirements: Path | None, dynamic: Path | None, usual: tuple[float, int]
) -> StudyRequirements:
    """Requirements of the users of a stream.

    Args:
        stream: whose users they are.
        requirements: a file with columns user, epsilon, window; None if everybody requires `usual`.
        dynamic: a file with user, slot, epsilon, window and, optionally, backward_epsilon, backward_window: what a
            user requires from that slot on, for mechanisms that can follow.
        usual: epsilon and window of everybody if there is no file of requirements.

    Guarantees:
        Users share a type exactly if they require the same in every slot.
        A user without a line, twice in the file or not in the data is refused, and no message names one.
    """
    first = _read_fixed(stream, requirements, usual)
    later = _read_dynamic(stream, dynamic)
    types: dict[tuple[Fixed, tuple[tuple[int, Dynamic], ...]], int] = {}
    type_of = np.empty(stream.users, np.int64)
    for user in range(stream.users):
        type_of[user] = types.setdefault((first[user], later.get(user, ())), len(types))
    changes: dict[int, list[tuple[int, Dynamic]]] = defaultdict(list)
    for (_, listed), kind in types.items():
        for slot, requirement in listed:
            changes[slot].append((kind, requirement))
    fixed = tuple(requirement for requirement, _ in types)
    common = Fixed(to_epsilon(min(each.units for each in fixed)), max(each.window for each in fixed))
    return StudyRequirements(common, fixed, type_of, ListedChanges(dict(changes)) if changes else None)


def _read_fixed(stream: DataStream, path: Path | None, usual: tuple[float, int]) -> list[Fixed]:
    if path is None:
        return [Fixed(*usual)] * stream.users
    found: dict[int, Fixed] = {}
    for line, (user, epsilon, window) in enumerate(_positions(stream, path, ("epsilon", "window"), ()), start=1):
        if user in found:
            raise InvalidSetting(f"{path.name}: row {line} repeats a user; give one row for each")
        found[user] = _checked(path, line, lambda e=epsilon, w=window: Fixed(e, w))
    if missing := stream.users - len(found):
        raise InvalidSetting(f"{path.name} has no row for {missing} of {stream.users} users of the data")
    return [found[user] for user in range(stream.users)]


def _read_dynamic(stream: DataStream, path: Path | None) -> dict[int, tuple[tuple[int, Dynamic], ...]]:
    """By user, the slots in which the requirement changes, in order, and what is required from then on."""
    if path is None:
        return {}
    found: dict[int, dict[int, Dynamic]] = defaultdict(dict)
    backward = ("backward_epsilon", "backward_window")
    rows = _positions(stream, path, ("slot", "epsilon", "window"), backward)
    for line, (user, slot, epsilon, window, *back) in enumerate(rows, start=1):
        if not float(slot).is_integer() or slot < 1:
            raise InvalidSetting(f"{path.name}: row {line} has a slot that is no whole number from 1 on")
        sides = [(epsilon, window)] + ([(back[0], back[1])] if back and None not in back else [])
        if int(slot) in found[user]:
            raise InvalidSetting(f"{path.name}: row {line} repeats a user and slot; give one row for each")
        found[user][int(slot)] = _checked(path, line, lambda s=sides: Dynamic(*s))
    return {user: tuple(sorted(changes.items(), key=lambda item: item[0])) for user, changes in found.items()}


def _checked(path: Path, line: int, make: Any) -> Any:
    try:
        return make()
    except WeventError as error:
        raise InvalidRequirement(f"{path.name}, row {line}: {error}") from None


def _positions(stream: DataStream, path: Path, needed: Sequence[str], optional: Sequence[str]) -> list[tuple[Any, ...]]:
    """Rows of a file with the position of the user first, then the other columns as numbers."""
    rows = _table(path, needed, optional)
    names = getattr(stream, "people", ()) or map(str, range(stream.users))  # synthetic people are called 0, 1, 2, …
    position = {name: k for k, name in enumerate(names)}
    if unknown := sum(row[0] not in position for row in rows):
        raise InvalidSetting(f"{path.name} has {unknown} rows of users who are not in the data; leave them out")
    return [(position[row[0]], *row[1:]) for row in rows]


def _table(path: Path, needed: Sequence[str], optional: Sequence[str]) -> list[tuple[Any, ...]]:
    """User as text and the other columns as numbers; the optional ones only where the file has all of them."""
    import duckdb

    if not path.is_file():
        raise InvalidSetting(f"there is no file {path.name} in {path.parent}; check the path")
    reader = "read_parquet" if path.suffix.lower() == ".parquet" else "read_csv"
    with database() as connection:
        try:
            table = connection.sql(f"SELECT * FROM {reader}($file)", params={"file": literal_path(path)})  # noqa: S608
            columns = {name.strip().lower(): name.replace('"', '""') for name in table.columns}
            if missing := [name for name in ("user", *needed) if name not in columns]:
                listed = ", ".join(needed)
                raise InvalidSetting(f"{path.name} has no column {', '.join(missing)}; needed are user, {listed}")
            more = optional if all(name in columns for name in optional) else ()
            numbers = ", ".join(f'TRY_CAST("{columns[name]}" AS DOUBLE)' for name in (*needed, *more))
            rows = table.project(f'CAST("{columns["user"]}" AS VARCHAR), {numbers}').fetchall()
        except duckdb.Error:  # its message may quote rows
            raise InvalidSetting(f"{path.name} cannot be read as a table; check that it is whole") from None
    for line, row in enumerate(rows, start=1):
        if None in row[: 1 + len(needed)]:
            raise InvalidSetting(f"{path.name}: row {line} lacks a user or a number in {', '.join(needed)}")
    return rows
