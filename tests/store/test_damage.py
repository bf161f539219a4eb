"""One bit that flips in a store is seen, and never ends in a traceback."""

from __future__ import annotations

import random
import sqlite3
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.store.scene import Town, clock, config, random_rows, sorted_events, waiting_rows
from tests.support import quick_and_slow

from wevent import Fixed
from wevent.errors import CorruptState, WeventError
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.reports.releases import public_releases
from wevent.store.arrays import decode_integers, encode_array
from wevent.store.damage import check_store
from wevent.store.database import open_database
from wevent.store.session import Session
from wevent.store.witness import Witness

TREES = {2: 12, 5: 12, 10: 8, 13: 8}
"""The kinds of pages of a SQLite file that hold rows or keys, and how long their headers are."""


def town(folder: Path, mechanism: str) -> Town:
    """A store with something in every table."""
    chosen = config(privacy={"mechanism": mechanism, "history_slots": 8})
    made = Town(folder / "town.db", folder / "w.json", chosen)
    made.people(6)
    for slot in range(1, 8):
        if slot == 3:
            made.require({"person-1": Fixed(3, 3), "person-2": None})
        with made.session() as session:
            session.release(random_rows(session, slot))
            if slot == 4:
                session.keep_state()
            if slot == 7:
                session.intake.accept(sorted_events(session, [("person-1", 8 * 60_000_000, "north")]))
    made.database.close()
    return made


def used_bytes(data: bytes, size: int = 4096) -> list[int]:
    """The places of a SQLite file that hold something: headers, pointers, cells, and chained pages."""
    found: list[int] = []
    for page in range(len(data) // size):
        start, head = page * size, 100 if page == 0 else 0
        kind = data[start + head]
        if kind not in TREES:
            found += [place for place in range(start, start + size) if data[place]]
            continue
        free, cells, content = struct.unpack(">HHH", data[start + head + 1 : start + head + 7])
        inside = set(range(content or 65536, size)) | set(range(head, head + TREES[kind] + 2 * cells))
        while free:
            following, length = struct.unpack(">HH", data[start + free : start + free + 4])
            inside -= set(range(free + 4, free + length))
            free = following
        found += [start + place for place in sorted(inside)]
    return found


def uses(path: Path, made: Town) -> Iterator[Callable[[], object]]:
    """What an operator may do with a store; the audit comes first."""

    def look() -> None:
        with open_database(path, read_only=True) as database:
            check_store(database)
            if not audit(read_history(database)).kept:
                raise CorruptState("a promise was broken")

    def read() -> None:
        with open_database(path, read_only=True) as database:
            audit(read_history(database))
            list(public_releases(database, 1, 3, 1, 99))

    def publish() -> None:
        with (
            open_database(path) as database,
            Session(database, made.config, Witness(path.with_name("w.json")), clock) as session,
        ):
            for _ in range(2):
                session.release(waiting_rows(session, session.next_slot))

    yield from (look, read, publish)


@pytest.mark.parametrize("flips", quick_and_slow([("pbd", 30)], [("pbd", 400), ("auto", 400)]))
def test_flipped_bits(tmp_path: Path, flips: tuple[str, int]) -> None:
    """The audit sees a bit that flips where the file holds something; a reader that meets it raises a typed error."""
    mechanism, many = flips
    made = town(tmp_path, mechanism)
    data, witness = (tmp_path / "town.db").read_bytes(), (tmp_path / "w.json").read_bytes()
    places, chance, unseen = used_bytes(data), random.Random(20), []
    for number in range(many):
        place, bit = chance.choice(places), chance.randrange(8)
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "w.json").write_bytes(witness)
        (folder / "town.db").write_bytes(data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :])
        for step, use in enumerate(uses(folder / "town.db", made)):
            try:
                use()
            except WeventError:
                continue
            if step == 0:
                unseen.append((place // 4096 + 1, place % 4096, bit))
    assert unseen == []


def test_lost_rows(tmp_path: Path) -> None:
    """People, rows or charges that vanish as a whole are noticed when the stream is opened, or by the audit."""
    made = town(tmp_path, "pbd")
    for table in ("people", "row_assignments", "slots", "requirement_changes"):
        path = tmp_path / f"{table}.db"
        path.write_bytes((tmp_path / "town.db").read_bytes())
        with sqlite3.connect(path) as connection:
            connection.execute(f"DELETE FROM {table} WHERE rowid = (SELECT max(rowid) FROM {table})")  # noqa: S608
        connection.close()
        (tmp_path / "w.json").with_name("copy.json").write_bytes((tmp_path / "w.json").read_bytes())
        looking, *_, publishing = uses(path, made)
        seen = []
        for use in (looking, publishing):
            try:
                use()
            except WeventError:
                seen.append(True)
        assert seen, table


def test_arrays_of_odd_lengths() -> None:
    """Bytes that are no whole number of numbers, or no compressed bytes, are damage."""
    import zlib

    for data in (
        zlib.compress(b"1234567"),
        b"",
        encode_array(decode_integers(encode_array(decode_integers(zlib.compress(b"12345678")))))[:-3],
    ):
        with pytest.raises(CorruptState):
            decode_integers(data)
