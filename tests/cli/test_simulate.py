"""The command `wevent simulate`: it publishes, keeps its promises, and shows nothing that is not public."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from fractions import Fraction
from io import StringIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from wevent import RECIPES, Decision, Publisher, Release, __version__
from wevent.cli import simulation
from wevent.cli.city import DISTRICTS, City, clock
from wevent.cli.city_requirements import LEVELS, CityRequirements
from wevent.cli.main import main
from wevent.cli.score import Score, Spends
from wevent.cli.simulation import Order
from wevent.cli.table import Table
from wevent.cohorts.requirement import Dynamic, Fixed
from wevent.noise import SeededNoise
from wevent.releases import publisher as publishing

SOURCE = Path(__file__).parents[2] / "src"
RATIO = re.compile(r"spent / allowed = (\d+\.\d{3}) over ([\d,]+) windows")


def shown(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What `wevent simulate` prints, if all is well."""
    assert main(["simulate", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("mechanism", RECIPES)
def test_every_recipe_runs(mechanism: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each recipe publishes the city, one line per slot, and no window holds more than was promised."""
    out = shown("--mechanism", mechanism, "--people", "80", "--slots", "40", capsys=capsys)
    lines = re.findall(r"^ +(\d+)  \d\d:\d\d  (\w+)", out, re.MULTILINE)
    assert [int(slot) for slot, _ in lines] == list(range(1, 41))
    assert {decision for _, decision in lines} <= set(Decision)
    found = RATIO.search(out)
    assert found is not None
    assert 0 < float(found[1]) <= 1
    assert int(found[2].replace(",", "")) > 80
    assert "every promise was kept" in out


@pytest.mark.parametrize("mechanism", ["pba", "dpba", "ba"])
def test_nobody_else_rests(mechanism: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--rest own` no slot is nullified, and the promises hold."""
    out = shown("--mechanism", mechanism, "--rest", "own", "--people", "80", "--slots", "30", capsys=capsys)
    assert " 0 nullified" in out
    assert "every promise was kept" in out


@pytest.mark.parametrize("slots", ["1", "2", "100"])
def test_lengths(slots: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The shortest streams and those of more than a day run as well."""
    assert "every promise was kept" in shown("--people", "20", "--slots", slots, capsys=capsys)


def test_the_events_of_the_city_happen(capsys: pytest.CaptureFixture[str]) -> None:
    """People join, leave, return and change on the way."""
    out = shown("--people", "600", "--slots", "60", capsys=capsys)
    found = re.search(r"^people +(\d+) joined, (\d+) left, (\d+) returned, (\d+) changed$", out, re.MULTILINE)
    assert found is not None
    assert all(int(many) > 0 for many in found.groups())


class Far(SeededNoise):
    """Noise that is never 0, so that a true count in the output can only be a leak."""

    def _add_laplace(self, values: npt.NDArray[np.int64], scale: float) -> npt.NDArray[np.int64]:
        return values + 50_000


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w.,-]+", text))


def test_nothing_private_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No true count and no user's name is printed; a line that showed one would be found."""
    truths: set[str] = set()
    note = Score.note

    def planted(score: Score, release: Release, truth: npt.NDArray[np.int64]) -> None:
        truths.update(form for count in truth.tolist() if count > 0 for form in (str(count), f"{count:,}"))
        note(score, release, truth)

    monkeypatch.setattr(Score, "note", planted)
    monkeypatch.setattr(publishing, "SecureNoise", lambda: Far(0))
    monkeypatch.setattr(City, "move", lambda city, slot: np.where(np.arange(3000) < 2718, slot % 2, -1))
    out = shown("--people", "3000", "--slots", "30", capsys=capsys)
    assert truths
    assert not truths & words(out)
    assert "resident" not in out

    line = Table.line

    def leaking(table: Table, release: Release) -> None:
        line(table, release)
        table._say(f"by the way: {max(truths, default='')}")

    monkeypatch.setattr(Table, "line", leaking)
    assert truths & words(shown("--people", "3000", "--slots", "30", capsys=capsys))


def test_noise_is_not_seeded(capsys: pytest.CaptureFixture[str]) -> None:
    """The same seed moves people in the same way and publishes other counts."""
    first = shown("--mechanism", "uniform", "--people", "20", "--slots", "8", capsys=capsys)
    again = shown("--mechanism", "uniform", "--people", "20", "--slots", "8", capsys=capsys)
    assert first != again  # equal by chance with probability below 10⁻⁴⁰


def test_a_broken_promise_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """If people spent twice as much as the ledger says, the run ends with exit code 1 and a ratio above 1."""
    note = Spends.note

    def doubled(spends: Spends, publisher: Publisher, persons: npt.NDArray[np.int64], users: list[str]) -> None:
        note(spends, publisher, persons, users)
        assert publisher.trace is not None
        spends._units[:, publisher.trace.slot - 1] *= 2

    monkeypatch.setattr(Spends, "note", doubled)
    assert main(["simulate", "--people", "50", "--slots", "48", "--mechanism", "uniform"]) == 1
    out = capsys.readouterr().out
    found = RATIO.search(out)
    assert found is not None
    assert float(found[1]) > 1
    assert "A PROMISE WAS BROKEN" in out


def test_ratio_is_rounded_up() -> None:
    """A ratio just above 1 is never shown as 1.000."""
    out = StringIO()
    Table(out, colour=False).summary({}, {}, {}, Fraction(10**9 + 1, 10**9), 1)
    assert "allowed = 1.001 over 1 windows: A PROMISE WAS BROKEN" in out.getvalue()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--slots", "0"], "'--slots': must be a whole number from 1 to 1,000, got 0"),
        (["--slots", "1001"], "'--slots': must be a whole number from 1 to 1,000, got 1001"),
        (["--slots", "ten"], "'--slots': must be a whole number from 1 to 1,000, got 'ten'"),
        (["--people", "19"], "'--people': must be a whole number from 20 to 20,000, got 19"),
        (["--people", "2.5"], "'--people': must be a whole number from 20 to 20,000, got '2.5'"),
        (["--seed", "-1"], "'--seed': must be a whole number from 0 to"),
        (["--pace", "nan"], "'--pace': must be a number of seconds from 0 to 60, got 'nan'"),
        (["--pace", "-1"], "'--pace': must be a number of seconds from 0 to 60, got '-1'"),
        (["--pace", "soon"], "'--pace': must be a number of seconds from 0 to 60, got 'soon'"),
        (["--mechanism", "magic"], "'--mechanism': 'magic' is not one of"),
        (["--rest", "none"], "'--rest': 'none' is not one of"),
        (["--noise", "0"], "no such option: --noise"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments that make no sense end with exit code 2 and a message that names the limit."""
    assert main(["simulate", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_command_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command the help is shown, with the exit code of a usage error."""
    assert main([]) == 2
    assert "COMMAND" in capsys.readouterr().out


def test_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopping by hand gives exit code 130."""

    def stop(order: Order, table: Table) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(simulation, "run", stop)
    assert main(["simulate"]) == 130


def start(*arguments: str) -> subprocess.Popen[str]:
    """`python -m wevent` as a process of its own."""
    found = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "wevent", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": found},
    )


def test_as_a_module() -> None:
    """`python -m wevent` is the command, and tells its version."""
    with start("--version") as process:
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out.strip()) == (0, f"wevent {__version__}")


@pytest.mark.parametrize("words", [["simulate", "--people", "20", "--slots", "1000"], ["--help"]])
def test_the_reader_may_stop(words: list[str]) -> None:
    """`wevent simulate | head` ends quietly, and so does what Rich prints."""
    with start(*words) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        if words[0] == "simulate":
            process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == ""


def test_colour_only_where_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    """Escape codes go to a terminal, not into a file."""
    assert "\x1b" not in shown("--people", "20", "--slots", "2", capsys=capsys)
    out = StringIO()
    Table(out, colour=True).head("title")
    assert "\x1b[1m" in out.getvalue()


def test_city_repeats_for_a_seed() -> None:
    """The same seed gives the same movement, another one gives another; everybody is in a district or away."""
    city, same, other = City(200, 3), City(200, 3), City(200, 4)
    for slot in range(1, 100):
        places = city.move(slot)
        assert (places == same.move(slot)).all()
        assert places.min() >= -1
        assert places.max() < len(DISTRICTS)
    assert (city.move(100) != other.move(100)).any()


def test_clock() -> None:
    """A slot is a quarter of an hour, and a day has 96."""
    assert [clock(slot) for slot in (1, 2, 5, 96, 97)] == ["00:00", "00:15", "01:00", "23:45", "00:00"]


@pytest.mark.parametrize("dynamic", [False, True])
def test_residents_require_all_levels(dynamic: bool) -> None:
    """Every level is required in slot 1, and dynamic requirements exactly where they are served."""
    requirements = CityRequirements(200, 40, 1, dynamic=dynamic)
    first = {change.requirement for change in requirements.at(1)}
    assert {LEVELS.fixed(b, w) for b in LEVELS.epsilons for w in LEVELS.windows} <= first
    kinds = {type(change.requirement) for slot in range(1, 41) for change in requirements.at(slot)} - {type(None)}
    assert kinds == ({Fixed, Dynamic} if dynamic else {Fixed})
