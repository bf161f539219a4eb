"""Slots that are tried again: what happens between two tries changes nothing but what it says."""

from __future__ import annotations

import random

import pytest
from tests.support import FAST, OpenJournal

from wevent import RECIPES, Dynamic, Fixed, Publisher, Register, Slot
from wevent.cohorts.requirement import Requirement
from wevent.noise import SeededNoise
from wevent.releases.journal import Charge

REQUIREMENTS: list[Requirement] = [Fixed(1, 2), Fixed(2, 3), Fixed(3, 4), Dynamic((1, 3), (2, 2))]


class Unreliable(OpenJournal):
    """A journal that fails to keep a charge while `fails` is set."""

    fails = False

    def charge(self, charge: Charge) -> None:
        if self.fails:
            raise OSError("no space left")
        super().charge(charge)


def ask(publisher: Publisher, user: int, requirement: Requirement | None) -> None:
    if user not in publisher.members.register:
        publisher.join(user, requirement or REQUIREMENTS[0])
    elif requirement is None:
        publisher.leave(user)
    else:
        publisher.change(user, requirement)


@pytest.mark.parametrize("fast", FAST)
@pytest.mark.parametrize("name", ["auto", "dpbd"])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_failed_charge_leaves_no_trace(name: str, grouped: bool, fast: bool) -> None:
    """Charges that fail at any time, with changes before and after: rows and offers are those of a smooth run."""
    for seed in range(3):
        rng = random.Random(seed)
        people = {user: rng.choice(REQUIREMENTS[:3]) for user in range(4)}
        journals = [Unreliable(), Unreliable()]
        both = []
        for journal in journals:
            register = Register.from_rows(people)
            if grouped:
                register.with_group("others", Fixed(2, 2), 5)
            made = RECIPES[name](register, 2, noise=SeededNoise(seed), journal=journal, fast=fast)
            both.append(made)
        smooth, rough = both
        for slot in range(1, 60):
            for _ in range(rng.choice([0, 0, 1, 2])):
                user, requirement = rng.randrange(4, 9), rng.choice([None, *REQUIREMENTS])
                if rng.random() < 0.6:
                    journals[1].fails = True
                    with pytest.raises(OSError, match="no space"):
                        rough.step(Slot(slot))
                    journals[1].fails = False
                for publisher in both:
                    ask(publisher, user, requirement)
            if rng.random() < 0.1:
                kept = rough.to_bytes()
                twin = RECIPES[name](Register(), 2, noise=SeededNoise(seed), journal=journals[1], fast=fast)
                twin.restore(kept)
                twin._noise = rough._noise
                both = [smooth, rough := twin]
            releases = [publisher.step(Slot(slot)) for publisher in both]
            assert releases[0].decision == releases[1].decision
            assert rough.members.rows().tolist() == smooth.members.rows().tolist()
            assert rough.members.register.users == smooth.members.register.users
            offers = [journal.charges[-1] for journal in journals]
            assert (offers[0].change_budget == offers[1].change_budget).all() and (
                offers[0].publish_budget == offers[1].publish_budget
            ).all()
        assert rough.to_bytes() == smooth.to_bytes()
