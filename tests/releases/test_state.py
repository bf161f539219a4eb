"""A publisher as bytes: what comes back behaves like what was kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import FAST, Tape

from wevent import RECIPES, Dynamic, Fixed, Publisher, Register, Slot, dpba, pbd
from wevent.budgets.ledger import Ledger
from wevent.errors import CorruptState, InvalidInput
from wevent.noise import SeededNoise
from wevent.releases.release import Decision

LEVELS = [Fixed(1, 4), Fixed(2, 3), Fixed(0.5, 6)]


def made(name: str, fast: bool, register: Register | None = None) -> Publisher:
    people = register or Register.from_rows({k: LEVELS[k % 3] for k in range(6)})
    return RECIPES[name](people, 3, noise=SeededNoise(5), history_slots=8, fast=fast)


def change(publisher: Publisher, tape: Tape, name: str) -> None:
    """Let a person join, leave or require something else."""
    user, asked = tape.number(9), tape.one_of(LEVELS)
    requirement: Fixed | Dynamic = (
        Dynamic((asked.epsilon, asked.window), (3, 2)) if name == "dpba" and tape.number(2) else asked
    )
    if user not in publisher.members.register:
        publisher.join(user, requirement)
    elif tape.number(3) == 0 and len([row for row in publisher.members.rows() if row >= 0]) > 1:
        publisher.leave(user)
    else:
        publisher.change(user, requirement)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.binary(min_size=10, max_size=60), st.sampled_from(["pbd", "pba", "dpba"]), st.sampled_from(FAST))
def test_kept_and_replayed_publishers_agree(data: bytes, name: str, fast: bool) -> None:
    """At any time a copy from bytes, and one that replayed the slots, offer what the first one offers."""
    tape, first, second = Tape(data), made(name, fast), made(name, fast)
    twin = made(name, fast, Register())
    twin.restore(first.to_bytes())
    again = Tape(data)
    while tape:
        for publisher, events in ((first, tape), (second, again)):
            change(publisher, events, name)
        slot = first.ledger.slot
        if tape.number(4) == 0:
            again.number(4)
            first.forfeit()
            second.forfeit()
        else:
            again.number(4)
            release = first.step(Slot(slot))
            assert first.trace is not None
            second.members.begin_slot()
            offer = second.ledger.offer(second.schedule)
            assert offer.change_budget.tolist() == first.trace.change_budget.tolist()
            assert offer.publish_budget.tolist() == first.trace.offer.tolist()
            second.replay(offer, release)
        kept = first.to_bytes()
        twin = made(name, fast, Register())
        twin.restore(kept)
        assert twin.to_bytes() == kept
        for other in (second, twin):
            assert other.ledger.room().tolist() == first.ledger.room().tolist()
            assert other.members.rows().tolist() == first.members.rows().tolist()
            assert other.repeat(slot + 1).counts.tolist() == first.repeat(slot + 1).counts.tolist()


@pytest.mark.parametrize("fast", FAST)
def test_forfeit(fast: bool) -> None:
    """After a slot that was given up nobody, newcomers and dynamic ones neither, has room before h + w."""
    moving = {"dynamic": Dynamic((1, 5), (100, 1)), "both": Dynamic((1, 2), (1, 3))}
    people: dict[str, Fixed | Dynamic] = {"fixed": Fixed(1, 4), **moving}
    publisher = dpba(Register.from_rows(people), 2, noise=SeededNoise(1), fast=fast)
    publisher.step(Slot(1))
    assert publisher.forfeit().decision is Decision.LOST  # slot 2
    publisher.join("new", Fixed(1, 4))
    ends = {"fixed": 2 + 4, "dynamic": 2 + 5, "both": 2 + 3, "new": 2 + 4}
    for slot in range(3, 9):
        publisher.members.begin_slot()
        room, rows = publisher.ledger.room(), publisher.members.rows()
        for user, end in ends.items():
            left = int(room[rows[publisher.members.register.position(user)]])
            assert (left == 0) == (slot < end), (user, slot)
        publisher.step(Slot(slot))


def test_refusals() -> None:
    """A ledger's bytes, another number of cells, users that have no plain names."""
    publisher = pbd(Register.from_rows({"ann": Fixed(1, 4)}), 3)
    with pytest.raises(CorruptState, match="not a publisher"):
        publisher.restore(Ledger().to_bytes())
    with pytest.raises(CorruptState, match="3 cells"):
        pbd(Register(), 2).restore(publisher.to_bytes())
    with pytest.raises(InvalidInput, match="string or a whole number"):
        pbd(Register.from_rows({("ann", 1): Fixed(1, 4)}), 3).to_bytes()


def test_last_counts_are_kept() -> None:
    """Counts and standard errors come back, and cannot be written to."""
    publisher = pbd(Register.from_rows({"ann": Fixed(90, 1), "bob": Fixed(90, 1)}), 2)
    release = publisher.step(Slot(1, {"ann": 0, "bob": 0}))
    twin = pbd(Register(), 2)
    twin.restore(publisher.to_bytes())
    assert release.decision is Decision.PUBLISHED
    again = twin.repeat(2)
    assert (again.counts == release.counts).all()
    with pytest.raises(ValueError, match="read-only"):
        again.counts[0] = 5
    assert np.isfinite(again.standard_error).all()


def test_nobody_there() -> None:
    """A slot that is passed over spends nothing and is lost."""
    publisher = pbd(Register.from_rows({"ann": Fixed(1, 4)}), 2)
    publisher.leave("ann")
    assert publisher.skip_without_people(1).decision is Decision.LOST
    publisher.join("ann", Fixed(1, 4))
    assert publisher.step(Slot(2)).slot == 2
