"""Sources pass on every event once, and slots close by the clock alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.store.scene import Town, spy
from tests.store.test_feeding import Hand, iso, live
from tests.store.test_followed_files import append, line, lines

from wevent.store.feeding import Feed
from wevent.store.followed_files import FollowedFile
from wevent.store.sources import accept_files


def test_given_again_under_another_name(tmp_path: Path) -> None:
    """A file that was accepted and then renamed is not accepted once more; one that has its old name is read whole."""
    town = Town(tmp_path / "town.db", tmp_path / "town.json")
    town.people(4)
    events, moved = tmp_path / "a.ndjson", tmp_path / "b.ndjson"
    events.write_bytes(lines(0, 20))
    with town.session() as session:
        feed = Feed(session, lambda release: None)
        accept_files(feed, [events])
        events.rename(moved)
        events.write_bytes(lines(30, 40))
        accept_files(feed, [moved])
        assert feed.tallies["accepted"] == 20
        accept_files(feed, [events])
        assert feed.tallies["accepted"] == 30


def test_the_last_line_needs_its_end(tmp_path: Path) -> None:
    """A last line without a newline is not read, may be half a name, and is read when its end has come."""
    town = Town(tmp_path / "town.db", tmp_path / "town.json")
    town.people(4)
    events = tmp_path / "a.csv"
    events.write_text(f"user,time,place\nperson-0,{iso(1)},north\nperson-1,{iso(1)},nor")
    said: list[str] = []
    with town.session() as session:
        feed = Feed(session, lambda release: None, warn=said.append)
        accept_files(feed, [events])
        assert feed.tallies == {"accepted": 1}
        assert len(said) == 1
        append(events, b"th\n")
        accept_files(feed, [events])
        assert feed.tallies == {"accepted": 2}
        assert len(said) == 1


def test_a_whole_object_needs_no_end(tmp_path: Path) -> None:
    """In a file that was given whole, a last line of JSON that is whole counts without its newline, once."""
    town = Town(tmp_path / "town.db", tmp_path / "town.json")
    town.people(4)
    events = tmp_path / "a.ndjson"
    events.write_bytes(lines(0, 3).rstrip(b"\n"))
    with town.session() as session:
        feed = Feed(session, lambda release: None)
        accept_files(feed, [events])
        assert feed.tallies == {"accepted": 3}
        append(events, b"\n" + lines(3, 5))
        accept_files(feed, [events])
        assert feed.tallies == {"accepted": 5}


@pytest.mark.parametrize("gone", ["person-0", "person-3"])
def test_others_change_nothing(gone: str, tmp_path: Path) -> None:
    """Over a pause, a rotation and a slow reading: without one person's lines, what becomes of others is the same."""
    found = []
    for name, left_out in (("with", ""), ("without", gone)):
        folder = tmp_path / name
        folder.mkdir()
        town, path, clock = live(folder, lateness="0 s"), folder / "events.ndjson", Hand()
        rows: list[tuple[int, list[int]]] = []

        def write(first: int, last: int, path: Path = path, left_out: str = left_out) -> None:
            kept_lines = [line(k) for k in range(first, last) if f"person-{k % 4}" != left_out]
            append(path, b"".join(kept_lines))

        for second in (90, 250):
            write(second * 10 - 900, second * 10)
            clock.seconds = second
            with town.session(clock) as session:
                feed = Feed(session, lambda release: None)
                spy(session, "release", lambda given, rows=rows: rows.append((given.number, given.cells.tolist())))  # type: ignore[misc]
                with FollowedFile(feed, path, "ndjson", 0) as file:
                    for step in range(3):
                        look = feed.look()
                        file.read(look)
                        clock.seconds += 20  # a slow machine
                        feed.close_by(look)
                        write(int(clock.seconds) * 10 - 300, int(clock.seconds) * 10)  # some of it is late
                        if step == 1:
                            path.rename(folder / "events.ndjson.1")
                            path.touch()
        found.append(rows)
    place = int(gone[-1])
    assert len(found[0]) >= 4
    for (number, cells), (second_file, fewer) in zip(*found, strict=True):
        assert number == second_file
        assert fewer[place] == -1
        assert [cell for k, cell in enumerate(cells) if k != place] == [
            cell for k, cell in enumerate(fewer) if k != place
        ]
        assert max(cells) >= 0


def test_a_backlog_is_read_before_slots_close(tmp_path: Path) -> None:
    """After a pause, and after a slow release, what the file had in time counts, and what comes later is late."""
    town = live(tmp_path, lateness="0 s")
    path = tmp_path / "events.ndjson"
    path.write_bytes(lines(0, 900))  # a slot and a half; nobody was there to read them
    clock = Hand()
    clock.seconds = 1_000
    with town.session(clock) as session:
        feed = Feed(session, lambda release: None)
        with FollowedFile(feed, path, "ndjson") as file:
            look = feed.look()
            file.read(look)
            feed.close_by(look)
            assert session.next_slot == 17
            assert feed.tallies == {"accepted": 900}
            append(path, lines(0, 10))
            file.read(feed.look())
            assert feed.tallies == {"accepted": 900, "late": 10}
            clock.seconds = 1_019
            look = feed.look()
            clock.seconds = 1_100  # the file is big, or the machine is slow
            append(path, line(10_100))
            file.read(look)
            feed.close_by(look)
            assert feed.tallies["accepted"] == 901
            assert session.next_slot == 17
