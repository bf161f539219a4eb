"""`wevent requirements`: opt-outs stay, mistakes are named, and a person sees what is kept of them."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from tests.cli.support import config, printed

from wevent.cli import tour
from wevent.cli.main import main


@pytest.fixture
def town(tmp_path: Path) -> Path:
    """A configuration of a small city, with nobody listed."""
    tour.write_city(tmp_path, 20, 6, 1)
    return tmp_path


def write(folder: Path, *lines: str, header: str = "user,epsilon,window") -> str:
    path = folder / "people.csv"
    path.write_text("\n".join([header, *lines]) + "\n", "utf-8")
    return str(path)


def listed(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(printed(["requirements", "list", *config(folder), *more], capsys))))


def test_people_who_left_stay_away(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Importing again says how many stay away; only --return brings them back, and publish does not either."""
    people = write(town, "ann,Strict,Hour", "bob,1,4", "zoe,1,4")
    importing = ["requirements", "import", *config(town), people]
    assert "3 joined; changes hold from slot 1 on" in printed(importing, capsys)
    printed(["requirements", "set", *config(town), "ann", "--leave"], capsys)
    assert "1 left before and stay away, --return" in printed(importing, capsys)
    publish = [
        "publish",
        *config(town),
        "--events",
        str(town / "events.csv"),
        "--requirements",
        people,
        "--allow-empty",
    ]
    assert "1 left before and stay away" in printed([*publish, "--until", "2024-05-01T00:15Z"], capsys)
    assert {row["user"] for row in listed(town, capsys)} == {"bob", "zoe"}
    assert "1 returned, 2 unchanged" in printed([*importing, "--return"], capsys)
    assert {row["user"] for row in listed(town, capsys)} == {"ann", "bob", "zoe"}
    printed(["requirements", "set", *config(town), "bob", "--leave"], capsys)
    printed(["requirements", "set", *config(town), "bob", "--epsilon", "1", "--window", "4"], capsys)
    assert "bob" in {row["user"] for row in listed(town, capsys)}


def test_mistakes(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unknown people cannot leave, leaving goes with nothing else, and a file names everybody once."""
    chosen = config(town)
    printed(["requirements", "import", *chosen, write(town, "ann,1,4")], capsys)
    start = ["requirements", "set", *chosen]
    (town / "other.toml").write_text((town / "wevent.toml").read_text().replace('name = "city"', 'name = "village"'))
    other = ["requirements", "set", "--config", str(town / "other.toml"), "ann", "--leave"]
    assert "the store has: city" in printed(other, capsys, code=3)
    assert "nobody of this name" in printed([*start, "anne", "--leave"], capsys, code=2)
    assert "nobody of this name" in printed([*start, " ann", "--leave"], capsys, code=2)
    for more in (["--epsilon", "1"], ["--window", "4"], ["--backward-epsilon", "1"]):
        assert "--leave goes with no" in printed([*start, "ann", "--leave", *more], capsys, code=2)
    assert "needs an epsilon and a window" in printed([*start, "ann", "--epsilon", "1"], capsys, code=2)
    assert "from 1 to 512" in printed([*start, "", "--epsilon", "1", "--window", "4"], capsys, code=2)
    assert "from 1 to 512" in printed([*start, "x" * 513, "--epsilon", "1", "--window", "4"], capsys, code=2)
    for lines, words in (
        (("zoe,1,4", "bob,1,4", "zoe,2,4"), "line 4: the same user as in line 2"),
        (("andr\u00e9,1,4", "andre\u0301,2,4"), "line 3: the same user as in line 2"),
        (("zoe,leave,4",), "line 2: a person who leaves requires nothing"),
        ((",1,4",), "line 2: a name has from 1 to 512"),
        (("zoe,1,4", "x" * 513 + ",1,4"), "line 3: a name has from 1 to 512"),
        (("zoe,1,4", "bob,0.0001,4"), "line 3: epsilon=0.0001 over window=4 is below"),
    ):
        output = printed(["requirements", "import", *chosen, write(town, *lines)], capsys, code=2)
        assert words in output
        assert "zoe" not in output
    old = write(town, "zoe,1,4", header="user,budget,window")
    assert "`budget` is called `epsilon`" in printed(["requirements", "import", *chosen, old], capsys, code=2)
    assert [row["user"] for row in listed(town, capsys)] == ["ann"]
    assert len(listed(town, capsys, "--history")) == 1
    spaced = write(town, " zoe ,1,4", "zoe,2,4", "gone,leave,")
    assert "2 joined" in (output := printed(["requirements", "import", *chosen, spaced], capsys))
    assert "1 were to leave and were never listed" in output
    assert {row["user"] for row in listed(town, capsys)} == {"ann", " zoe ", "zoe"}


def test_sync(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """People who are not in the file leave, after an exact preview; without a yes nothing is stored."""
    importing = ["requirements", "import", *config(town)]
    printed([*importing, write(town, "ann,1,4", "bob,1,4", "zoe,1,4", "dan,1,4")], capsys)
    printed(["requirements", "set", *config(town), "dan", "--leave"], capsys)
    people = write(town, "ann,1,4", "bob,2,4", "new,1,4", "dan,1,4")
    words = "1 joined, 1 changed, 1 left, 1 unchanged"
    output = printed([*importing, people, "--sync"], capsys, code=2)
    assert f"would be stored: {words}" in output
    assert "nothing was stored" in output
    assert len(listed(town, capsys, "--history")) == 5
    output = printed([*importing, people, "--sync", "--yes"], capsys)
    assert output.count(words) == 2
    assert {row["user"] for row in listed(town, capsys)} == {"ann", "bob", "new"}
    assert "1 returned" in printed([*importing, people, "--sync", "--yes", "--return"], capsys)
    assert "everybody" in printed([*importing, write(town), "--sync", "--yes"], capsys, code=2)
    assert len(listed(town, capsys)) == 4


def test_list_and_show(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In force, pending and past changes; what was spent and is left; nothing of where the person was."""
    chosen = config(town)
    people = str(town / "requirements.csv")
    publish = ["publish", *chosen, "--events", str(town / "events.csv")]
    printed([*publish, "--requirements", people, "--until", "2024-05-01T01:00Z"], capsys)
    user = listed(town, capsys)[0]["user"]
    before = listed(town, capsys)[0]
    printed(["requirements", "set", *chosen, user, "--epsilon", "0.5", "--window", "6"], capsys)
    printed(["requirements", "set", *chosen, user, "--epsilon", "0.25", "--window", "6"], capsys)
    rows = [row for row in listed(town, capsys) if row["user"] == user]
    assert [(row["status"], row["from_slot"], row["epsilon"]) for row in rows] == [
        ("in force", "1", before["epsilon"]),
        ("pending", "5", "0.25"),
    ]
    output = printed(["requirements", "show", *chosen, user], capsys)
    assert f"in force: epsilon {before['epsilon']} over {before['window']} slots, from slot 1 (2024" in output
    assert "pending: epsilon 0.25 over 6 slots, from slot 5 (2024-05-01T01:00:00Z) on\n" in output
    assert "epsilon 0.5 over 6 slots, from slot 5 (2024-05-01T01:00:00Z) on: superseded" in output
    assert "epsilon over 6 slots" not in output  # nothing is accounted for what is pending
    assert "newest charged slot 4 (2024-05-01T00:45:00Z)" in output
    old = int(before["window"])
    assert f"epsilon over {old} slots (in force), slots {max(1, 5 - old + 1)} to 5 (" in output
    assert f" of {before['epsilon']}, left " in output
    for cell in ("Harbour", "Market", "Station"):
        assert cell not in output
    printed([*publish, "--until", "2024-05-01T01:15Z"], capsys)
    output = printed(["requirements", "show", *chosen, user], capsys)
    assert f"epsilon over {old} slots (until slot 4), slots" in output
    assert "epsilon over 6 slots (in force), slots 1 to 6 (2024-05-01T00:00:00Z to 2024-05-01T01:30:00Z): " in output
    assert "nobody of this name" in printed(["requirements", "show", *chosen, "nobody"], capsys, code=2)
    assert main(["audit", str(town / "city.db")]) == 0


def test_a_routine_run_keeps_what_a_person_set(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Publishing again with the old file does not loosen what a person tightened by `set`; only --overwrite does."""
    chosen = config(town)
    people = write(town, "ann,2,4", "bob,2,4")
    publish = ["publish", *chosen, "--events", str(town / "events.csv"), "--allow-empty"]
    printed([*publish, "--requirements", people, "--until", "2024-05-01T00:15Z"], capsys)
    printed(["requirements", "set", *chosen, "ann", "--epsilon", "0.5", "--window", "8"], capsys)
    kept = "1 person has set their own requirement since; they stay as they are unless --overwrite"
    assert kept in printed([*publish, "--requirements", people, "--until", "2024-05-01T00:30Z"], capsys)
    rows = {row["user"]: row for row in listed(town, capsys)}
    assert (rows["ann"]["epsilon"], rows["ann"]["window"], rows["ann"]["source"]) == ("0.5", "8", "set")
    assert rows["bob"]["source"] == "import"
    sync = ["requirements", "import", *chosen, people, "--sync"]
    assert f"would be stored: 0 joined, 1 unchanged; {kept}" in printed(sync, capsys, code=2)
    assert kept in printed([*sync, "--yes"], capsys)
    assert "1 changed" in printed(
        [*publish, "--requirements", people, "--overwrite", "--until", "2024-05-01T00:45Z"], capsys
    )
    assert {row["epsilon"] for row in listed(town, capsys)} == {"2"}


def test_what_a_new_requirement_inherits(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was spent under a looser requirement is shown apart from a breach, with the slot until which nothing is."""
    chosen = config(town)
    (town / "wevent.toml").write_text((town / "wevent.toml").read_text().replace("auto", "pbd"))
    publish = ["publish", *chosen, "--events", str(town / "events.csv"), "--allow-empty"]
    printed([*publish, "--requirements", write(town, "ann,2,4"), "--until", "2024-05-01T01:00Z"], capsys)
    printed(["requirements", "set", *chosen, "ann", "--epsilon", "0.5", "--window", "6"], capsys)
    output = printed(["requirements", "show", *chosen, "ann"], capsys)
    assert "epsilon over 4 slots (in force), slots 2 to 5 (" in output
    total = re.search(r"spent in all since first listed, from slot 1 \(2024-05-01T00:00:00Z\) on: ([0-9.]+)\n", output)
    assert total is not None
    assert 1 <= float(total[1]) <= 2  # a quarter in each slot for measuring change, and what was published
    assert " of 0.5" not in output
    printed([*publish, "--until", "2024-05-01T01:15Z"], capsys)
    output = printed(["requirements", "show", *chosen, "ann"], capsys)
    assert (
        "epsilon over 6 slots (in force), slots 1 to 6 (2024-05-01T00:00:00Z to 2024-05-01T01:30:00Z): its window "
        f"already held {total[1]} before it began; nothing more is spent until slot "
    ) in output
    assert re.search(r"until slot (9 \(2024-05-01T02:00:00Z\)|10 \(2024-05-01T02:15:00Z\))\n", output)
    assert " of 0.5" not in output
    assert f"from slot 1 (2024-05-01T00:00:00Z) on: {total[1]}\n" in output
    assert "epsilon over 4 slots (until slot 4), slots 3 to 6 (" in output


def test_set_names_a_new_person(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt user is named as a new person, unlike a person who is known, returns or leaves."""
    printed(["requirements", "import", *config(town), write(town, "ann,1,4")], capsys)

    def store(user: str, *more: str) -> str:
        return printed(["requirements", "set", *config(town), user, *more], capsys)

    terms = ["--epsilon", "2", "--window", "4"]
    assert store("anne", *terms) == "stored for a new person; it holds from slot 1 on\n"
    assert store("ann", *terms) == "changed; it holds from slot 1 on\n"
    assert store("ann", *terms) == "nothing changed: this is required already\n"
    assert store("ann", "--leave") == "left; it holds from slot 1 on\n"
    assert store("ann", *terms) == "returned; it holds from slot 1 on\n"
