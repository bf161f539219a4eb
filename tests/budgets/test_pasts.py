"""A row's past covers every slot in which any member could have spent: merges, groups, returns, longer windows."""

from __future__ import annotations

import random
from collections.abc import Hashable

import numpy as np
import pytest
from tests.oracle import OracleUser
from tests.support import FAST, ONE, dynamic, fixed, for_oracle, quick_and_slow

from wevent import Fixed, Register, Slot, auto
from wevent.budgets.invariant import check_invariant
from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.membership import Membership
from wevent.cohorts.requirement import Requirement
from wevent.noise import SeededNoise

fast = pytest.mark.parametrize("fast", FAST)


class Greedy:
    """A stream that spends all the room there is, and everybody's history as an oracle keeps it.

    A person who is not listed counts in every group, as the worst case.
    """

    def __init__(
        self,
        people: dict[Hashable, Requirement],
        groups: dict[Hashable, Requirement] | None = None,
        *,
        unlisted: tuple[Hashable, ...] = (),
        fast: bool = False,
        history_slots: int = 1,
    ) -> None:
        register = Register.from_rows(people)
        for name, requirement in (groups or {}).items():
            register.with_group(name, requirement, 10)
        self.members = Membership(register, Ledger(history_slots=history_slots, fast=fast), dynamic=True)
        self.histories: dict[Hashable, OracleUser] = {}
        self.counted: dict[Hashable, Hashable] = {}
        for user, requirement in people.items():
            self.history(user).require(1, for_oracle(requirement))
        self.required = dict(groups or {})
        for user in unlisted:
            self.count_in(user, next(iter(self.required)))

    def history(self, user: Hashable) -> OracleUser:
        return self.histories.setdefault(user, OracleUser())

    def count_in(self, user: Hashable, group: Hashable) -> None:
        """Count an unlisted person in a group from the next slot on."""
        self.counted[user] = group
        self.history(user).require(self.slot, for_oracle(self.required[group]))

    @property
    def slot(self) -> int:
        return self.members.ledger.slot

    def require(self, user: Hashable, requirement: Requirement) -> None:
        if user in self.members.register:
            self.members.change(user, requirement)
        else:
            self.members.join(user, requirement)
            self.counted.pop(user, None)
        self.history(user).require(self.slot, for_oracle(requirement))

    def leave(self, user: Hashable) -> None:
        self.members.leave(user)
        self.history(user).leave(self.slot)

    def step(self, part: float = 1.0, most: int = 100 * ONE) -> None:
        """Spend this part of everybody's room, at most so many units."""
        self.members.begin_slot()
        check_invariant(self.members)
        ledger, slot, register = self.members.ledger, self.slot, self.members.register
        rows, room = self.members.rows(), ledger.room()
        spent = np.minimum((room * part).astype(np.int64), most)
        ledger.charge(Offer(slot, np.zeros_like(spent), spent, nullified=False))
        ledger.settle(published=True)
        for user, history in self.histories.items():
            if user in register:
                row = rows[register.position(user)]
                bound = history.room(slot)
                assert bound is not None and room[row] <= bound, f"slot {slot}: the row has more room than its member"
            elif user in self.counted:
                row = self.members.groups[self.counted[user]]
            else:
                row = None
            history.record(slot, 0, 0 if row is None else int(spent[row]))

    def kept(self) -> None:
        """Every promise holds on the complete histories."""
        assert [line for history in self.histories.values() for line in history.violations()] == []


# Merges


@fast
@pytest.mark.parametrize("required", [fixed(3 * ONE, 40), dynamic((3 * ONE, 40), (3 * ONE, 40))])
def test_a_longer_window_after_a_merge_finds_what_was_forgotten(required: Requirement, fast: bool) -> None:
    """Merged into a cohort that was born later, a person who requires a longer window waits for the old spends."""
    stream = Greedy({"u": fixed(ONE, 4), "x": fixed(3 * ONE, 5)}, fast=fast)
    for slot in range(1, 90):
        if slot == 3:
            stream.require("u", fixed(ONE, 5))
        if slot == 32:
            stream.require("n", fixed(ONE, 5))
        if slot == 36:
            rows, position = stream.members.rows(), stream.members.register.position
            assert rows[position("u")] == rows[position("n")]  # they merged, which is what is tested here
            stream.require("u", required)
        stream.step(most=0 if slot == 31 else ONE // 5)  # so that the younger cohort holds as much
    stream.kept()


@pytest.mark.parametrize("seed", [7, 16])
def test_auto_keeps_the_promise_after_a_merge(seed: int) -> None:
    """The same through `auto`: no window of 40 slots holds more than its budget of 3."""
    others = {f"x{k}": Fixed(3, 5) for k in range(300)}
    publisher = auto(Register.from_rows({"u": Fixed(1, 4), **others}), 3, noise=SeededNoise(seed))
    rng, spends = random.Random(seed), []
    for slot in range(1, 90):
        if slot == 3:
            publisher.change("u", Fixed(1, 5))
        if slot == 32:
            publisher.join("n", Fixed(1, 5))
        if slot == 36:
            publisher.change("u", Fixed(3, 40))
        moved = {user: (k + slot * (1 + seed)) % 3 if rng.random() < 0.7 else 0 for k, user in enumerate(others)}
        publisher.step(Slot(slot, moved))
        assert publisher.trace is not None
        register = publisher.members.register
        spends.append(int(publisher.trace.spent[publisher.members.rows()[register.position("u")]]))
    touched = [k for k in range(len(spends) - 39) if sum(spends[max(35, k) : k + 40])]
    assert max(sum(spends[k : k + 40]) for k in touched) <= 3 * ONE


@fast
def test_a_merge_keeps_the_older_birth(fast: bool) -> None:
    """After a merge the cohort was born when its oldest member was, and everybody who branches off finds that."""
    stream = Greedy({"u": fixed(ONE, 2), "x": fixed(3 * ONE, 3)}, fast=fast)
    for slot in range(1, 30):
        if slot == 2:
            stream.require("u", fixed(2 * ONE, 2))
        if slot == 9:
            stream.require("n", fixed(2 * ONE, 2))
        stream.step()
    register, history = stream.members.register, stream.members.ledger.history
    cohort = int(stream.members.rows()[register.position("u")])
    assert cohort == stream.members.rows()[register.position("n")]
    assert history.birth(cohort)[0] == 1
    stream.require("n", fixed(2 * ONE, 9))
    for _ in range(12):
        stream.step()
    stream.kept()


# Groups


@fast
@pytest.mark.parametrize(
    "required", [fixed(ONE, 6), fixed(3 * ONE, 2), dynamic((ONE, 6), (ONE, 6)), dynamic((2 * ONE, 3))]
)
@pytest.mark.parametrize("group", [fixed(ONE, 4), dynamic((ONE, 4), (ONE, 4))])
def test_who_is_listed_takes_the_past_of_the_group_along(required: Requirement, group: Requirement, fast: bool) -> None:
    """Counted in the group until slot 7 and listed then: their windows hold what they spent as unlisted."""
    stream = Greedy({"x": fixed(ONE, 3)}, {"others": group}, unlisted=("u", "v"), fast=fast)
    for slot in range(1, 40):
        if slot == 7:
            stream.require("u", required)
        if slot == 15:
            stream.require("v", required)
        stream.step(0.5)
    stream.kept()


@fast
def test_several_groups_are_all_covered(fast: bool) -> None:
    """With several groups, dynamic ones too, a newcomer's row covers each of them slot by slot."""
    groups: dict[Hashable, Requirement] = {"a": fixed(ONE, 5), "b": dynamic((2 * ONE, 3)), "c": dynamic((ONE, 6))}
    for group in groups:
        stream = Greedy({"x": fixed(ONE, 3)}, groups, unlisted=("u",), fast=fast)
        stream.count_in("u", group)
        for slot in range(1, 30):
            if slot == 8:
                stream.require("u", fixed(3 * ONE, 2))
            stream.step(0.4 if slot < 8 else 1)
        stream.kept()


def test_newcomers_of_a_slot_share_a_row() -> None:
    """Joining before the same slot with the same fixed requirement gives one row; before slot 1 cohorts are shared."""
    stream = Greedy({"x": fixed(ONE, 3)}, {"others": fixed(ONE, 4)})
    for user in range(5):
        stream.require(user, fixed(ONE, 3))
    assert len(set(stream.members.rows().tolist())) == 1
    stream.step()
    for user in range(10, 15):
        stream.require(user, fixed(ONE, 3))
    assert len(set(stream.members.rows().tolist())) == 2
    for _ in range(30):
        stream.step(most=ONE // 4)
    assert len(set(stream.members.rows().tolist())) == 1  # merged, once the past of the group is out of every window
    stream.kept()


def test_a_cohort_that_covers_the_group_is_joined() -> None:
    """Where a cohort from the start requires what the group requires, newcomers need no row of their own."""
    stream = Greedy({"x": fixed(ONE, 4)}, {"others": fixed(ONE, 4)}, unlisted=("u",))
    for slot in range(1, 20):
        if slot == 6:
            stream.require("u", fixed(ONE, 4))
            assert len(set(stream.members.rows().tolist())) == 1
        stream.step(0.4)
    stream.kept()


def test_newcomers_do_not_pile_up() -> None:
    """Newcomers in every slot, for long, need as many rows as some windows have slots, however many they are."""
    stream = Greedy({"x": fixed(ONE, 3)}, {"others": fixed(ONE, 4)})
    most, rng = [], random.Random(1)
    for slot in range(1, 161):
        stream.require(f"user-{slot}", fixed(ONE, 3))
        stream.step(part=rng.choice([0, 0.5, 1]))
        most.append(stream.members.ledger.rows)
    assert max(most) < 40
    stream.kept()


# Histories


REQUIREMENTS: list[Requirement] = [
    *(fixed(budget * ONE, window) for budget in (1, 3) for window in (2, 3, 5)),
    *(dynamic((budget * ONE, ahead), (2 * ONE, back)) for budget in (1, 3) for ahead, back in ((2, 3), (4, 1))),
]
LONG: list[Requirement] = [fixed(3 * ONE, 12), dynamic((3 * ONE, 12), (3 * ONE, 11))]


@fast
@pytest.mark.parametrize("seeds", quick_and_slow([range(25)], [range(25, 400)]), ids=["few", "many"])
def test_random_histories_keep_every_promise(seeds: range, fast: bool) -> None:
    """Merges, longer windows, groups, returns, forgotten people and kept states: no window is ever overspent."""
    for seed in seeds:
        rng = random.Random(seed)
        grouped = rng.random() < 0.6
        group: dict[Hashable, Requirement] = {"others": rng.choice(REQUIREMENTS)} if grouped else {}
        stream = Greedy(
            {k: rng.choice(REQUIREMENTS[:6]) for k in range(3)},
            group,
            unlisted=(3, 4, 5, 6) if grouped else (),
            fast=fast,
        )
        gone: dict[Hashable, int] = {}
        for _ in range(70):
            for _ in range(rng.choice([0, 0, 0, 1, 2])):
                user = rng.randrange(7)
                listed = user in stream.members.register
                if listed and rng.random() < 0.25:
                    stream.leave(user)
                    gone[user] = stream.slot
                elif listed or rng.random() < 0.5:
                    longer = stream.slot > 30 and rng.random() < 0.1
                    stream.require(user, rng.choice(LONG if longer else REQUIREMENTS))
            if rng.random() < 0.05:
                members = stream.members
                again = Ledger.from_bytes(members.ledger.to_bytes())
                again.fast = fast
                stream.members = Membership.from_state(members.state(), again, dynamic=True)
            stream.step(rng.choice([0, 0.2, 0.5, 1]))
        stream.kept()
