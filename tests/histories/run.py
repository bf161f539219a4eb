"""Drives a real publisher through a history, and reports to the judge what every person was promised and spent.

It observes which row a person has and what that row was charged, never how the ledger came to it. A refused event must
change nothing, so the judge learns nothing of it. A restored copy knows how long a window anybody was ever promised;
the slots that it does not know were spent in the lost copy, and the judge has them from there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tests.histories.copies import Call, Failure, Stopped, Work
from tests.histories.events import (
    GROUP,
    Declare,
    Event,
    FailCharge,
    History,
    HistorySlot,
    Leave,
    Req,
    Require,
    RequireGroup,
    Restore,
    longest_window,
    people,
)
from tests.histories.judge import Judge
from tests.histories.reached import Kind, kinds_of_change
from tests.histories.stage import package

from wevent.budgets.ledger import Offer
from wevent.releases.publisher import Mechanism, Publisher
from wevent.releases.release import Decision, Release

Check = Callable[[History], tuple[Failure | None, list[list[Kind]]]]
"""What is wrong with a history, and what happened to each of its people."""


class Run:
    """One history at work.

    Attributes:
        judge: knows what everybody was promised and spent.
        in_force: what everybody requires who is listed now.
        left: who has left and not come back, as far as the copy at work knows.
        lives: what happened to each person.
    """

    def __init__(self, history: History, mechanism: Mechanism | None = None) -> None:
        self.history, self.town, self.judge = history, people(history), Judge()
        self.lives: dict[str, list[Kind]] = {user: [] for user in self.town}
        self.in_force: dict[str, Req] = dict(history.founders)
        self.group, self.left = history.group, set[str]()
        promised = [*self.in_force.values(), *([self.group] if self.group else [])]
        self._longest = max(map(longest_window, promised), default=1)
        self._work = Work(history, mechanism)
        self._rows, self._required = self._work.rows(), set[str]()  # before this slot; whose requirement changed in it

    def play(self) -> Failure | None:
        """All slots, then the judgement: the first thing that went wrong, if any."""
        failure = None
        try:
            for number, slot in enumerate(self.history.slots, start=1):
                self.advance(number, slot)
        except Stopped as stopped:
            failure = stopped.failure
        except Exception as error:  # whatever a publisher raises that it should not
            failure = Failure(type(error).__name__, str(error) or repr(error))
        broken = self.judge.broken()
        if broken:  # weighs more than whatever stopped the history
            failure = Failure("promise", "; ".join(map(str, broken[:3])))
        return failure

    def advance(self, number: int, slot: HistorySlot) -> None:
        """One slot."""
        self._work.begin(number, (dict(self.in_force), self.group, set(self.left)))
        for event in slot.events:
            self._happen(number, event)
        offer, release = self._work.step(number, slot.ending)
        self._note_merges()
        self._observe(number, offer, release)

    # --- events ----------------------------------------------------------------------------------

    def _happen(self, number: int, event: Event) -> None:
        if isinstance(event, Require):
            self._require(number, event.user, event.requirement)
        elif isinstance(event, Leave):
            self._leave(number, event.user)
        elif isinstance(event, Declare):
            self._declare(number, event)
        elif isinstance(event, RequireGroup):
            if self.group is not None and self._work.call(number, _change(GROUP, event.requirement)):
                self.group = event.requirement
                self._longest = max(self._longest, longest_window(event.requirement))
        elif isinstance(event, FailCharge):
            if self._work.fail_charge(number):
                self._note_merges()
                self._note(self.town, Kind.CHARGE_FAILED)
        elif isinstance(event, Restore):
            self._restore(number, event)
        else:
            self._work.reopen(number, event.since)
            self._note(self.in_force, Kind.REOPENED)

    def _require(self, number: int, user: str, requirement: Req) -> bool:
        before = self.in_force.get(user)
        call = _join(user, requirement) if before is None else _change(user, requirement)
        if not self._work.call(number, call):
            self._note([user], Kind.REFUSED)
            return False
        if before is not None:
            self._note([user], *kinds_of_change(before, requirement))
        elif user in self.left:
            self._note([user], Kind.RETURNED)
        else:
            self._note([user], Kind.LISTED if self._unlisted(user) else Kind.JOINED)
        self._promise(user, requirement)
        return True

    def _leave(self, number: int, user: str) -> None:
        if user in self.in_force and self._work.call(number, lambda publisher: publisher.leave(user)):
            del self.in_force[user]
            self.left.add(user)
            self._note([user], Kind.LEFT)

    def _declare(self, number: int, event: Declare) -> None:
        picked = {user: index for user, index in event.choice if user in self.in_force}
        if not picked:
            return

        def call(publisher: Publisher) -> None:
            register = publisher.members.register
            choice = np.full(len(register), -1, np.int64)
            for user, index in picked.items():
                choice[register.position(user)] = index
            publisher.declare([package(entry) for entry in event.table], choice)  # type: ignore[misc]

        if not self._work.call(number, call):
            self._note(picked, Kind.REFUSED_TOGETHER)
            return
        for user, index in picked.items():
            self._note([user], Kind.DECLARED, *kinds_of_change(self.in_force[user], event.table[index]))
            self._promise(user, event.table[index])

    def _promise(self, user: str, requirement: Req) -> None:
        self.in_force[user] = requirement
        self.left.discard(user)
        self._required.add(user)
        self._longest = max(self._longest, longest_window(requirement))

    def _restore(self, number: int, event: Restore) -> None:
        lost = {user: self.in_force[user] for user in event.imported if user in self.in_force}
        copy = self._work.restore(number, event.lost, self._longest)
        if copy is None:
            return
        self._rows = self._work.rows()
        in_force, self.group, left = copy.known
        self.in_force, self.left = dict(in_force), set(left)
        self._note(self.town, Kind.RESTORED)
        for user, requirement in lost.items():
            if self.in_force.get(user) != requirement and self._require(number, user, requirement):
                self._note([user], Kind.IMPORTED)

    # --- slots -----------------------------------------------------------------------------------

    def _observe(self, number: int, offer: Offer, release: Release) -> None:
        """Report to the judge what everybody was promised and spent in this slot."""
        whole = release.decision in (Decision.PUBLISHED, Decision.LOST)
        spends = offer.change_budget + offer.publish_budget if whole else offer.change_budget
        places = self._work.places()
        if places.keys() != self.in_force.keys():
            raise Stopped("register", f"slot {number} lists {sorted(places)} instead of {sorted(self.in_force)}")
        for user in self.town:
            if user in places:
                spent = int(spends[places[user]])
                self.judge.note(user, number, self.in_force[user], spent)
                if whole and spent:
                    self._note([user], Kind.LOST_SLOT if release.decision is Decision.LOST else Kind.PUBLISHED)
            elif self._unlisted(user):
                if user in self.left:
                    self._note([user], Kind.UNLISTED_AGAIN)
                self.judge.note(user, number, self.group, int(spends[self._work.group_place(GROUP)]))

    def _unlisted(self, user: str) -> bool:
        """Whether a person is counted in the group: one who never was listed, or who left and may be counted again."""
        if self.group is None or user in self.in_force:
            return False
        return user not in self.left or (self.history.unlisted_again and self._work.unknown(user))

    # --- what was reached --------------------------------------------------------------------------

    def _note(self, users: list[str] | dict[str, Req] | dict[str, int], *kinds: Kind) -> None:
        for user in users:
            self.lives[user].extend(kinds)

    def _note_merges(self) -> None:
        """A person who has another row without a requirement change was merged into a cohort."""
        after = self._work.rows()
        moved = [user for user, row in after.items() if self._rows.get(user, row) != row]
        self._note([user for user in moved if user not in self._required], Kind.MERGED)
        self._rows, self._required = after, set()


def promises(history: History) -> tuple[Failure | None, list[list[Kind]]]:
    """Whether every promise is kept and nothing crashes."""
    run = Run(history)
    return run.play(), list(run.lives.values())


def _join(user: str, requirement: Req) -> Call:
    return lambda publisher: publisher.join(user, package(requirement))


def _change(user: str, requirement: Req) -> Call:
    return lambda publisher: publisher.change(user, package(requirement))
