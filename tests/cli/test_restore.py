"""`wevent publish` after a store was deleted, emptied, restored or moved: no slot is drawn twice."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest
from tests.cli.support import printed

from wevent.cli import tour
from wevent.cli.main import main


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "wevent"


@pytest.fixture
def city(tmp_path: Path) -> Path:
    """A small city whose first four slots are published; its witness lies at the default place."""
    folder = tmp_path / "city"
    folder.mkdir()
    tour.write_city(folder, 20, 8, 1)
    text = (folder / "wevent.toml").read_text().replace('"auto"', '"uniform"').replace("witness =", "# witness =")
    (folder / "wevent.toml").write_text(text + "\n[privacy.limits]\nwindow = 30\n")
    assert main(publish(folder, 4, "--requirements", str(folder / "requirements.csv"))) == 0
    return folder


def publish(folder: Path, slots: int, *more: str) -> list[str]:
    """The words that publish a city's slots up to one."""
    until = ["--until", f"2024-05-01T{slots // 4:02d}:{15 * (slots % 4):02d}Z"]
    config = ["--config", str(folder / "wevent.toml")]
    return ["publish", *config, "--events", str(folder / "events.csv"), *until, *more]


def releases(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """All releases of a city, as the store has them."""
    return printed(["releases", "--config", str(folder / "wevent.toml"), "--format", "csv"], capsys)


@pytest.mark.parametrize("how", ["deleted", "emptied", "symlink"])
def test_a_store_that_is_gone(city: Path, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command that made a store does not make it anew where it is gone, unless the operator says what was shown."""
    store = city / "city.db"
    for path in city.glob("city.db*"):
        path.unlink()
    if how == "emptied":
        store.touch()
    elif how == "symlink":
        (city / "link").symlink_to(city)
        text = (city / "wevent.toml").read_text().replace('url = "city.db"', 'url = "link/city.db"')
        (city / "wevent.toml").write_text(text)
    words = printed(publish(city, 4), capsys, code=3)
    assert "slots up to 4" in words
    assert "Restore the store from a copy" in words
    assert "--restored 4" in words
    check = publish(city, 4)
    assert "slots up to 4" in printed(["check", *check[1:]], capsys, code=3)
    importing = ["requirements", "import", str(city / "requirements.csv"), "--config", str(city / "wevent.toml")]
    assert "slots up to 4" in printed(importing, capsys, code=3)
    assert not store.exists() or store.stat().st_size == 0  # no file lies in the way of a copy
    words = printed(publish(city, 6, "--restored", "4", "--requirements", str(city / "requirements.csv")), capsys)
    assert "4 slots, 1 to 4, may have been shown" in words
    assert "nobody spends anything before slot 28" in words
    assert "next is slot 7" in words
    assert "promise was kept" in printed(["audit", str(store)], capsys)


def test_a_moved_store(city: Path, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A store at another place says where its witness lies; moving the witness along is all it needs."""
    (city / "elsewhere").mkdir()
    (city / "city.db").rename(city / "elsewhere" / "city.db")
    text = (city / "wevent.toml").read_text().replace('url = "city.db"', 'url = "elsewhere/city.db"')
    (city / "wevent.toml").write_text(text)
    words = printed(publish(city, 5), capsys, code=3)
    found = re.search(r"move that file to (\S+) and", words)
    assert found is not None, words
    (old,) = state.glob("*.json")
    old.rename(found[1])
    assert "next is slot 6" in printed(publish(city, 5), capsys)


def test_what_can_be_said(city: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--restored` needs a number where files close slots, and takes none that the clock has not reached."""
    for path in (city.parent / "state" / "wevent").glob("*.json"):
        path.unlink()
    before = releases(city, capsys)
    assert "needs a number" in printed(publish(city, 5, "--restored", "now"), capsys, code=2)
    assert "cannot have been shown" in printed(publish(city, 5, "--restored", "20261116"), capsys, code=2)
    assert "no witness tells" in printed(publish(city, 5), capsys, code=3)
    for wrong in ("-1", "x", "1e3"):
        assert "must be the number of a slot" in printed(publish(city, 5, f"--restored={wrong}"), capsys, code=2)
    assert releases(city, capsys) == before
    words = printed(publish(city, 8, "--restored", "6"), capsys)
    assert "2 slots, 5 to 6" in words
    assert "next is slot 9" in words
    assert "before slot 36 (the longest window that may have been promised has 30 slots)" in words


def test_the_clock_says_the_slot(
    city: Path, state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a clock closes slots, `--restored now` means the current one; more than 1,000 need a yes."""
    folder, before = city.parent / "live", set(state.glob("*.json"))
    folder.mkdir()
    text = (city / "wevent.toml").read_text().replace('closing = "files"', 'closing = "arrival"')
    (folder / "wevent.toml").write_text(text)
    shutil.copy(city / "events.csv", folder)
    start = tour.START
    clock = [start - 1]
    monkeypatch.setattr("time.time_ns", lambda: clock[0] * 1_000)
    config = ["--config", str(folder / "wevent.toml")]
    assert main(["requirements", "import", str(city / "requirements.csv"), *config]) == 0
    clock[0] = start + 3 * 15 * 60_000_000
    assert "next is slot 4" in printed(["publish", *config], capsys)
    (found,) = {path for path in state.glob("*.json") if path not in before}
    found.unlink()
    clock[0] = start + 2_000 * 15 * 60_000_000
    words = printed(["publish", *config, "--restored", "now"], capsys, code=2)
    assert "1,998 slots, 4 to 2001" in words
    assert "run it again with `--yes`" in words
    clock[0] = start + 6 * 15 * 60_000_000
    words = printed(["publish", *config, "--restored", "now"], capsys)
    assert "4 slots, 4 to 7" in words


def test_requirements_of_the_lost_copy(city: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Publishing waits until tightened requirements are imported again, or given up explicitly."""
    config = ["--config", str(city / "wevent.toml")]
    shutil.copy(city / "city.db", city / "backup.db")
    assert main(["requirements", "set", "resident-00001", "--epsilon", "0.5", "--window", "30", *config]) == 0
    assert main(publish(city, 6)) == 0
    for path in city.glob("city.db*"):
        path.unlink()
    shutil.copy(city / "backup.db", city / "city.db")
    words = printed(publish(city, 7), capsys, code=3)
    assert "2 slots, 5 to 6" in words
    assert "before slot 36" in words  # the window of 30 that only the lost copy knew
    assert "1 requirement changes are missing" in words
    assert "--requirements-lost" in words
    assert "resident" not in words
    shutil.copy(city / "city.db", city / "second.db")
    assert main(["requirements", "set", "resident-00001", "--epsilon", "0.5", "--window", "30", *config]) == 0
    assert "next is slot 8" in printed(publish(city, 7), capsys)
    assert main(["requirements", "set", "resident-00002", "--epsilon", "0.5", "--window", "30", *config]) == 0
    for path in city.glob("city.db*"):
        path.unlink()
    shutil.copy(city / "second.db", city / "city.db")
    assert "2 requirement changes are missing" in printed(publish(city, 8), capsys, code=3)
    assert "next is slot 9" in printed(publish(city, 8, "--requirements-lost"), capsys)
    assert "no slot was due" in printed(publish(city, 8), capsys)
    assert "given up after a restore (--requirements-lost): 2" in printed(["status", *config], capsys)


def test_streams_of_similar_names(city: Path, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Streams named `a b` and `a_b` in one store have a witness each."""
    text = (city / "wevent.toml").read_text()
    for name in ("a b", "a_b"):
        (city / "wevent.toml").write_text(text.replace('name = "city"', f'name = "{name}"'))
        requirements = city / f"{name}.csv"
        requirements.write_text(f"user,epsilon,window\nperson of {name},Usual,Hour\n")
        assert "next is slot 3" in printed(
            publish(city, 2, "--allow-empty", "--requirements", str(requirements)), capsys
        )
    assert len(list(state.glob("*.json"))) == 3


def test_reports_of_a_restored_store(city: Path, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The audit names the slots that were given up and the hold, in text, JSON and HTML."""
    for path in state.glob("*.json"):
        path.unlink()
    printed(publish(city, 8, "--restored", "6"), capsys)
    given_up = (
        "2 slots from 5 to 6 (2024-05-01T01:00:00Z to 2024-05-01T01:30:00Z) were given up, and nothing may be spent on "
        "anybody before slot 36 (2024-05-01T08:45:00Z)"
    )
    page = city / "report.html"
    assert given_up in printed(["audit", str(city / "city.db"), "--html", str(page)], capsys)
    assert given_up in page.read_text("utf-8")
    assert '"held_until": 36' in printed(["audit", str(city / "city.db"), "--json"], capsys)


def test_slots_before_any_publication(city: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Slots that are lost before anything was published show no count: `-` in the table, nothing in files."""
    for path in [*city.glob("city.db*"), *(city.parent / "state" / "wevent").glob("*.json")]:
        path.unlink()
    requirements = str(city / "requirements.csv")
    printed(publish(city, 3, "--requirements", requirements, "--restored", "2"), capsys)
    command = ["releases", "--config", str(city / "wevent.toml")]
    rows = list(csv.DictReader(io.StringIO(releases(city, capsys))))
    assert {row["decision"] for row in rows if row["slot"] == "1"} == {"lost"}
    values = ("count", "standard_error", "low", "high", "raw", "raw_standard_error")
    assert {row[name] for row in rows if row["slot"] == "1" for name in values} == {""}
    line = json.loads(printed([*command, "--format", "ndjson"], capsys).splitlines()[0])
    assert set(line["counts"].values()) == {None}
    path = city / "r.parquet"
    printed([*command, "--format", "parquet", "--output", str(path)], capsys)
    with duckdb.connect() as connection:
        found = connection.execute("SELECT DISTINCT count FROM read_parquet(?) WHERE slot = 1", [str(path)]).fetchall()
    assert found == [(None,)]
    first = next(line for line in printed(command, capsys).splitlines() if "2024-05-01T00:00:00Z" in line)
    assert [cell.strip() for cell in first.split("│")[4:-1]] == ["-"] * 8
