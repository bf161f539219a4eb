"""`auto` in a store: fractional counts, raw ones, and what was learned survive whatever happens."""

from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from tests.store.scene import Town, config, random_rows, same, settings
from tests.store.twin import BrokenError, Twin, with_noise

from wevent import Fixed
from wevent.cohorts.requirement import Requirement
from wevent.config.read import to_config
from wevent.errors import CorruptState, SettingsChanged, StoreUnavailable, StoreVersion
from wevent.events.gathering import SlotCells
from wevent.mechanisms import ESTIMATORS
from wevent.releases.journal import Charge, Outcome
from wevent.releases.release import Decision, Release
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store import session as sessions
from wevent.store.checksums import update
from wevent.store.schema import learned, releases, shown, slots, states
from wevent.store.session import Session

PEOPLE = 12
MUCH = [Fixed(20, 4), Fixed(40, 4), Fixed(10, 6)]
"""So much that it often publishes."""

MOMENTS = ("none", "none", "none", "reopen", "draw", "before the charge", "after the charge", "at the witness",
           "before the release", "after the release")  # fmt: skip


def filtered(estimator: str = "unbiased", **more: Any) -> Any:
    return to_config(settings(privacy={"mechanism": "auto", "estimator": estimator, "history_slots": 8, **more}))


class CrashError(BaseException):
    """The process ends here."""


def crash(session: Session, moment: str) -> None:
    """Let the process end at a moment of the next slot."""
    journal = session.journal
    keep_charge, settle = journal.charge, journal.settle

    def charged(charge: Charge) -> None:
        if moment == "after the charge":
            keep_charge(charge)
        raise CrashError

    def settled(outcome: Outcome) -> Release:
        if moment == "at the witness":
            session.writer.advance(outcome.slot)
        if moment == "after the release":
            settle(outcome)
        raise CrashError

    if "charge" in moment:
        journal.charge = charged  # type: ignore[method-assign]
    else:
        journal.settle = settled  # type: ignore[method-assign]


@pytest.mark.parametrize(("estimator", "state_every"), [*((word, 3) for word in ESTIMATORS), ("pooled", 1000)])
def test_as_if_nothing_had_happened(
    tmp_path: Path, estimator: str, state_every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended at any moment and opened again, a stream is to the byte a publisher in memory that lost the same slots."""
    monkeypatch.setattr(sessions, "STATE_EVERY", state_every)
    chosen = filtered(estimator)
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", chosen)
    town.require({f"person-{k}": MUCH[k % 3] for k in range(PEOPLE)})
    twin = Twin(chosen, {k: MUCH[k % 3] for k in range(PEOPLE)})
    changes: dict[int, tuple[int, Requirement | None]] = {
        9: (0, Fixed(17, 5)), 14: (PEOPLE, Fixed(9, 2)), 20: (1, None), 26: (1, Fixed(30, 4)), 33: (2, Fixed(20, 3))
    }  # fmt: skip
    walk = np.random.default_rng(3)
    session = with_noise(town.session())
    lost: Counter[str] = Counter()
    for slot in range(1, 61):
        if slot in changes:
            person, requirement = changes[slot]
            town.require({f"person-{person}": requirement})
            session.refresh_people()
            if requirement is None:
                twin.publisher.leave(person)
            elif person == PEOPLE or slot == 26:
                twin.publisher.join(person, requirement)
            else:
                twin.publisher.change(person, requirement)
        rows = random_rows(session, slot)
        if 20 <= slot < 26:
            rows.cells[1] = -1
        moment = str(walk.choice(MOMENTS))
        if moment == "draw":
            session._publisher._noise.lost.add(slot)  # type: ignore[attr-defined]
            with pytest.raises(BrokenError):
                session.release(rows)
        elif moment in ("none", "reopen"):
            session.release(rows)
        else:
            crash(session, moment)
            with pytest.raises(CrashError):
                session.release(rows)
        if moment not in ("none", "draw"):
            session.close()
            session = with_noise(town.session())
            if moment == "before the charge":
                session.release(rows)
        kept = session.journal.find(slot)
        assert kept is not None
        gone = moment in ("draw", "after the charge", "at the witness", "before the release")
        assert (kept.decision is Decision.LOST) == gone, (slot, moment)
        lost[moment] += 1
        assert same(kept, twin.live(slot, rows.cells.tolist(), lost=gone)), (slot, moment)
        assert session._publisher.to_bytes() == twin.publisher.to_bytes(), (slot, moment)
    session.close()
    assert len(lost) == len(set(MOMENTS))
    found = audit(read_history(town.database))
    assert found.kept, found.violations
    assert found.decisions["published"] > 10


def test_what_a_lost_slot_shows(tmp_path: Path) -> None:
    """The level again with an error that grows, also when the slot is found lost later; a new publication ends it."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", filtered())
    town.require({f"person-{k}": Fixed(1, 8) for k in range(PEOPLE)})
    with town.session() as session:
        assert session.release(random_rows(session, 1)).decision is Decision.PUBLISHED
        before = session.release(random_rows(session, 2))
        assert before.decision is Decision.SKIPPED
        crash(session, "after the charge")
        with pytest.raises(CrashError):
            session.release(random_rows(session, 3))
    with town.session() as session:
        after = session.journal.find(3)
    assert after is not None
    assert after.decision is Decision.LOST
    assert np.array_equal(after.counts, before.counts)
    assert (after.standard_error > before.standard_error).all()
    assert after.raw is None
    with town.database.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(shown)).scalar() == 3
        assert connection.execute(sa.select(learned.c.slot).where(learned.c.axis == "filter")).scalar() == 1


def test_an_error_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot of which not even the loss could be kept is lost before the next charge, as it stood then."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", filtered())
    town.require({f"person-{k}": Fixed(2, 1) for k in range(PEOPLE)})
    with town.session() as session:
        session.release(random_rows(session, 1))

        def refuse(release: Any) -> Any:
            raise StoreUnavailable("not now")

        with monkeypatch.context() as broken:
            broken.setattr(session.journal, "settle", refuse)
            with pytest.raises(StoreUnavailable):
                session.release(random_rows(session, 2))
        assert session.release(random_rows(session, 3)).decision is Decision.PUBLISHED
        kept = session.journal.find(2)
        assert kept is not None
        assert kept.decision is Decision.LOST
    assert audit(read_history(town.database)).kept
    with town.database.read() as connection:
        assert connection.execute(sa.select(releases.c.source).order_by(releases.c.slot)).scalars().all() == [1, 1, 3]


@pytest.mark.parametrize("chosen", [config(), filtered()], ids=["pbd", "auto"])
def test_waits_for_the_disk(tmp_path: Path, chosen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot commits twice and writes the witness once, whether anything is learned or not."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", chosen)
    town.people(PEOPLE)
    waits: Counter[str] = Counter()
    with town.session() as session:
        session.release(random_rows(session, 1))
        sync = os.fsync
        monkeypatch.setattr(os, "fsync", lambda handle: (waits.update(["sync"]), sync(handle)))

        def committed(connection: Any) -> None:
            waits.update(["commit"] if connection.get_execution_options().get("wevent_write") else [])

        sa.event.listen(town.database.engine, "commit", committed)
        for slot in range(2, 12):
            session.release(random_rows(session, slot))
    assert waits == {"commit": 20, "sync": 10}


def test_whole_counts_stay_whole(tmp_path: Path) -> None:
    """Without a filter nothing is kept but whole counts, and a publication is its own raw count."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", config(privacy={"mechanism": "uniform"}))
    town.people(PEOPLE)
    with town.session() as session:
        release = session.release(random_rows(session, 1))
    assert release.counts.dtype == np.int64
    assert release.raw is not None
    assert np.array_equal(release.raw.counts, release.counts)
    with town.database.read() as connection:
        assert not connection.execute(sa.select(shown)).all()
        assert not connection.execute(sa.select(learned)).all()


def test_an_older_copy(tmp_path: Path) -> None:
    """A restored copy has learned what it had learned when it was made, and shows it with growing errors meanwhile."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", filtered())
    town.people(9)
    for slot in range(1, 9):
        if slot == 5:
            town.database.close()
            (tmp_path / "backup.db").write_bytes((tmp_path / "town.db").read_bytes())
        with town.session() as session:
            session.release(random_rows(session, slot))
    copy = Town(tmp_path / "backup.db", tmp_path / "witness.json", town.config)
    with copy.session() as session:
        assert session.next_slot == 9
        given_up = [session.journal.find(slot) for slot in range(5, 9)]
        errors = [release.standard_error for release in given_up if release is not None]
        assert all(release is not None and release.decision is Decision.LOST for release in given_up)
        assert all((later > earlier).all() for earlier, later in pairwise(errors))
        for slot in range(9, 17):
            session.release(random_rows(session, slot))
            publisher = session._publisher
            assert publisher.trace is not None
            for user, window in {"person-0": 4, "person-1": 4, "person-2": 6}.items():
                row = publisher.members.rows()[publisher.members.register.position(session.people[user])]
                assert slot >= 8 + window or not publisher.trace.spent[row]
    found = audit(read_history(copy.database))
    assert found.kept, found.violations
    assert found.decisions["published"] > 1


def test_the_estimator_stays(tmp_path: Path) -> None:
    """How people are counted is fixed with the first use, named when it differs; leaving it out means `unbiased`."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", filtered("pooled"))
    town.people(4)
    town.session().close()
    for other in (filtered("unbiased"), config(privacy={"mechanism": "auto"})):
        town.config = other
        with pytest.raises(SettingsChanged, match=r"privacy\.estimator was \"pooled\", is \"unbiased\""):
            town.session()
    town.config = config(privacy={"mechanism": "pbd"})
    with pytest.raises(SettingsChanged, match=r"privacy\.mechanism was"):
        town.session()


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    """Learned bytes that are damaged, of another version, or of another publication are never guessed at."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", filtered())
    town.people(4)
    with town.session() as session:
        session.release(random_rows(session, 1))
    view = learned.c.axis == "filter"
    with town.database.read() as connection:
        whole = connection.execute(sa.select(learned.c.state).where(view)).scalar_one()
        pace = connection.execute(sa.select(learned.c.state).where(learned.c.axis == "schedule")).scalar_one()
    for values, error, words in (
        ({"state": whole[:-1]}, CorruptState, "damaged"),
        ({"state": pace}, StoreVersion, "another version"),
        ({"state": whole, "slot": 7}, CorruptState, "last publication"),
    ):
        with town.database.write() as connection:
            update(connection, learned, view, **values)
        with pytest.raises(error, match=words):
            town.session()
    with town.database.write() as connection:
        update(connection, learned, view, slot=1)
    town.session().close()


def test_many_slots_keep_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many slots have passed, three states are kept; one row for each slot holds what was shown."""
    monkeypatch.setattr(sessions, "STATE_EVERY", 10)
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", filtered())
    town.people(PEOPLE)
    with town.session() as session:
        for slot in range(1, 41):
            session.release(SlotCells(slot, np.full(PEOPLE, slot % 3), np.zeros(3, np.int64)))
    with town.database.read() as connection:
        numbers = [connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
                   for table in (states, learned, shown, slots)]  # fmt: skip
    assert numbers == [1, 3, 40, 40]
