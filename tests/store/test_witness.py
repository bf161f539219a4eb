"""The witness file: whose it is, how it is written, and that copies of a store never go on beside each other."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.store.scene import Town, config, random_rows

from wevent import Fixed
from wevent.errors import StoreUnavailable, StreamTaken, WitnessMissing
from wevent.releases.release import Decision
from wevent.store.database import to_url
from wevent.store.requirements import read_changes
from wevent.store.witness import Witness, WitnessRecord, place_of, witness_name

RECORD = WitnessRecord("store", "town", slot=20, epoch=3, changes=5, longest_window=7)


@pytest.fixture
def town(tmp_path: Path) -> Town:
    made = Town(tmp_path / "town.db", tmp_path / "witness" / "town.json")
    made.people(3)
    return made


def publish(town: Town, slots: int) -> None:
    """Release so many slots in a session of its own."""
    with town.session() as session:
        for slot in range(session.next_slot, session.next_slot + slots):
            session.release(random_rows(session, slot))


def copy(town: Town, path: Path) -> Path:
    """Copy the store of a town as it is now."""
    town.database.close()
    path.write_bytes(Path(str(town.where)).read_bytes())
    return path


# --- the file ------------------------------------------------------------------------------------


def test_no_two_streams_share_a_witness(tmp_path: Path) -> None:
    """Streams and places that differ have witnesses that differ; symbolic links to one store lead to one witness."""
    names = [witness_name(stream, place) for stream in ("a b", "a_b", "a-b", "A b") for place in ("/x/s.db", "/y/s.db")]
    assert len(set(names)) == len(names)
    assert len({name.lower() for name in names}) == len(names)
    (tmp_path / "store.db").touch()
    (tmp_path / "link.db").symlink_to("store.db")
    assert place_of(to_url(tmp_path / "link.db")) == place_of(to_url(tmp_path / "store.db"))
    urls = [f"postgresql://me:secret@{host}/city" for host in ("localhost", "127.0.0.1:5432", "LOCALHOST")]
    urls += ["postgresql:///city?host=/run/postgresql"]
    assert len({place_of(to_url(url)) for url in urls}) == 1
    assert "secret" not in place_of(to_url(urls[0]))
    assert place_of(to_url("postgresql://h/one")) != place_of(to_url("postgresql://h/two"))


def test_written_through_a_symbolic_link(tmp_path: Path) -> None:
    """A link stays a link, so that two names of one witness never become two witnesses; the file is its owner's."""
    link, real = Witness(tmp_path / "link.json"), Witness(tmp_path / "real.json")
    link.path.symlink_to(real.path)
    link.write(RECORD)
    assert link.path.is_symlink()
    link.advance(21, RECORD)
    assert real.read() == replace(RECORD, slot=21)
    assert stat.S_IMODE(real.path.stat().st_mode) == 0o600
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    link.path.unlink()
    link.path.symlink_to(link.path)
    with pytest.raises(StoreUnavailable):
        link.write(RECORD)


def test_two_copies_over_a_symbolic_link(tmp_path: Path) -> None:
    """Two copies of a store whose witnesses are one file by a link never draw the same slot both."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json")
    town.people(3)
    publish(town, 2)
    (tmp_path / "link.json").symlink_to("witness.json")
    other = Town(copy(town, tmp_path / "other.db"), tmp_path / "link.json")
    with town.session() as first:
        with other.session() as second:
            second.release(random_rows(second, 3))
        with pytest.raises(StreamTaken):
            first.release(random_rows(first, 3))
    publish(other, 1)
    with town.session() as first:
        assert first.next_slot == 5


def test_several_names_are_refused(town: Town, tmp_path: Path) -> None:
    """A hard link to a witness, or to a store, is refused: writing to one name leaves the other behind."""
    publish(town, 1)
    os.link(town.witness.path, tmp_path / "second.json")
    with pytest.raises(StoreUnavailable, match="hard links"):
        town.session()
    (tmp_path / "second.json").unlink()
    with town.session() as session:
        os.link(tmp_path / "town.db", tmp_path / "second.db")
        session.release(random_rows(session, 2))  # a snapshot stops nobody who is at work
    with pytest.raises(StoreUnavailable, match="hard links"):
        town.session()


@pytest.mark.parametrize("known", [replace(RECORD, store="other"), replace(RECORD, stream="other")])
def test_only_its_own_stream_moves_a_witness(tmp_path: Path, known: WitnessRecord) -> None:
    """Neither a slot nor a change is written into the witness of another store or stream."""
    witness = Witness(tmp_path / "witness.json")
    witness.write(known)
    with pytest.raises(WitnessMissing, match="another store or stream"):
        witness.advance(21, RECORD)
    with pytest.raises(WitnessMissing, match="another store or stream"):
        witness.count_changes(replace(RECORD, changes=6), 1, 0)
    assert witness.read() == known


def test_a_damaged_witness(tmp_path: Path) -> None:
    """Any digit of a witness that changes, and any part that is cut off, is noticed."""
    witness = Witness(tmp_path / "witness.json")
    witness.write(RECORD)
    text = witness.path.read_text()
    for broken in (text.replace("20", "21"), text.replace('"epoch": 3', '"epoch": 2'), text[:-4], "", "[]", "null"):
        witness.path.write_text(broken)
        with pytest.raises(WitnessMissing, match="damaged"):
            witness.read()


def test_publisher_and_requirements_write_at_once(tmp_path: Path) -> None:
    """Slots and changes that different writers tell one witness at the same time are all remembered."""
    witness = Witness(tmp_path / "witness.json")
    witness.write(replace(RECORD, slot=0, changes=0))

    def tell(number: int) -> None:
        if number % 2:
            Witness(witness.path).advance(number, RECORD)
        else:
            Witness(witness.path).count_changes(replace(RECORD, changes=number, longest_window=number), number, 0)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tell, range(1, 61)))
    known = witness.read()
    assert known is not None
    assert (known.slot, known.changes, known.longest_window) == (59, 60, 60)


# --- store and witness together ------------------------------------------------------------------


def test_a_stale_witness_is_refused(tmp_path: Path) -> None:
    """A host whose witness is from before another host went on does not draw slots again after a restore there."""
    first_host = Town(tmp_path / "town.db", tmp_path / "here" / "witness.json")
    first_host.people(3)
    publish(first_host, 10)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "witness.json").write_text(first_host.witness.path.read_text())
    with first_host.session():
        pass  # another host goes on
    backup = copy(first_host, tmp_path / "backup.db")
    publish(first_host, 10)
    second_host = Town(backup, tmp_path / "there" / "witness.json")
    with pytest.raises(WitnessMissing, match="older than the store"):
        second_host.session()
    with pytest.raises(WitnessMissing, match="older than the store"):
        second_host.require({"person-0": Fixed(0.1, 4)})
    with second_host.session(shown=20) as session:
        assert session.next_slot == 21


def test_an_interrupted_opening(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies between writing the witness and the store, or the other way round, locks nobody out."""
    publish(town, 2)
    write = Witness.write

    def write_and_die(self: Witness, record: WitnessRecord) -> None:
        write(self, record)
        raise KeyboardInterrupt

    def die(self: Witness, record: WitnessRecord) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Witness, "write", write_and_die)
    with pytest.raises(KeyboardInterrupt):
        town.session()
    monkeypatch.setattr(Witness, "write", die)
    with pytest.raises(KeyboardInterrupt):
        town.session()
    monkeypatch.undo()
    with town.session() as session:
        assert session.next_slot == 3


def test_a_witness_that_vanishes(town: Town) -> None:
    """Without its witness no slot is charged; once it is back, the same slot is released and none was lost."""
    with town.session() as session:
        session.release(random_rows(session, 1))
        away = town.witness.path.rename(town.witness.path.with_name("away"))
        with pytest.raises(WitnessMissing, match="gone"):
            session.release(random_rows(session, 2))
        away.rename(town.witness.path)
        assert session.release(random_rows(session, 2)).decision is not Decision.LOST


def test_a_change_that_the_witness_does_not_learn(town: Town) -> None:
    """A requirement change is not stored unless the witness counts it; a missing folder is not made for it."""
    publish(town, 1)
    away = town.witness.path.parent
    away.rename(away.with_name("away"))
    with pytest.raises(WitnessMissing, match="gone"):
        town.require({"person-0": Fixed(0.1, 4)})
    assert not away.exists()
    away.with_name("away").rename(away)
    away.chmod(0o500)
    if os.geteuid() != 0:  # root writes wherever it likes
        with pytest.raises(StoreUnavailable):
            town.require({"person-0": Fixed(0.1, 4)})
    away.chmod(0o700)
    with town.database.read() as connection:
        assert len(list(read_changes(connection, 1))) == 3
    assert town.require({"person-0": Fixed(0.1, 9)}) == 1
    known = town.witness.read()
    assert known is not None
    assert (known.changes, known.longest_window) == (4, 9)


def test_carried_people_are_promised_more(tmp_path: Path) -> None:
    """The witness knows windows as the ledger keeps them: longer by the slots that a person is carried."""
    chosen = config(people={"presence": "carry", "carry": 5}, privacy={"neighbours": "substitution"})
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", chosen)
    town.require({"person-0": Fixed(1, 4)})
    known = town.witness.read()
    assert known is not None
    assert known.longest_window == 8


def test_a_moved_store(town: Town, tmp_path: Path) -> None:
    """A copy at another place says where the witness lies; only one of the two places can have it."""
    publish(town, 2)
    moved = Town(copy(town, tmp_path / "moved.db"), town.witness.path.with_name("moved.json"))
    for shown in (None, 2):
        with pytest.raises(WitnessMissing, match=r"town\.json.*move that file"):
            moved.session(shown=shown)
    town.witness.path.rename(moved.witness.path)
    publish(moved, 1)
    with pytest.raises(WitnessMissing):
        publish(town, 1)
