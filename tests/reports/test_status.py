"""What `wevent status` and the report say of silence, events and several streams."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.store.scene import LEVELS, START, Town, config, random_rows, sorted_events, waiting_rows

from wevent import Dynamic, Fixed
from wevent.cli.main import main
from wevent.config.model import Config
from wevent.events.timeline import show_instant
from wevent.reports.audit import audit
from wevent.reports.combined_loss import read_combined_losses
from wevent.reports.history import read_history
from wevent.reports.officer import Judged, officer_page
from wevent.reports.status import stream_status
from wevent.reports.wording import settings_in_words
from wevent.store.database import open_database

TOML = f"""
[stream]
name = "NAME"
[slots]
width = "1 min"
first = {show_instant(START)}
closing = "operator"
[cells]
names = ["north", "south", "east"]
[people]
shared = true
[privacy]
mechanism = "uniform"
history_slots = 8
[store]
url = "town.db"
witness = "w.json"
"""


def test_one_person_keeps_everybody_silent(tmp_path: Path) -> None:
    """With one tiny requirement nothing more is published, and the words say for how long and how many people it is."""
    limits = {"limits": {"least_share": 1e-9, "share_ratio": 1e9}}
    town = Town(
        tmp_path / "town.db", tmp_path / "w.json", config(privacy={"mechanism": "auto", "history_slots": 8, **limits})
    )
    town.require({**{f"p{k}": Fixed(1, 4) for k in range(40)}, "tiny": Fixed("0.00001", 400)})
    with town.session() as session:
        for slot in range(1, 13):
            session.release(random_rows(session, slot))
    now = stream_status(read_history(town.database))
    assert (now.silent, now.people, now.short) == (11, 41, 1)
    assert "no publication for 11 slots: 1 people have too little budget left" in str(now)
    assert now.worth_saying
    assert "wevent requirements list" in now.advice[0]


def test_nobody_is_short_where_all_is_well(tmp_path: Path) -> None:
    """Usual requirements, spent or not, are no shortage; silence alone is said alone."""
    town = Town(tmp_path / "town.db", tmp_path / "w.json")
    town.people(9)
    with town.session() as session:
        for slot in range(1, 6):
            session.release(random_rows(session, slot))
    now = stream_status(read_history(town.database))
    assert now.people == 9
    assert now.short == 0
    assert now.slots == 5


def test_what_is_left_counts_everything_alive(tmp_path: Path) -> None:
    """Left for the next slot is the least of all live promises, old ones and both sides of dynamic ones included."""
    chosen = config(privacy={"mechanism": "uniform", "history_slots": 8})
    town = Town(tmp_path / "town.db", tmp_path / "w.json", chosen)
    town.require({"ann": Fixed(4, 4)})
    with town.session() as session:
        for slot in range(1, 5):
            if slot == 4:
                town.require({"ann": Fixed(50, 1)})
            session.release(random_rows(session, slot))
    assert stream_status(read_history(town.database)).typical == 10**9  # (4, 4) lives on, and 3 of it are spent
    both = Town(tmp_path / "b.db", tmp_path / "b.json", config(privacy={"mechanism": "dpbd", "history_slots": 8}))
    both.require({"ann": Dynamic((4, 4), (3, 3))})
    with both.session() as session:
        session.release(random_rows(session, 1))
    spent = int(read_history(both.database).slots[0].spent.sum())
    assert stream_status(read_history(both.database)).typical == 3 * 10**9 - spent


@pytest.fixture
def second_town(tmp_path: Path) -> Path:
    """A store with two streams over the same people, and a configuration for one of them."""
    first_town = Town(tmp_path / "town.db", tmp_path / "one.json", _shared("one"))
    second_town = Town(tmp_path / "town.db", tmp_path / "two.json", _shared("two", "5 min"))
    first_town.require({"ann": Fixed(1, 4), "bob": Fixed(1, 4), "eve": Fixed(2, 4)})
    second_town.require({"ann": Fixed(3, 2), "bob": Fixed(3, 2), "eve": None, "joe": Fixed(1, 1)})
    with first_town.session() as first, second_town.session() as second:
        for slot in (1, 2):
            first.release(random_rows(first, slot))
            second.release(random_rows(second, slot))
        first.intake.accept(sorted_events(first, [("ann", 2 * 60_000_000, "north"), ("bob", 3 * 60_000_000, "south")]))
        first.release(waiting_rows(first, 3))
    (tmp_path / "wevent.toml").write_text(TOML.replace("NAME", "one"), "utf-8")
    return tmp_path


def _shared(name: str, width: str = "1 min") -> Config:
    slots = {"width": width}
    return config(
        stream={"name": name},
        slots=slots,
        people={"shared": True},
        privacy={"mechanism": "uniform", "history_slots": 8},
    )


def test_what_streams_cost_together(second_town: Path) -> None:
    """Ann and bob are in both: 10 minutes of `two` cost 3, and at most three windows of 4 minutes of `one` 1 each."""
    with open_database(second_town / "town.db", read_only=True) as database:
        found = read_combined_losses(database)
    assert [(line.people, line.epsilon, line.longest.stream) for line in found] == [(2, 6 * 10**9, "two")]
    assert "Together up to epsilon=6 in 10 min" in str(found[0])
    page = officer_page([Judged(audit(read_history(open_database(second_town / "town.db"), "one")), {})], found)
    assert "What all streams together may cost" in page
    assert "ann" not in page


def test_groups_count_for_people_of_other_streams(tmp_path: Path) -> None:
    """Who is listed in one stream may be among the unlisted of another; who is listed nowhere, among those of both."""
    group = {"group": {"size": 50, "epsilon": 1, "window": 2}, "shared": True}
    first_town = Town(tmp_path / "town.db", tmp_path / "1.json", config(stream={"name": "one"}, people=group))
    other = {"group": {"size": 20, "epsilon": 2, "window": 2}, "shared": True}
    second_town = Town(tmp_path / "town.db", tmp_path / "2.json", config(stream={"name": "two"}, people=other))
    first_town.require({"ann": Fixed(3, 4)})
    second_town.require({"bob": Fixed(5, 2)})
    with open_database(tmp_path / "town.db", read_only=True) as database:
        found = {(line.people, line.epsilon // 10**9) for line in read_combined_losses(database)}
    assert found == {(1, 3 + 2 * 2), (1, 1 + 5), (20, 3)}


def test_status(second_town: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Accepted events are accounted for, and what streams cost together is said."""
    monkeypatch.chdir(second_town)
    assert main(["status"]) == 0
    said = capsys.readouterr().out
    assert "events accepted: 2, of which released with their slot: 1, waiting for it: 1, lost with it: 0" in said
    assert "2 people in 2 streams" in said
    assert "Together up to epsilon=6 in 10 min" in said


def test_status_names_lost_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Events of a slot that was charged and never released are named as lost."""
    town = Town(tmp_path / "town.db", tmp_path / "w.json", config(privacy={"mechanism": "uniform", "history_slots": 8}))
    town.require({"ann": LEVELS[0]})
    with town.session() as session:
        session.intake.accept(sorted_events(session, [("ann", 1, "north")]))
        monkeypatch.setattr(session.journal, "settle", _stop)
        with pytest.raises(KeyboardInterrupt):
            session.release(waiting_rows(session, 1))
    town.session().close()
    text = TOML.replace("NAME", "town").replace('url = "town.db"', f'url = "{tmp_path / "town.db"}"')
    (tmp_path / "wevent.toml").write_text(text.replace("shared = true", ""), "utf-8")
    assert main(["status", "--config", str(tmp_path / "wevent.toml")]) == 0
    assert "lost with it: 1" in capsys.readouterr().out


def _stop(_: object) -> None:
    raise KeyboardInterrupt


def test_audit_of_a_configuration(
    second_town: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The store comes from the configuration, a path or a URL, and not from both; all streams are one document."""
    monkeypatch.chdir(second_town)
    said = {}
    for words in ([], ["--config", "wevent.toml"], ["town.db"], [f"sqlite:///{second_town / 'town.db'}"]):
        assert main(["audit", *words, "--html", "report.html"]) == 0
        said[tuple(words)] = capsys.readouterr().out
    assert len(set(said.values())) == 1
    assert "every promise of all streams was kept" in said[()]
    page = (second_town / "report.html").read_text("utf-8")
    assert page.count("<!doctype html>") == page.count("</html>") == 1
    assert page.count("<h2>Stream ") == 2
    assert main(["audit", "town.db", "--config", "wevent.toml"]) == 2
    assert "not both" in capsys.readouterr().err
    assert main(["audit", "--stream", "two"]) == 0
    assert "stream one" not in capsys.readouterr().out


def test_audit_as_json(second_town: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One JSON document says for every stream what was promised, spent and broken; numbers lose nothing."""
    monkeypatch.chdir(second_town)
    assert main(["audit", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["kept"] is True
    assert [stream["stream"] for stream in output["streams"]] == ["one", "two"]
    assert output["together"][0]["epsilon"] == "6"
    promise = output["streams"][0]["promises"][0]
    assert (promise["epsilon"], promise["window"], promise["people"]) == ("1", 4, 2)
    assert promise["worst"]["allowed"] == "1"


def test_status_after_a_restore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status names the next slot and when it is over, and until when everybody is held back after a restore."""
    town = Town(tmp_path / "town.db", tmp_path / "w.json", config(privacy={"mechanism": "uniform", "history_slots": 8}))
    town.require({"ann": Fixed(1, 4)})
    with town.session() as session:
        session.release(random_rows(session, 1))
    (tmp_path / "w.json").unlink()
    with town.session(shown=3) as session:
        session.release(random_rows(session, 4))
        hold = session.writer.opening.hold
    (tmp_path / "wevent.toml").write_text(TOML.replace("NAME", "town").replace("shared = true", ""), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["status"]) == 0
    said = capsys.readouterr().out
    begin, end, free = (show_instant(START + minutes * 60_000_000) for minutes in (4, 5, 2 + hold))
    assert f"next is slot 5 ({begin}), over at {end}; close it with `wevent publish --until`" in said
    assert f"everybody is held back: nothing is spent before slot {3 + hold} ({free})" in said
    now = stream_status(read_history(town.database))
    assert (now.held_until, now.advice) == (3 + hold, [])


def test_page_for_an_officer(second_town: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says when and by what it was written, when slots were, what words mean, and settings in plain words."""
    monkeypatch.chdir(second_town)
    assert main(["audit", "--html", "report.html"]) == 0
    page = (second_town / "report.html").read_text("utf-8")
    assert re.search(r"<h1>.*</h1>\n<p>Written 20\d\d-\d\d-\d\dT[0-9:.]+Z by wevent \d+\.\d+\.\d+\.", page)
    assert re.search(rf"slots 1 to 3 \({show_instant(START)} to {show_instant(START + 3 * 60_000_000)}\)", page)
    for words in ("e<sup>epsilon</sup>", "A past is", "A ratio of 1.000 is normal", "length of a slot"):
        assert words in page
    assert "epsilon per slot at least" in page
    for python in ("{'", "&#x27;", "None", "True", "False", "['"):
        assert python not in page


def test_settings_in_words() -> None:
    """A group, a grid and levels are sentences; what has no words of its own is still plain."""
    group = {"size": 5000, "epsilon_units": 10**9, "window": 4}
    grid = {"west": 1, "south": 2, "east": 3, "north": 4, "columns": 5, "rows": 6, "other": None}
    output = {
        key: value
        for _, key, value in settings_in_words(
            {"people.group": group, "cells": grid, "levels.windows": {"Hour": 4}, "new.key": {"a": True, "b": [1, 2]}}
        )
    }
    assert output == {
        "people.group": "up to 5,000 are counted, each with epsilon 1 over 4 slots",
        "cells": "a grid of 5 columns and 6 rows, longitude 1 to 3, latitude 2 to 4",
        "levels.windows": "Hour: 4 slots",
        "new.key": "a: yes; b: 2: 1, 2",
    }
