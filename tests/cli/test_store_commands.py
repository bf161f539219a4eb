"""The commands on a store, from a folder of files to an audit; and nothing private in what they say."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
import subprocess
import sys
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pytest
from tests.cli.support import config, printed

from wevent.cli import tour
from wevent.cli.main import main
from wevent.releases.release import NORMAL_95
from wevent.reports.plot import draw
from wevent.reports.releases import PublicRelease

SECRET = "secret-person-4711"  # noqa: S105
PLACE = "secret-place-0815"


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published simulated city."""
    folder = tmp_path_factory.mktemp("city")
    assert main(["demo", "--folder", str(folder), "--people", "60", "--slots", "6"]) == 0
    return folder


@pytest.fixture(scope="module")
def integer_city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without a filter."""
    folder = tmp_path_factory.mktemp("whole")
    tour.write_city(folder, 60, 6, 1)
    text = (folder / "wevent.toml").read_text()
    (folder / "wevent.toml").write_text(text.replace('"auto"', '"uniform"'))
    start = ["publish", *config(folder), "--events", str(folder / "events.csv")]
    people = ["--requirements", str(folder / "requirements.csv"), "--until", "2024-05-01T01:30Z"]
    assert main([*start, *people]) == 0
    return folder


@pytest.mark.parametrize("name", ["city", "integer_city"])
def test_releases_in_every_form(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CSV, NDJSON and Parquet hold the same, filtered counts and integer ones; the table has a line for each slot."""
    city: Path = request.getfixturevalue(name)
    rows = list(csv.DictReader(io.StringIO(printed(["releases", *config(city), "--format", "csv"], capsys))))
    assert len(rows) == 6 * 12
    lines = [
        json.loads(line) for line in printed(["releases", *config(city), "--format", "ndjson"], capsys).splitlines()
    ]
    assert [line["slot"] for line in lines] == [1, 2, 3, 4, 5, 6]
    values = ("standard_error", "low", "high", "raw", "raw_standard_error")
    for row in rows:
        line, cell = lines[int(row["slot"]) - 1], row["cell"]
        assert ("." in row["count"]) == (name == "city")
        assert float(row["count"]) == line["counts"][cell]
        assert ("raw" in line) == (row["decision"] == "published") == bool(row["raw"])
        for value in values:
            other = line[value][cell] if value in line else None
            assert (float(row[value]) if row[value] else None) == other
        if row["low"]:
            reach = NORMAL_95 * float(row["standard_error"])
            assert float(row["low"]) == max(0.0, float(row["count"]) - reach)
            assert float(row["high"]) == max(0.0, float(row["count"]) + reach)
        if name == "integer_city" and row["raw"]:
            assert row["raw"] == row["count"]
    path = tmp_path / "r.parquet"
    printed(["releases", *config(city), "--format", "parquet", "--output", str(path)], capsys)
    with duckdb.connect() as connection:
        kept = connection.execute(
            "SELECT slot, cell, count, low, raw, raw_standard_error FROM read_parquet(?)", [str(path)]
        ).fetchall()
    assert {type(count) for _, _, count, *_ in kept} == {float if name == "city" else int}
    key = ("slot", "cell", "count", "low", "raw", "raw_standard_error")
    wanted = [(int(r["slot"]), r["cell"], *(float(r[k]) if r[k] else None for k in key[2:])) for r in rows]
    assert sorted(map(str, ((s, c, float(n), *more) for s, c, n, *more in kept))) == sorted(map(str, wanted))
    assert len(re.findall("│ 2024", printed(["releases", *config(city)], capsys).replace("│ 2024-05", "│ 2024"))) == 6
    assert "--output" in printed(["releases", *config(city), "--format", "parquet"], capsys, code=2)
    path = tmp_path / "by-name.csv"
    assert printed(["releases", *config(city), "--output", str(path)], capsys) == ""
    assert list(csv.DictReader(io.StringIO(path.read_text("utf-8")))) == rows
    for words in (["counts.txt"], ["c.csv", "--json"], ["c", "--format", "table"]):
        assert "csv" in printed(["releases", *config(city), "--output", *words], capsys, code=2)


@pytest.mark.parametrize("name", ["city", "integer_city"])
def test_smoothing_from_the_store(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The store and the CSV that is made of it give the same history, for every mechanism."""
    city: Path = request.getfixturevalue(name)
    path = tmp_path / "releases.csv"
    printed(["releases", *config(city), "--format", "csv", "--output", str(path)], capsys)
    from_store = printed(["smooth", *config(city)], capsys)
    assert from_store == printed(["smooth", str(path)], capsys)
    assert len(from_store.splitlines()) > 12
    assert "not both" in printed(["smooth", str(path), *config(city)], capsys, code=2)


def test_plots(city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PNG and one page of HTML without outside references; a public one says nothing of rows."""
    assert (city / "city.png").read_bytes()[:4] == b"\x89PNG"
    for more, spends in (([], True), (["--public"], False)):
        path = tmp_path / "plot.html"
        printed(["plot", *config(city), "--output", str(path), *more], capsys)
        page = path.read_text("utf-8")
        assert ("operator only" in page) == spends
        assert not re.search(r"(src|href)=[\"']?http", page)
    assert ".png or .html" in printed(["plot", *config(city), "--output", "x.pdf"], capsys, code=2)


def test_nothing_is_drawn_before_the_first_publication() -> None:
    """A slot of which nothing is known has no point in the plot, and not a count of 0."""
    unknown = PublicRelease(1, "skipped", None, np.zeros(1), np.array([np.inf]), None, None)
    known = PublicRelease(2, "published", 0.5, np.array([7.0]), np.array([1.0]), None, None)
    (line,) = draw("town", [unknown, known], ["north"]).axes[0].get_lines()
    assert np.array_equal(line.get_ydata(), [np.nan, 7.0], equal_nan=True)


def test_the_picture_says_what_it_leaves_out() -> None:
    """Of many cells the largest are drawn, and the title says how many there are."""
    release = PublicRelease(1, "published", 0.5, np.arange(12.0), np.ones(12), None, None)
    axes = draw("town", [release], [f"c{cell}" for cell in range(12)]).axes[0]
    assert axes.get_title() == "town; the 6 largest of 12 cells"
    assert len(axes.get_lines()) == 6


def test_audit(city: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 and every promise; with forged charges 1, the slot and the class."""
    words = printed(["audit", str(city / "city.db"), "--empirical", "--runs", "20"], capsys)
    assert "every promise was kept" in words
    assert "neighbouring streams" in words
    assert "worst window" in words
    assert "no stream" not in words
    assert "city" in printed(["audit", str(city / "city.db"), "--stream", "village"], capsys, code=3)


def test_requirement_commands(city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Set, import and list; the history keeps everything; what makes no sense changes nothing."""
    copy = tmp_path / "wevent.toml"
    copy.write_text((city / "wevent.toml").read_text())
    chosen = ["--config", str(copy)]
    people = tmp_path / "people.csv"
    people.write_text("user,epsilon,window\nann,Strict,Hour\nbob,1,4\n")
    assert "2 joined" in printed(["requirements", "import", *chosen, str(people)], capsys)
    assert "0 joined, 2 unchanged" in printed(["requirements", "import", *chosen, str(people)], capsys)
    printed(["requirements", "set", *chosen, "ann", "--leave"], capsys)
    printed(["requirements", "set", *chosen, "bob", "--epsilon", "Open", "--window", "Hour"], capsys)
    assert "level" in printed(
        ["requirements", "set", *chosen, "bob", "--epsilon", "Huge", "--window", "1"], capsys, code=2
    )
    assert printed(["requirements", "list", *chosen], capsys).splitlines()[1:] == ["bob,1,2,4,,,pending,set"]
    assert len(printed(["requirements", "list", *chosen, "--history"], capsys).splitlines()) == 5


def test_publish_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody registered, nothing due, another setting: clear words and codes; then on where it stopped."""
    tour.write_city(tmp_path, 40, 4, 1)
    events = ["--events", str(tmp_path / "events.csv")]
    start = ["publish", *config(tmp_path), *events]
    assert "--requirements" in printed([*start, "--until", "2024-05-01T00:30Z"], capsys, code=2)
    start += ["--requirements", str(tmp_path / "requirements.csv")]
    assert "next is slot 3" in printed([*start, "--until", "2024-05-01T00:30Z"], capsys)
    assert "no slot was due" in printed([*start, "--until", "2024-05-01T00:30Z"], capsys)
    assert "next is slot 5" in printed([*start, "--until", "2024-05-01T01:00Z"], capsys)
    assert "closing" in printed([*start, "--follow"], capsys, code=2)
    assert "--events" in printed(["publish", *config(tmp_path)], capsys, code=2)
    assert "events accepted" in printed(["status", *config(tmp_path)], capsys)
    (tmp_path / "wevent.toml").write_text((tmp_path / "wevent.toml").read_text().replace('"15 min"', '"5 min"'))
    assert "slots.width was" in printed(start, capsys, code=3)
    assert "no such file" in printed(["publish", "--config", str(tmp_path / "none.toml")], capsys, code=2).lower()


def test_no_secret_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Users, places and numbers planted in events appear in no output, error, log line or warning."""
    tour.write_city(tmp_path, 30, 2, 1)
    with (tmp_path / "requirements.csv").open("a") as file:
        file.write(f"{SECRET},Strict,Hour\n")
    lines = ["user,time,place"]
    lines += [f"{SECRET},2024-05-01T00:0{k}:00Z,{place}" for k, place in enumerate(("Harbour", PLACE, '"' + PLACE))]
    lines += [f"{SECRET}-unlisted,2024-05-01T00:05:00Z,Harbour", f"{SECRET},9999-05-01T00:05:00Z,Harbour", SECRET]
    lines += [f"{SECRET},{PLACE},{PLACE}", f"{SECRET},2024-05-01T00:05:00Z,Harbour,{PLACE}"]
    (tmp_path / "events.csv").write_text("\n".join(lines) + "\n")
    caplog.set_level(logging.DEBUG)
    output = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        start = ["publish", *config(tmp_path), "--events", str(tmp_path / "events.csv")]
        people = ["--requirements", str(tmp_path / "requirements.csv")]
        output.append(printed([*start, *people, "--until", "2024-05-01T00:30Z"], capsys))
        output.append(printed(["audit", str(tmp_path / "city.db"), "--html", str(tmp_path / "page.html")], capsys))
        output.append(printed(["status", *config(tmp_path)], capsys))
        broken = tmp_path / "broken.csv"
        broken.write_text(f"user,epsilon,window\n{SECRET},many,Hour\n")
        output.append(printed(["requirements", "import", *config(tmp_path), str(broken)], capsys, code=2))
        (tmp_path / "headless.csv").write_text(f"{SECRET},2024-05-01,{PLACE}\n")
        more = ["publish", *config(tmp_path), "--events", str(tmp_path / "headless.csv")]
        output.append(printed([*more, "--until", "2024-05-01T00:45Z"], capsys, code=2))
        (tmp_path / "broken.parquet").write_bytes(b"PAR1" + SECRET.encode() * 9 + b"PAR1")
        more = ["publish", *config(tmp_path), "--events", str(tmp_path / "broken.parquet")]
        output.append(printed([*more, "--until", "2024-05-01T00:45Z"], capsys, code=2))
        (tmp_path / "city.db-shm").unlink(missing_ok=True)
        output.append((tmp_path / "page.html").read_text("utf-8"))
    everything = "\n".join([*output, caplog.text, *(str(warning.message) for warning in warned)])
    assert SECRET not in everything
    assert PLACE not in everything
    assert "Traceback" not in everything


def test_killed_by_hand(tmp_path: Path) -> None:
    """SIGTERM ends a following process in order, with code 0; started again it goes on."""
    tour.write_city(tmp_path, 30, 2, 1)
    text = (tmp_path / "wevent.toml").read_text().replace('closing = "files"', 'closing = "arrival"')
    text = re.sub(r"first = .*", "first = 2020-01-01T00:00:00Z", text).replace('"15 min"', '"400 d"')
    (tmp_path / "wevent.toml").write_text(text)
    (tmp_path / "live.csv").write_text("user,time,place\n")
    words = ["publish", *config(tmp_path), "--requirements", str(tmp_path / "requirements.csv")]
    words += ["--events", str(tmp_path / "live.csv"), "--follow"]
    process = subprocess.Popen([sys.executable, "-m", "wevent", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(600):
        if (tmp_path / "city.witness.json").exists():
            break
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        process.terminate()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (out, err)
    assert b"Traceback" not in err
    assert b"stream city" in out


def test_the_tour(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`wevent demo` without a folder leaves nothing behind."""
    words = printed(["demo", "--people", "30", "--slots", "2"], capsys)
    assert "every promise was kept" in words
    found = re.search(r"in (/\S+)", words)
    assert found is not None
    assert not Path(found[1]).exists()


def test_status_counts_files_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Refused events of files that are read again are those of the last run, in the words of its summary."""
    tour.write_city(tmp_path, 20, 6, 1)
    publish = ["publish", *config(tmp_path), "--events", str(tmp_path / "events.csv")]
    printed([*publish, "--requirements", str(tmp_path / "requirements.csv"), "--until", "2024-05-01T00:15Z"], capsys)
    for minutes in (30, 45):
        output = printed([*publish, "--until", f"2024-05-01T00:{minutes}Z"], capsys)
    status = printed(["status", *config(tmp_path)], capsys)
    refused = [line.strip() for line in output.splitlines() if "in slots that" in line]
    assert len(refused) == 2
    assert "events refused in the last run, by reason:" in status
    for line in refused:
        assert f"    {line}\n" in status
    assert "next is slot 4 (2024-05-01T00:45:00Z), over at 2024-05-01T01:00:00Z; run `wevent publish` again" in status
