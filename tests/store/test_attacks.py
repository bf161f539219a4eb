"""Combinations of two features that broke a promise, or an account of one: each is a shortest history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.store.scene import Town, config, random_rows
from tests.store.test_witness import copy, publish

from wevent import Fixed
from wevent.budgets.pasts import Pasts
from wevent.errors import RequirementsMissing, StreamTaken
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store import session as sessions
from wevent.store.recover import give_up_slots
from wevent.store.running import RunningStream
from wevent.store.schema import slots


def test_other_changes_do_not_replace_lost_ones(tmp_path: Path) -> None:
    """After a restore, as many new changes of other people do not hide that a tightened requirement is missing."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json")
    town.require({"u": Fixed(5, 3), "v": Fixed(1, 3)})
    publish(town, 2)
    backup = copy(town, tmp_path / "backup.db")
    town.require({"u": Fixed(0.1, 3)})
    publish(town, 1)
    restored = Town(backup, tmp_path / "witness.json")
    restored.require({"v": Fixed(2, 3)})
    for _ in range(2):
        with pytest.raises(RequirementsMissing):
            restored.session()
    restored.require({"u": Fixed(0.1, 3)})
    with pytest.raises(RequirementsMissing):  # nobody can tell any more what else is missing
        restored.session()
    with restored.session(requirements_lost=True):
        pass
    second = copy(restored, tmp_path / "second.db")
    restored.require({"v": None})
    publish(restored, 1)
    again = Town(second, tmp_path / "witness.json")
    again.require({"v": Fixed(3, 3)})
    with pytest.raises(RequirementsMissing):
        again.session()


def test_lost_changes_in_another_order(tmp_path: Path) -> None:
    """Changes that are stored again count whatever their order and in however many parts."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json")
    town.require({"u": Fixed(5, 3), "v": Fixed(1, 3)})
    publish(town, 2)
    backup = copy(town, tmp_path / "backup.db")
    town.require({"u": Fixed(0.1, 3)})
    town.require({"v": None, "n": Fixed(1, 4)})
    restored = Town(backup, tmp_path / "witness.json")
    restored.require({"n": Fixed(1, 4)})
    restored.require({"v": None})
    with pytest.raises(RequirementsMissing):
        restored.session()
    restored.require({"u": Fixed(0.1, 3)})
    publish(restored, 1)
    assert audit(read_history(restored.database)).kept


def test_a_longer_window_while_slots_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A longer window that is promised while a restored store is being opened holds everybody back as long."""
    chosen = config(slots={"closing": "files"})
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", chosen)
    town.require({"u": Fixed(1, 2)})
    publish(town, 2)
    backup = copy(town, tmp_path / "backup.db")
    publish(town, 3)
    restored = Town(backup, tmp_path / "witness.json", chosen)

    def first_another_process(stream: RunningStream) -> None:
        Town(backup, tmp_path / "witness.json", chosen).require({"u": Fixed(1, 30)})
        give_up_slots(stream)

    monkeypatch.setattr(sessions, "give_up_slots", first_another_process)
    with restored.session() as session:
        session.release(random_rows(session, 6))
    with restored.database.read() as connection:
        found = connection.execute(sa.select(slots.c.hold).order_by(slots.c.slot)).scalars().all()
    assert found == [0, 0, 30, 30, 30, 0]
    assert audit(read_history(restored.database)).kept


def test_the_audit_knows_the_promise_to_the_unlisted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is listed later was promised what the unlisted are: a store that forgets this at the listing is found out."""
    chosen = config(people={"group": {"epsilon": 1, "window": 6, "size": 5}})

    def run(name: str) -> Town:
        town = Town(tmp_path / f"{name}.db", tmp_path / f"{name}.json", chosen)
        town.require({"u": Fixed(1, 6)})
        publish(town, 3)
        town.require({"n": Fixed(50, 2)})
        publish(town, 3)
        return town

    assert audit(read_history(run("right").database)).kept
    branch = Pasts.branch

    def forgetful(rows: Any, past: Any) -> int:
        row = branch(rows, past)
        rows.versions.drop_row(row)
        return row

    monkeypatch.setattr(Pasts, "branch", forgetful)
    found = audit(read_history(run("wrong").database))
    assert not found.kept
    assert "unlisted" in found.violations[0].what


def test_an_epoch_never_comes_again(tmp_path: Path) -> None:
    """Without a witness an older copy does not count its openings up to those of a process that still runs."""
    town = Town(tmp_path / "town.db", tmp_path / "witness.json")
    town.people(3)
    backup = copy(town, tmp_path / "backup.db")
    publish(town, 1)
    with town.session() as running:
        running.release(random_rows(running, 2))
        town.witness.path.unlink()
        restored = Town(backup, tmp_path / "witness.json")
        restored.session(shown=2).close()
        for _ in range(running.writer.epoch - 1):
            publish(restored, 1)
            with pytest.raises(StreamTaken):
                running.writer.check_witness()
