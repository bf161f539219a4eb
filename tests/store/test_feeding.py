"""Slots are closed by a clock; what one person does never changes what becomes of others."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.scene import CELLS, START, WIDTH, Town, config, spy

from wevent import Fixed
from wevent.errors import InvalidSetting
from wevent.events.formats import RawEvent
from wevent.events.gathering import Listing, SlotCells, gather
from wevent.events.timeline import show_instant
from wevent.releases.release import Release
from wevent.store.accounting import read_tallies
from wevent.store.due_slots import last_slot
from wevent.store.feeding import Feed, publish_files
from wevent.store.sources import accept_files, follow

Line = tuple[str, int, int, str]
"""User, arrival and instant in seconds since the first slot began, place."""


def live(folder: Path, name: str = "town", **slots: object) -> Town:
    """A stream closed by arrival, 30 seconds after each slot of a minute."""
    chosen = config(slots={"closing": "arrival", "lateness": "30 s", "ahead": "10 s", **slots})
    town = Town(folder / f"{name}.db", folder / f"{name}.json", chosen)
    town.people(4)
    return town


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> int:
        return START + int(self.seconds * 1_000_000)


def run(town: Town, lines: Sequence[Line]) -> tuple[list[tuple[int, int]], list[list[int]], list[tuple[Line, bool]]]:
    """Feed lines as they arrive: (slot, when it closed), the rows of each slot, and each line with its fate."""
    clock = Hand()
    closed: list[tuple[int, int]] = []
    rows: list[list[int]] = []
    fates = []
    with town.session(clock) as session:

        def on_release(release: Release) -> None:
            closed.append((release.slot, clock()))

        feed = Feed(session, on_release)
        spy(session, "release", lambda given: rows.append(given.cells.tolist()))
        waiting = sorted(lines, key=lambda line: line[1])
        for second in range(0, 400, 10):
            clock.seconds = second
            feed.close_due()
            for line in [line for line in waiting if second <= line[1] < second + 10]:
                event = RawEvent(line[0], START + line[2] * 1_000_000, (line[3],))
                events = feed.take([b"x"], lambda _, event=event: event)  # type: ignore[misc]
                fates.append((line, bool(events.slot.size)))
    return closed, rows, fates


line_lists = st.lists(
    st.tuples(
        st.sampled_from(["person-0", "person-1", "person-2", "unlisted"]),
        st.integers(0, 399),
        st.integers(-30, 420),
        st.sampled_from([*CELLS, "nowhere"]),
    ),
    max_size=12,
)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line_lists, st.sampled_from(["person-0", "person-1", "unlisted"]))
def test_others_change_nothing(tmp_path_factory: pytest.TempPathFactory, lines: list[Line], gone: str) -> None:
    """With and without one user's events, every other row, closing time and refusal is the same."""
    folder = tmp_path_factory.mktemp("streams")
    with_them = run(live(folder, "with"), lines)
    without = run(live(folder, "without"), [line for line in lines if line[0] != gone])
    assert with_them[0] == without[0]
    place = {"person-0": 0, "person-1": 1}.get(gone)
    for with_row, without_row in zip(with_them[1], without[1], strict=True):
        assert [cell for k, cell in enumerate(with_row) if k != place] == [
            cell for k, cell in enumerate(without_row) if k != place
        ]
    assert [fate for fate in with_them[2] if fate[0][0] != gone] == without[2]


def test_the_clock_closes(tmp_path: Path) -> None:
    """Slots close at their end plus the lateness, also without events; late and future events are refused."""
    lines: list[Line] = [
        ("person-0", 5, 3, "north"),
        ("person-1", 85, 59, "south"),  # 25 seconds late: still taken
        ("person-2", 95, 59, "south"),  # its slot closed at 90
        ("person-2", 100, 109, "east"),  # 9 seconds ahead: taken
        ("person-2", 100, 115, "north"),  # 15 seconds ahead: not taken
        ("person-3", 100, -1, "north"),
    ]
    town = live(tmp_path)
    closed, rows, fates = run(town, lines)
    assert closed == [(slot, START + (60 * slot + 30) * 1_000_000) for slot in range(1, 7)]
    assert rows[0] == [0, 1, -1, -1]
    assert rows[1] == [-1, -1, 2, -1]
    assert rows[2:] == [[-1] * 4] * 4
    assert [taken for _, taken in fates] == [True, True, False, True, False, False]
    with town.database.read() as connection:
        assert read_tallies(connection, 1) == {"accepted": 3, "late": 1, "in the future": 1, "before the first slot": 1}


def test_an_operator_closes(tmp_path: Path) -> None:
    """Without the operator's word nothing closes; with it every slot up to there, and what is later waits."""
    town = Town(tmp_path / "town.db", tmp_path / "town.json")
    town.people(4)
    events = tmp_path / "events.csv"
    events.write_text(f"user,time,place\nperson-0,{iso(1)},north\nperson-1,{iso(200)},south\n")
    seen: list[int] = []
    with town.session() as session:
        feed = Feed(session, lambda release: seen.append(release.slot))
        accept_files(feed, [events])
        assert last_slot(session, None) == 0
        feed.close(last_slot(session, START + 2 * WIDTH + 5))
        assert seen == [1, 2]
        rows = gather(4, session.intake.batches(4), "first", Listing.of_all(session.people), 3)
        assert rows.cells.tolist() == [-1, 1, -1, -1]
        accept_files(feed, [events])  # read to its end before: nothing more
    with town.database.read() as connection:
        assert read_tallies(connection, 1) == {"accepted": 2}


def test_files_are_read_on(tmp_path: Path) -> None:
    """A stream of files goes on where it stopped, with the same rows as in one go, whatever the files hold."""
    chosen = config(slots={"closing": "files"})
    events = tmp_path / "events.csv"
    lines = [f"person-{k % 4},{iso(k * 7)},{CELLS[k % 3]}" for k in range(60)]
    events.write_text("\n".join(["user,time,place", *lines]) + "\n")
    found: dict[str, list[list[int]]] = {}
    for name, stops in (("once", [8]), ("often", [1, 3, 8])):
        town = Town(tmp_path / f"{name}.db", tmp_path / f"{name}.json", chosen)
        town.people(4)
        found[name] = []
        for stop in stops:
            with town.session() as session:
                note = found[name].append
                spy(session, "release", lambda rows, note=note: note(rows.cells.tolist()))  # type: ignore[misc]
                publish_files(session, [events], START + stop * WIDTH, lambda release: None)
        with town.session() as session:
            assert session.next_slot == 9
            assert publish_files(session, [events], START + 8 * WIDTH, lambda release: None) == 0
    assert found["once"] == found["often"]
    assert len(found["once"]) == 8


def test_too_many_slots(tmp_path: Path) -> None:
    """A first slot in a wrong century does not publish for days."""
    town = Town(
        tmp_path / "t.db", tmp_path / "t.json", config(slots={"closing": "files", "first": "0001-01-01T00:00:00Z"})
    )
    with town.session() as session, pytest.raises(InvalidSetting, match="--until"):
        last_slot(session, None)


def test_following_a_file(tmp_path: Path) -> None:
    """Lines are taken as they are written, a half-written one when it is whole; resumed, none is taken twice."""
    town = live(tmp_path, first="2020-01-01T00:00:00Z", width="1 s", lateness="0 s")
    path = tmp_path / "events.ndjson"
    path.touch()

    def line(user: str, ahead: float = 0) -> bytes:
        return f'{{"user": "{user}", "time": {int((time.time() + ahead) * 1000)}, "place": "north"}}\n'.encode()

    town.config = config(
        slots={"closing": "arrival", "width": "1 s", "first": iso_now(), "ahead": "10 s"},
        sources={"time_unit": "ms"},
        stream={"name": "f"},
        people={"shared": True},
    )
    town.people(4)

    def write() -> None:
        for k in range(3):
            with path.open("ab") as file:
                whole = line(f"person-{k}")
                file.write(whole[:10])
                file.flush()
                time.sleep(0.1)
                file.write(whole[10:])

    def now() -> int:
        return time.time_ns() // 1000

    for _ in range(2):
        writer = threading.Thread(target=write)
        writer.start()
        released: list[int] = []
        with town.session(now) as session:
            note = released.append
            feed = Feed(session, lambda release, note=note: note(release.slot), until=now() + 2_000_000)  # type: ignore[misc]
            follow(feed, path, "ndjson", pause=0.02)
        writer.join()
        assert released == list(range(released[0], released[-1] + 1))
    with town.database.read() as connection:
        tallies = read_tallies(connection, 2)
    assert sum(tallies.values()) == 6, tallies  # on a slow machine some may be late, but each is counted once
    assert set(tallies) <= {"accepted", "late"}


def test_carried_people(tmp_path: Path) -> None:
    """Carried for 3 slots, also over a restart; windows in the ledger are wider by 2."""
    chosen = config(
        people={"presence": "carry", "carry": 3}, privacy={"mechanism": "pbd", "neighbours": "substitution"}
    )
    town = Town(tmp_path / "t.db", tmp_path / "t.json", chosen)
    town.require({"ann": Fixed(1, 4), "bob": Fixed(1, 4)})
    rows: list[list[int]] = []
    for slot in range(1, 6):
        with town.session() as session:
            assert session._publisher.ledger.versions.window.tolist() == [6]
            spy(session._publisher, "step", lambda given: rows.append(given.places.tolist()))
            seen = np.array([2, -1] if slot == 1 else [-1, 0] if slot == 2 else [-1, -1])
            session.release(SlotCells(slot, seen, np.zeros(3, np.int64)))
    assert rows == [[2, -1], [2, 0], [2, 0], [-1, 0], [-1, -1]]


def test_the_group(tmp_path: Path) -> None:
    """Unlisted people count into the declared row, one cell each, cut to the declared size per cell; never refused."""
    chosen = config(people={"group": {"size": 3, "epsilon": 1, "window": 4}})
    town = Town(tmp_path / "t.db", tmp_path / "t.json", chosen)
    town.people(2)
    events = tmp_path / "events.csv"
    unlisted = [f"unlisted-{k},{iso(k)},north" for k in range(9)]
    events.write_text("\n".join(["user,time,place", *unlisted, f"unlisted-0,{iso(20)},south"]) + "\n")
    counts: list[list[int]] = []
    with town.session() as session:
        feed = Feed(session, lambda release: None)
        accept_files(feed, [events])
        spy(session._publisher, "step", lambda given: counts.append(given.unlisted["group"].tolist()))
        feed.close(1)
        assert session._publisher.ledger.all_sizes.tolist()[-1] == 3
    assert counts == [[9, 0, 0]]


def iso(seconds: float) -> str:
    """A time since the first slot began."""
    return show_instant(START + int(seconds * 1_000_000))


def iso_now() -> str:
    """This second."""
    return show_instant(time.time_ns() // 1000)
