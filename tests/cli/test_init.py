"""`wevent init` writes a configuration that begins now, and settings hold for good once slots are released."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.cli.support import printed
from tests.cli.town import FIRST, UNTIL, csv_file, good, publish, town

from wevent.cli.main import main
from wevent.config.read import read_config
from wevent.events.timeline import show_instant


def test_init_does_not_lead_to_years_of_slots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself slot 1 is today's first; `--first` and the others are written; what makes no sense writes nothing."""
    path = tmp_path / "wevent.toml"
    printed(["init", str(path)], capsys)
    config = read_config(path)
    now = time.time_ns() // 1000
    assert 0 <= now - config.slots.first < 2 * 86_400_000_000
    assert config.slots.first % 86_400_000_000 == 0
    path.unlink()
    chosen = ["--first", "2024-05-01", "--width", "1 h", "--closing", "arrival", "--name", "a b", "--cells", "x, y"]
    assert "2024-05-01T00:00:00Z" in printed(["init", str(path), *chosen], capsys)
    config = read_config(path)
    assert show_instant(config.slots.first) == FIRST
    assert (config.slots.width, config.slots.closing, config.stream.name) == (3_600_000_000, "arrival", "a b")
    assert config.cells.names == ("x", "y")
    path.unlink()
    assert "slots.width" in printed(["init", str(path), "--width", "soon"], capsys, code=2)
    assert not path.exists()


@pytest.mark.parametrize(
    ("width", "levels"),
    [
        ("15 min", {"hour": 4, "evening": 24, "day": 96}),
        ("7 min", {"hour": 9, "evening": 52, "day": 206}),
        ("1 h", {"hour": 1, "evening": 6, "day": 24}),
        ("1 d", {"day": 1}),
        ("2 d", {}),
    ],
)
def test_levels_last_as_long_as_they_say(tmp_path: Path, width: str, levels: dict[str, int]) -> None:
    """Windows that are named after times follow the width of a slot, and the limits allow the strictest level."""
    path = tmp_path / "wevent.toml"
    assert main(["init", str(path), "--first", "2024-05-01", "--width", width]) == 0
    config = read_config(path)
    assert config.levels.windows == levels
    longest = max(levels.values(), default=1)
    assert config.privacy.history_slots == longest
    assert 0.9 * 0.5 / longest < config.privacy.limits.least_share < 0.5 / longest


def test_init_of_a_live_stream_begins_with_the_next_slot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--closing arrival` slot 1 has not begun when the configuration is written, so that it has people."""
    path = tmp_path / "wevent.toml"
    for width, length in ((None, 900_000_000), ("10 s", 10_000_000), ("7 d", 604_800_000_000)):
        before = time.time_ns() // 1000
        printed(["init", str(path), "--closing", "arrival", *([] if width is None else ["--width", width])], capsys)
        slots = read_config(path).slots
        assert slots.timeline.start(1) == slots.first
        assert before <= slots.first <= time.time_ns() // 1000 + length
        path.unlink()
    for width in ("soon", "0 s", "99999999999 d"):
        assert "width" in printed(["init", str(path), "--closing", "arrival", "--width", width], capsys, code=2)


def test_settings_that_nothing_was_released_under(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before a slot is charged the error says how to begin again, and it works; afterwards it names another stream."""
    events, people = csv_file(tmp_path, good()), str(tmp_path / "people.csv")
    words = publish(tmp_path, events, *UNTIL)
    toml = tmp_path / "wevent.toml"
    toml.write_text(toml.read_text().replace("2024-05-01", "2023-05-01"))
    printed(["requirements", "import", "--config", str(toml), people], capsys)
    town(tmp_path)
    check = ["check", *words[1:]]
    for command in (check, words):
        output = printed(command, capsys, code=3)
        assert "slots.first was" in output
        assert "Nothing was released under them" in output
        for path in (tmp_path / "town.db", tmp_path / "town.json"):
            assert str(path) in output
        assert "import the requirements again" in output
        assert "`name`" not in output
        assert "shared" not in output
    (tmp_path / "town.db").unlink()
    (tmp_path / "town.json").unlink()
    assert "next is slot 5" in printed(words, capsys)
    toml.write_text(toml.read_text().replace("2024-05-01", "2023-05-01"))
    for command in (check, words):
        output = printed(command, capsys, code=3)
        assert "change `name` under [stream]" in output
        assert "remove" not in output


def test_settings_beside_other_streams_and_a_witness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A store that other streams use is not to be removed; nor is one whose witness knows of slots that were shown."""
    words = publish(tmp_path, csv_file(tmp_path, good()), *UNTIL)
    toml = tmp_path / "wevent.toml"
    printed(["requirements", "import", "--config", str(toml), str(tmp_path / "people.csv")], capsys)
    copy = (tmp_path / "town.db").read_bytes()
    assert main(words) == 0
    shown = (tmp_path / "town.db").read_bytes()
    (tmp_path / "town.db").write_bytes(copy)
    other = toml.read_text().replace("1 min", "2 min")
    toml.write_text(other)
    output = printed(words, capsys, code=3)
    assert "Nothing was released" not in output
    assert "remove" not in output
    (tmp_path / "town.db").write_bytes(shown)
    toml.write_text(other.replace('"town"', '"second"').replace("town.json", "second.json"))
    (tmp_path / "second.csv").write_text("user,epsilon,window\nx,1,4\n")
    printed(["requirements", "import", "--config", str(toml), str(tmp_path / "second.csv")], capsys)
    toml.write_text(toml.read_text().replace("2 min", "3 min"))
    output = printed(["requirements", "import", "--config", str(toml), str(tmp_path / "second.csv")], capsys, code=3)
    assert "the store holds other streams and must stay" in output
    assert "remove" not in output
