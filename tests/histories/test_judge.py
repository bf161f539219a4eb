"""The judge against hand-made windows and against the oracle, which shares no line with it."""

from __future__ import annotations

import random

import pytest
from tests.histories.events import Req
from tests.histories.judge import Judge
from tests.oracle import DynamicReq, FixedReq, OracleUser


def judged(promised: list[Req | None], spends: list[int]) -> Judge:
    judge = Judge()
    for slot, (requirement, spent) in enumerate(zip(promised, spends, strict=True), start=1):
        judge.note("u", slot, requirement, spent)
    return judge


def test_one_unit_too_many_is_seen() -> None:
    """A window one unit above its budget is broken, and a full one is not, for each kind of promise."""
    fixed = FixedReq(100, 2)
    assert not judged([fixed, None], [50, 50]).broken()
    assert judged([fixed, None], [50, 51]).broken()  # the window outlives its version
    assert not judged([fixed, None, None], [50, 50, 500]).broken()
    forward = DynamicReq(1000, 1, 100, 3)
    assert not judged([forward, None, None], [0, 50, 50]).broken()
    assert judged([forward, None, None], [0, 50, 51]).broken()
    backward = DynamicReq(100, 2, 1000, 1)
    assert judged([None, backward], [60, 41]).broken()
    assert not judged([None, backward], [60, 40]).broken()


def test_what_was_spent_before_a_promise_is_excused() -> None:
    """A stricter promise is not broken by what was spent before it, and is by the first unit after it."""
    loose, strict = FixedReq(1000, 3), FixedReq(10, 3)
    assert not judged([loose, strict, strict], [900, 0, 0]).broken()
    assert judged([loose, strict, strict], [900, 0, 1]).broken()
    assert not judged([loose, DynamicReq(10, 2, 1000, 1)], [900, 0]).broken()
    assert judged([loose, DynamicReq(10, 2, 1000, 1)], [900, 1]).broken()


def test_slots_are_judged_once() -> None:
    """A slot in which a person spent cannot be reported a second time."""
    judge = judged([None], [0])
    with pytest.raises(ValueError, match="judged before"):
        judge.note("u", 1, None, 0)


def test_judge_and_oracle_agree() -> None:
    """On random lives, full to the brim or one unit above it, both see the same windows broken, or none."""
    rng = random.Random(4)
    kept = broken = 0
    for _ in range(300):
        oracle, promised, spends = OracleUser(), [], []
        now: Req | None = None
        for slot in range(1, 21):
            if rng.random() < 0.3:
                now = _random(rng)
                oracle.leave(slot) if now is None else oracle.require(slot, now)
            room = oracle.room(slot)
            spent = 0 if room is None or rng.random() < 0.4 else rng.choice([room, room // 2])
            spent += rng.random() < 0.02
            oracle.record(slot, 0, spent)
            promised.append(now)
            spends.append(spent)
        found = {(window.first, window.last, window.allowed) for window in judged(promised, spends).broken()}
        assert bool(found) == bool(oracle.violations())
        kept, broken = kept + (not found), broken + bool(found)
    assert kept > 50 and broken > 50


def _random(rng: random.Random) -> Req | None:
    window, kind = rng.randint(1, 6), rng.randrange(4)
    if kind == 0:
        return None
    if kind == 1:
        return DynamicReq(rng.randrange(1, 400), rng.randint(1, 6), rng.randrange(2 * window, 400), window)
    return FixedReq(rng.randrange(2 * window, 400), window)
