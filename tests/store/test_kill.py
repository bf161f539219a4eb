"""Killed at any moment, a stream accounts for every event it accepted, releases no slot twice, forgets no charge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.store.nursery import ASKED, settings
from tests.store.scene import Town, random_rows, same
from tests.store.twin import Twin

from wevent.releases.release import Decision
from wevent.reports.audit import audit
from wevent.reports.history import read_history
from wevent.store.accounting import read_account
from wevent.store.schema import releases, slots, waiting

ROOT = Path(__file__).parents[2]
ROUNDS = 200


def kill(where: str, folder: Path, rounds: int, mechanism: str = "pbd") -> None:
    """Let the nursery start and kill processes; every one of them must have been at work until then."""
    found = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, "-m", "tests.store.nursery", where, str(folder), str(rounds), mechanism],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": found},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert json.loads(ended.stdout) == {"killed": rounds}, ended.stderr[-2000:]


def check(town: Town, folder: Path) -> Counter[str]:
    """Everything that must hold after the kills; returns how slots ended."""
    town.session().close()  # what was charged and not released becomes lost
    with town.database.read() as connection:
        charged = list(connection.execute(sa.select(slots.c.slot).order_by(slots.c.slot)).scalars())
        ended = connection.execute(sa.select(releases.c.slot, releases.c.decision).order_by(releases.c.slot)).all()
        left = connection.execute(sa.select(waiting.c.slot, sa.func.length(waiting.c.events))).all()
        full = connection.execute(
            sa.select(slots.c.slot)
            .join(releases, (releases.c.stream == slots.c.stream) & (releases.c.slot == slots.c.slot))
            .where(releases.c.decision == "lost", sa.func.length(slots.c.change_budget) > 0)
        ).all()
        account = read_account(connection, 1)
    last = len(charged)
    assert charged == list(range(1, last + 1))
    assert [slot for slot, _ in ended] == charged  # every charged slot ended, once
    waits: Counter[int] = Counter()
    for slot, size in left:
        assert slot > last  # no event of a slot that is over
        waits[slot] += size // 16
    lines = [json.loads(line) for line in (folder / "accepted.ndjson").read_text("utf-8").splitlines()]
    tried, accepted = (Counter(slot for line in lines for slot in line.get(kind, ())) for kind in ("tried", "accepted"))
    for slot in range(last + 1, max(tried) + 1):  # slots up to the last are over; whatever else was accepted waits
        assert accepted[slot] <= waits[slot] <= tried[slot]
    assert set(waits) <= set(tried)
    decisions = Counter(decision for _, decision in ended)
    assert account.balanced, account
    assert accepted.total() <= account.accepted <= tried.total()
    assert account.waiting == waits.total()
    lost = {slot for slot, decision in ended if decision == "lost"}
    for number, over in ((account.lost, lost), (account.released, set(charged) - lost)):
        assert sum(accepted[slot] for slot in over) <= number <= sum(tried[slot] for slot in over)
    assert len(full) == decisions["lost"]  # with the charge kept
    found = audit(read_history(town.database))
    assert found.kept, found.violations
    return decisions


def check_twin(town: Town) -> Counter[str]:
    """A stream that was killed is to the bit one in memory that lost the same slots; returns how slots ended."""
    with town.session() as session:
        twin = Twin(town.config, {k: required for k, required in enumerate(ASKED.values()) if required is not None})
        decisions: Counter[str] = Counter()
        for slot in range(1, session.next_slot):
            kept = session.journal.find(slot)
            assert kept is not None
            lost = kept.decision is Decision.LOST
            assert same(kept, twin.live(slot, random_rows(session, slot).cells.tolist(), lost=lost)), slot
            decisions[kept.decision] += 1
        assert session._publisher.to_bytes() == twin.publisher.to_bytes()
    found = audit(read_history(town.database))
    assert found.kept, found.violations
    return decisions


@pytest.mark.slow
def test_sqlite(tmp_path: Path) -> None:
    """200 kills at random moments on SQLite; some fall between charge and release and give lost slots."""
    kill(str(tmp_path / "town.db"), tmp_path, ROUNDS)
    decisions = check(Town(tmp_path / "town.db", tmp_path / "witness.json"), tmp_path)
    assert min(decisions["lost"], decisions["published"]) > 0, decisions


@pytest.mark.slow
def test_filtered(tmp_path: Path) -> None:
    """100 kills of `auto`: what was learned is always what the kept releases teach, and lost slots teach nothing."""
    kill(str(tmp_path / "town.db"), tmp_path, 100, "auto")
    decisions = check_twin(Town(tmp_path / "town.db", tmp_path / "witness.json", settings("auto")))
    assert min(decisions["lost"], decisions["published"]) > 0, decisions


def test_a_few_kills(tmp_path: Path) -> None:
    """The same with 12 kills, for every day."""
    kill(str(tmp_path / "town.db"), tmp_path, 12)
    check(Town(tmp_path / "town.db", tmp_path / "witness.json"), tmp_path)
