"""Who counts where: names are resolved when a slot is closed, so that everybody counts once, in the row that pays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa
from tests.store.scene import CELLS, START, WIDTH, Town, config, spy
from tests.store.test_feeding import Hand, iso
from tests.support import quick_and_slow

from wevent import Dynamic, Fixed
from wevent.cohorts.requirement import Requirement
from wevent.events.formats import RawEvent
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store.arrays import decode_integers
from wevent.store.feeding import Feed, publish_files
from wevent.store.requirements import read_changes
from wevent.store.schema import carried, releases, row_assignments, slots
from wevent.store.session import Session
from wevent.store.sources import accept_files

GROUP: dict[str, Any] = {"group": {"size": 9, "epsilon": 1, "window": 4}}
Seen = list[tuple[list[int], list[int]]]
"""Of each slot: the cells of listed people by number, and how many unlisted people are in each cell."""


def watched(session: Session) -> Seen:
    """Note what every slot's rows hold."""
    seen: Seen = []
    spy(session, "release", lambda rows: seen.append((rows.cells.tolist(), rows.unlisted.tolist())))
    return seen


def put(session: Session) -> list[list[int]]:
    """Note which cells every slot has by position."""
    placed: list[list[int]] = []
    spy(session._publisher, "step", lambda slot: placed.append(slot.places.tolist()))
    return placed


def event(user: str, seconds: float, place: str = "north") -> RawEvent:
    """An event of a user, so many seconds after the first slot began."""
    return RawEvent(user, START + int(seconds * 1_000_000), (place,))


def take(feed: Feed, *events: RawEvent) -> int:
    """Let a feed accept events; how many it took."""
    left = iter(events)
    return int(feed.take([b"x"] * len(events), lambda _: next(left)).slot.size)


def opened(folder: Path, closing: str = "operator", **people: Any) -> Town:
    """A stream with a group, and two people listed from the first slot on."""
    slots = {"closing": closing, "ahead": "1 h"}
    if closing == "arrival":
        slots["lateness"] = "30 s"
    town = Town(folder / "t.db", folder / "t.json", config(people={**GROUP, **people}, slots=slots))
    town.require({"ann": Fixed(1, 4), "bob": Fixed(1, 4)})
    return town


@pytest.mark.parametrize("again", [False, True], ids=["one process", "opened again"])
def test_an_operator_lists_a_person_between_two_batches(tmp_path: Path, again: bool) -> None:
    """Accepted as an unlisted person, listed, accepted again: one person, in one row, with one of both cells."""
    town = opened(tmp_path)
    session = town.session()
    take(Feed(session, lambda release: None), event("ann", 1))
    Feed(session, lambda release: None).close(1)
    take(Feed(session, lambda release: None), event("xan", 62, "south"))
    town.require({"xan": Fixed(1, 4)})
    if again:
        session.close()
        session = town.session()
    seen = watched(session)
    feed = Feed(session, lambda release: None)
    assert take(feed, event("xan", 63, "east")) == 1
    feed.close(2)
    session.close()
    assert seen == [([-1, -1, 1], [0, 0, 0])]


def test_arrival_with_lateness(tmp_path: Path) -> None:
    """Listed while a slot is under way, a person counts in the group until their first slot, in each slot once."""
    town, clock = opened(tmp_path, "arrival"), Hand()
    with town.session(clock) as session:
        seen, feed = watched(session), Feed(session, lambda release: None)
        clock.seconds = 125
        take(feed, event("xan", 110), event("xan", 122, "south"))
        town.require({"xan": Fixed(1, 4)}, now=clock())  # takes effect in slot 4
        clock.seconds = 140
        assert take(feed, event("xan", 115, "east"), event("xan", 130, "east"), event("xan", 185, "south")) == 3
        clock.seconds = 275
        feed.close_due()
    assert [unlisted for _, unlisted in seen[1:]] == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert [cells[2:] for cells, _ in seen[1:]] == [[-1], [-1], [1]]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_are_resolved_slot_by_slot(tmp_path: Path, form: str) -> None:
    """Listed while files are released, a person counts in the group until their first slot, in each slot once."""
    town = opened(tmp_path, "files")
    path = tmp_path / "events.csv"
    lines = [f"{user},{iso(slot * 60 + 5)},{CELLS[slot % 3]}" for user in ("ann", "xan", "yve") for slot in range(6)]
    path.write_text("\n".join(["user,time,place", *lines]) + "\n")
    if form == "parquet":
        duckdb.sql(f"COPY (FROM read_csv('{path}')) TO '{path.with_suffix('.parquet')}'")
        path = path.with_suffix(".parquet")

    def on_release(release: Any) -> None:
        if release.slot == 2:
            town.require({"xan": Fixed(1, 4)})  # holds from slot 5 on: up to 4 events were handed over before

    with town.session() as session:
        seen = watched(session)
        publish_files(session, [path], START + 4 * WIDTH, on_release)
        publish_files(session, [path], START + 6 * WIDTH, on_release)
    assert [sum(unlisted) for _, unlisted in seen] == [2, 2, 2, 2, 1, 1]
    assert [cells[2:] for cells, _ in seen] == [[], [], [-1], [-1], [1], [2]]
    assert all(cells[:2] == [k % 3, -1] for k, (cells, _) in enumerate(seen))


def test_listed_for_later(tmp_path: Path) -> None:
    """Accepted by number before their first slot, people count in the group there; in streams without one, nowhere."""
    for group in (True, False):
        folder = tmp_path / str(group)
        folder.mkdir()
        town = opened(folder)
        if not group:
            town = Town(folder / "n.db", folder / "n.json", config(slots={"ahead": "1 h"}))
            town.require({"ann": Fixed(1, 4), "bob": Fixed(1, 4)})
        with town.session() as session:
            Feed(session, lambda release: None).close(1)
            town.require({"xan": Fixed(1, 4)}, now=START + WIDTH + 1)  # takes effect in slot 3
            feed, seen = Feed(session, lambda release: None), watched(session)
            placed = put(session)
            assert take(feed, event("xan", 62), event("xan", 122)) == 2
            feed.close(3)
        assert seen == [([-1, -1, -1], [1, 0, 0]), ([-1, -1, 0], [0, 0, 0])]
        assert placed == [[-1, -1], [-1, -1, 0]]


def test_who_left_counts_nowhere(tmp_path: Path) -> None:
    """A person who left, or withdrew before their first slot, is counted nowhere, whatever their events say."""
    town = opened(tmp_path)
    with town.session() as session:
        Feed(session, lambda release: None).close(1)
        town.require({"xan": Fixed(1, 4)})
        town.require({"xan": None, "bob": None})
        feed, seen, placed = Feed(session, lambda release: None), watched(session), put(session)
        take(feed, event("xan", 62), event("bob", 62), event("ann", 62))
        feed.close(2)
    assert [unlisted for _, unlisted in seen] == [[0, 0, 0]]
    assert placed[0][0] == 0
    assert set(placed[0][1:]) == {-1}


def test_leaving_and_returning_in_one_slot(tmp_path: Path) -> None:
    """Who leaves and returns before the same slot is there, once, in a row that knows their past."""
    town = opened(tmp_path)
    with town.session() as session:
        feed = Feed(session, lambda release: None)
        take(feed, event("bob", 1), event("bob", 62))
        feed.close(1)
        town.require({"bob": None})
        town.require({"bob": Fixed(1, 4)})
        placed = put(session)
        feed.close(2)
    assert placed == [[-1, 0]]
    town.session().close()


def test_a_refused_requirement_lists(tmp_path: Path) -> None:
    """A person listed with a requirement that could not be met counts nowhere, not in the group, from then on."""
    strict = {"mechanism": "uniform"}  # which serves everybody by the strictest, and refuses stricter ones later
    town = Town(tmp_path / "t.db", tmp_path / "t.json", config(people=GROUP, privacy=strict, slots={"ahead": "1 h"}))
    town.require({"ann": Fixed(1, 4)})
    with town.session() as session:
        feed, seen = Feed(session, lambda release: None), watched(session)
        feed.close(1)
        town.require({"xan": Fixed("0.1", 8)})
        take(feed, event("xan", 62), event("xan", 122))
        feed.close(3)
        registered = 1 in session._publisher.members.register
    with town.database.read() as connection:
        refused = [change.refused for change in read_changes(connection, 1, 2)]
    assert [sum(unlisted) for _, unlisted in seen] == [0, 0, 0]
    assert (refused, registered) == ([True], False)


def test_newcomers_are_taken_at_once(tmp_path: Path) -> None:
    """A person who is listed is known to the next batch of events, not only after the next slot was closed."""
    town = Town(tmp_path / "t.db", tmp_path / "t.json", config(slots={"ahead": "1 h"}))
    town.require({"ann": Fixed(1, 4)})
    with town.session() as session:
        feed = Feed(session, lambda release: None)
        assert take(feed, event("xan", 1)) == 0
        town.require({"xan": Fixed(1, 4)})
        assert take(feed, event("xan", 2)) == 1
        town.require({"yve": Fixed(1, 4)})
        path = tmp_path / "events.parquet"
        duckdb.sql(f"COPY (SELECT 'yve' AS \"user\", '{iso(3)}'::TIMESTAMPTZ AS time, 'north' AS place) TO '{path}'")
        accept_files(feed, [path])
        seen = watched(session)
        feed.close(1)
    assert seen == [([-1, 0, 0], [0, 0, 0])]


def test_what_is_carried_is_wiped(tmp_path: Path) -> None:
    """The store holds where a person was last seen while they are carried; not after that, nor after they left."""
    carry = {"presence": "carry", "carry": 3}
    chosen = config(people=carry, privacy={"neighbours": "substitution"}, slots={"ahead": "1 h"})
    town = Town(tmp_path / "t.db", tmp_path / "t.json", chosen)
    town.require({"ann": Fixed(1, 4), "bob": Fixed(1, 4)})
    kept: list[list[int]] = []
    with town.session() as session:
        feed, placed = Feed(session, lambda release: None), put(session)
        take(feed, event("ann", 1, "east"), event("bob", 62, "south"))
        for slot in range(1, 5):
            if slot == 3:
                town.require({"bob": None})
            feed.close(slot)
            with town.database.read() as connection:
                kept.append(decode_integers(connection.execute(sa.select(carried.c.last)).scalar_one()).tolist())
    assert [cells[0] for cells in placed] == [2, 2, 2, -1]
    assert kept == [[2, -1, 1, -1], [2, 1, 1, 2], [-1, -1, -1, -1], [-1, -1, -1, -1]]


@pytest.mark.parametrize("mechanism", quick_and_slow(["dpbd"], ["pbd", "auto"]))
@pytest.mark.parametrize("required", quick_and_slow([Fixed(1, 6), Dynamic((1, 5), (1, 5))], [Fixed("0.5", 4)]))
def test_from_the_group_to_a_row_of_ones_own(tmp_path: Path, mechanism: str, required: Requirement) -> None:
    """Counted as unlisted, then listed: no window of theirs holds more than they require, spends as unlisted included.

    Over openings, replay and audit; what the group spent is added up here from the charges and rows in the store.
    """
    if mechanism == "pbd" and isinstance(required, Dynamic):
        required = Fixed(1, 12)
    group = {"group": {"size": 9, "epsilon": 4, "window": 4}}
    chosen = config(people=group, privacy={"mechanism": mechanism, "history_slots": 8}, slots={"ahead": "1 h"})
    town = Town(tmp_path / "t.db", tmp_path / "t.json", chosen)
    town.require({"ann": Fixed(4, 4)})
    for first in range(1, 13, 3):
        if first == 4:
            town.require({"xan": required})
        with town.session() as session:
            feed = Feed(session, lambda release: None)
            for slot in range(first, first + 3):
                take(feed, event("xan", slot * 60 - 30, CELLS[slot % 3]), event("yve", slot * 60 - 20))
                feed.close(slot)
    spent = {slot: spends.get(1, spends[-1]) for slot, spends in spends_by_person(town).items()}
    window = required.window if isinstance(required, Fixed) else required.backward.window
    units = required.units if isinstance(required, Fixed) else required.backward.units
    before = sum(spent[slot] for slot in range(max(1, 5 - window), 4))
    for last in range(4, 13):
        inside = sum(spent[slot] for slot in range(max(1, last - window + 1), last + 1))
        assert inside <= max(units, before), (last, inside)
    assert any(spent[slot] for slot in range(1, 4))
    found = audit(read_history(town.database))
    assert found.kept, found.violations


def spends_by_person(town: Town) -> dict[int, dict[int, int]]:
    """What everybody spent in each slot, by person, -1 for the group."""
    with town.database.read() as connection:
        charges = connection.execute(
            sa.select(slots.c.slot, slots.c.change_budget, slots.c.publish_budget, releases.c.decision).join(
                releases, (releases.c.stream == slots.c.stream) & (releases.c.slot == slots.c.slot)
            )
        ).all()
        moves = connection.execute(
            sa.select(row_assignments.c.from_slot, row_assignments.c.person, row_assignments.c.row)
        ).all()
    found: dict[int, dict[int, int]] = {}
    for slot, change_budget, publish_budget, decision in charges:
        row_of = {person: row for from_slot, person, row in sorted(tuple(move) for move in moves) if from_slot <= slot}
        paid = decode_integers(change_budget) + (
            decode_integers(publish_budget) if decision in ("published", "lost") else 0
        )
        found[slot] = {person: int(paid[row]) for person, row in row_of.items() if row >= 0}
    return found
