"""A store opened, published and read from Python."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

from wevent import Decision, Fixed, Publisher, RequirementChange, Store, facade
from wevent.errors import (
    EmptyRegister,
    InvalidRequirement,
    InvalidSetting,
    NoAcceptableEvents,
    StreamBusy,
    StreamUnknown,
    UnknownUser,
    WeventError,
)
from wevent.events.formats import line_reader
from wevent.store.feeding import Feed

START = datetime(2024, 5, 1, tzinfo=UTC)


class Town:
    """Settings of a store in a folder, and a clock that stands where it is put."""

    def __init__(self, folder: Path, closing: str = "arrival", **parts: dict[str, Any]) -> None:
        self.now = START - timedelta(seconds=1)
        self.settings: dict[str, Any] = {
            "stream": {"name": "town"},
            "slots": {"width": "1 min", "first": START.isoformat(), "closing": closing},
            "cells": {"names": ["north", "south"]},
            "privacy": {"mechanism": "uniform"},
            "store": {"url": str(folder / "town.db"), "witness": str(folder / "witness.json")},
            **parts,
        }

    def open(self, **options: Any) -> Store:
        return Store.open(self.settings, clock=lambda: int(self.now.timestamp() * 1_000_000), **options)

    def at(self, minutes: float) -> datetime:
        """A time that many minutes after the first slot began; the clock is put there."""
        self.now = START + timedelta(minutes=minutes)
        return self.now


@pytest.fixture
def town(tmp_path: Path) -> Town:
    return Town(tmp_path)


def test_the_life_of_a_stream(town: Town) -> None:
    """Requirements, events and the clock give releases, which are kept, named, read back and audited."""
    with town.open() as store:
        assert store.require("ann", Fixed(5, 4)).joined == 1
        assert store.store_changes([RequirementChange("bob", Fixed(9, 2))]).from_slot == 1
        taken = store.accept(
            [("ann", town.at(0.5), "north"), ("bob", START.isoformat(), "south"), ("zoe", START, "north")]
        )
        assert (taken.accepted, taken.tallies["of unlisted people"]) == (2, 1)
        assert store.release_due() == []
        town.at(2)
        released = store.release_due()
        assert [release.slot for release in released] == [1, 2]
        assert list(released[0].cells) == ["north", "south"]
        assert store.leave("bob").left == 1
        assert store.status().next_slot == 3
        assert store.status().events.released == 2
        assert store.person("ann").charged == 2
    with town.open(read_only=True) as store:
        kept = store.releases(2)
        assert [release.slot for release in store.releases(START + timedelta(seconds=90))] == [2]
        with pytest.raises(InvalidSetting, match="slot numbers or by datetimes"):
            store.releases("2")  # type: ignore[arg-type]
        assert [release.as_dict() for release in kept] == [released[1].as_dict()]
        assert store.audit().kept
        assert repr(store) == "Store('town')"
        for write in (lambda: store.require("eve", Fixed(5, 4)), store.release_due):
            with pytest.raises(WeventError):
                write()
        assert "slots" not in repr(store.status())


@pytest.mark.parametrize("library", [pandas, polars])
def test_events_of_a_frame(town: Town, library: Any) -> None:
    """A frame is read by the columns that the settings name; a row without a value is refused."""
    town.settings["sources"] = {"user": "who", "place": "where"}
    times = [START + timedelta(seconds=1), START + timedelta(seconds=2), None]
    with town.open() as store:
        store.require("ann", Fixed(5, 4))
        town.at(0.5)
        frame = library.DataFrame({"who": ["ann"] * 3, "time": times, "where": ["north", "nowhere", "north"]})
        taken = store.accept(frame)
        assert taken.tallies == {"accepted": 1, "outside the cells": 1, "without a declared column": 1}


def test_events_of_a_grid(tmp_path: Path) -> None:
    """Where cells are a grid, a place is a pair of degrees."""
    grid = {"west": 0, "south": 0, "east": 2, "north": 1, "columns": 2, "rows": 1}
    town = Town(tmp_path, cells={"grid": grid})
    with town.open() as store:
        store.require("ann", Fixed(5, 4))
        moment = town.at(0.5)
        taken = store.accept([("ann", moment, (0.5, 0.5)), ("ann", moment, "north"), ("ann", moment, (9.0, 0.5))])
        assert taken.tallies == {"accepted": 1, "with an unusable place": 1, "outside the cells": 1}


def test_slots_closed_by_the_operator(tmp_path: Path) -> None:
    """Slots end by the caller's word; without an event for any of them the error names `allow_empty`."""
    town = Town(tmp_path, "operator")
    with town.open() as store:
        store.require("ann", Fixed(5, 4))
        town.at(3)
        with pytest.raises(NoAcceptableEvents):
            store.release_due(until=START + timedelta(minutes=2))
        store.accept([("ann", START, "north")])
        assert [release.slot for release in store.release_due("2024-05-01T00:01Z")] == [1]
        assert [release.slot for release in store.release_due("2024-05-01T00:02Z", allow_empty=True)] == [2]
        with pytest.raises(InvalidSetting, match="ISO 8601"):
            store.release_due("tomorrow")


def test_files(tmp_path: Path) -> None:
    """Whole files are published by `publish_files`, growing ones are accepted; the wrong method names the right one."""
    path = tmp_path / "events.ndjson"
    path.write_text(json.dumps({"user": "ann", "time": START.isoformat(), "place": "north"}) + "\n")
    town = Town(tmp_path, "files")
    town.at(60)
    with town.open() as store:
        store.require("ann", Fixed(5, 4))
        with pytest.raises(InvalidSetting, match=r"60 slots are due.*allow_many=True"):
            store.publish_files([path])  # no end is named, and 59 of them lie behind the only event
        town.at(60 * 24)
        released = store.publish_files([path], until="2024-05-01T00:02Z")
        assert [release.decision for release in released] == [Decision.PUBLISHED] * 2
        with pytest.raises(InvalidSetting, match="use publish_files"):
            store.accept([])
        with pytest.raises(InvalidSetting, match=r"1,438 slots are due.*allow_many=True"):
            store.publish_files([path], allow_empty=True)
        assert store.status().next_slot == 3
    live = Town(tmp_path / "live", stream={"name": "live"})
    (tmp_path / "live").mkdir()
    with live.open() as store:
        store.require("ann", Fixed(5, 4))
        live.at(0.5)
        assert store.accept_files([path]).accepted == 1
        assert store.accept_files([str(path)]).accepted == 0
        with pytest.raises(InvalidSetting, match="closed by arrival"):
            store.publish_files([path])


def test_a_data_source_feeds_the_stream(town: Town) -> None:
    """A source of one's own is called with the feed, and its events are released as those of a file."""
    event = {"user": "ann", "time": START.isoformat()}
    lines = [json.dumps(event | {"place": place}).encode() for place in ("north", "nowhere")]

    def source(feed: Feed) -> None:
        read = line_reader("ndjson", feed.session.config.columns, None, "queue")
        while not feed.over:
            look = feed.look()
            feed.take(lines, read, acceptance_window=feed.acceptance_window(look))
            feed.close_by(look)
            lines.clear()
            town.at(2)

    with town.open() as store:
        store.require("ann", Fixed(5, 4))
        town.at(0.5)
        assert [release.slot for release in store.read_source(source, until="2024-05-01T00:02Z")] == [1, 2]
        assert store.status().events.released == 1


def test_refusals(town: Town) -> None:
    """Nobody registered, unknown people, forbidden requirements and unknown streams raise typed errors."""
    with pytest.raises(Exception, match="no store"), town.open(read_only=True):
        pass
    with town.open() as store:
        with pytest.raises(StreamUnknown):
            store.status()
        with pytest.raises(EmptyRegister, match=r"Store\.require"):
            store.release_due()
        store.require("ann", Fixed(5, 4))
        for call in (store.leave, store.person):
            with pytest.raises(UnknownUser):
                call("zoe")
        for change in (RequirementChange("bob", Fixed(1, 2**15)), RequirementChange("bob", Fixed(1, 2), slot=9)):
            with pytest.raises(InvalidRequirement):
                store.store_changes([change])


def test_one_process_publishes(town: Town) -> None:
    """The first call that publishes takes the lock; a second store can read and store changes, but not publish."""
    with town.open() as store, town.open() as other:
        store.require("ann", Fixed(5, 4))
        store.accept([])
        with pytest.raises(StreamBusy):
            other.accept([])
        assert other.require("bob", Fixed(5, 4)).joined == 1
        town.at(1)
        assert [release.slot for release in store.release_due()] == [1]
        assert len(other.releases()) == 1
    with town.open() as other:
        assert other.release_due() == []


def test_an_interrupt_loses_one_slot(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt between charge and release loses that slot; the next call goes on behind it."""

    def interrupt(*_: object) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    with town.open() as store:
        store.require("ann", Fixed(5, 4))
        town.at(2)
        monkeypatch.setattr(Publisher, "_draw", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.release_due()
        assert [release.slot for release in store.release_due()] == [2]
        assert [release.decision for release in store.releases()] == [Decision.LOST, Decision.PUBLISHED]
        assert store.audit().kept


def test_slots_that_may_have_been_shown_are_given_up(town: Town, tmp_path: Path) -> None:
    """Without its witness a store opens only with the caller's word, and then warns of the slots it gives up."""
    with town.open() as store:
        store.require("ann", Fixed(5, 4))
        town.at(1)
        store.release_due()
    (tmp_path / "witness.json").unlink()
    with town.open() as store, pytest.raises(Exception, match="witness"):
        store.release_due()
    town.at(3)
    with town.open(restored=2) as store, pytest.warns(UserWarning, match="slots, 2 to 2, may have been shown"):
        assert [release.slot for release in store.release_due()] == [3]
    town.at(5000)
    (tmp_path / "witness.json").unlink()
    with town.open(restored=4000) as store, pytest.raises(InvalidSetting, match="allow_many"):
        store.release_due()


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example in the docstring runs as printed."""
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(facade) == (0, 4)


def test_importing_the_package_loads_no_store() -> None:
    """`import wevent` and `import *` load neither SQLAlchemy, pydantic, DuckDB nor pandas; `wevent.Store` does."""
    code = (
        "import sys, wevent; from wevent import *; heavy = {'sqlalchemy', 'pydantic', 'duckdb', 'pandas', 'polars'}; "
        "assert not heavy & set(sys.modules); wevent.Store; assert 'sqlalchemy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
