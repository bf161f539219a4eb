"""A publisher at work, with everything that a store would keep of it: states, charges, releases and accepted calls.

From these it can be reopened, which must change nothing, or restored from a copy that is some slots older. The slots
that the copy does not know are given up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.histories.events import Ending, History, Reopen, looked_back_on
from tests.histories.stage import ChargeFailed, DrawFailed, Script, build

from wevent.budgets.ledger import Offer
from wevent.errors import BudgetExceeded, EmptyRegister, WeventError
from wevent.events.slot import Slot
from wevent.releases.publisher import Mechanism, Publisher
from wevent.releases.release import Release

Call = Callable[[Publisher], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong: `kind` is one word, the same for the same sort of failure."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class Stopped(Exception):
    """Something is wrong, and the history cannot go on."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.failure = Failure(kind, text)


@dataclass(slots=True)
class _Past:
    """One slot that is over; a slot that was given up has a hold instead of a charge and a release."""

    calls: list[Call] = field(default_factory=list)
    offer: Offer | None = None
    release: Release | None = None
    hold: int = 0
    rows: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class State:
    """A publisher as bytes before a slot, and whatever else was known then."""

    slot: int
    data: bytes
    known: Any


class Work:
    """The publisher of a history, slot after slot."""

    def __init__(self, history: History, mechanism: Mechanism | None = None) -> None:
        self._history, self._script, self._mechanism = history, Script(), mechanism
        self._publisher, self._journal = build(history, self._script, mechanism)
        self._past: dict[int, _Past] = {}
        self._states: dict[int, State] = {}  # kept by the copy of the store that is at work now
        self._copies: dict[int, State] = {}  # kept by any copy; the newest of each slot
        self._learned: dict[str, bytes] = {}
        self._wanted = looked_back_on(history)
        self._reopens = any(isinstance(event, Reopen) for slot in history.slots for event in slot.events)

    def rows(self) -> dict[str, int]:
        """The row of everybody who is listed, by a number that does not depend on other rows."""
        register = self._publisher.members.register
        rows: Any = register.rows.tolist()
        return {str(user): row for user, row in zip(register.users, rows, strict=True) if row >= 0}

    def places(self) -> dict[str, int]:
        """Where everybody who is listed stands in the arrays of an offer."""
        members = self._publisher.members
        rows: Any = members.rows().tolist()
        return {str(user): row for user, row in zip(members.register.users, rows, strict=True) if row >= 0}

    def group_place(self, name: str) -> int:
        """Where a group stands in the arrays of an offer."""
        return self._publisher.members.groups[name]

    def unknown(self, user: str) -> bool:
        """Whether the register says that a person may be counted in a group."""
        return bool(self._publisher.members.register.unknown([user]))

    def begin(self, number: int, known: Any) -> None:
        """Before anything happens in a slot: keep a state, if the history comes back to it."""
        self._past[number] = _Past()
        if number in self._wanted:
            self._states[number] = self._copies[number] = State(number, self._publisher.to_bytes(), known)

    def call(self, number: int, call: Call) -> bool:
        """Make a call on the publisher; whether it accepted it."""
        try:
            call(self._publisher)
        except BudgetExceeded:
            raise
        except WeventError:
            return False
        self._past[number].calls.append(call)
        return True

    def fail_charge(self, number: int) -> bool:
        """Try a slot whose charge cannot be kept; whether it came to a charge."""
        self._script.charge_fails = True
        try:
            self._release(number, Ending.PUBLISH)
        except ChargeFailed:
            return True
        except EmptyRegister:
            self._script.charge_fails = False
            return False
        raise Stopped("charged", f"slot {number} was released although its journal failed")

    def step(self, number: int, ending: Ending) -> tuple[Offer, Release]:
        """Release a slot; what was charged, and what came out."""
        try:
            release: Release | None = self._release(number, ending)
        except DrawFailed:
            release = self._journal.released
        offer = self._journal.charged
        if offer is None or offer.slot != number or release is None or release.slot != number:
            raise Stopped("slot", f"slot {number} was not charged and released")
        past = self._past[number]
        past.offer, past.release, past.rows = offer, release, self.rows()
        if self._reopens:
            self._learned |= self._publisher.planned() | self._publisher.learned(release.decision)
        return offer, release

    def restore(self, number: int, lost: int, hold: int) -> State | None:
        """Go on from an older copy, and give up the slots that it does not know; the copy, if there is one."""
        copy = self._copies.get(max(1, number - lost))
        if copy is None or copy.slot >= number:
            return None
        self._take(copy)
        self._states, self._learned = {copy.slot: copy}, {}
        for slot in range(copy.slot, number):
            _forfeit(self._publisher, hold)
            self._past[slot] = _Past(hold=hold, rows=self.rows())
        self._past[number] = _Past()
        return copy

    def reopen(self, number: int, since: int) -> None:
        """Replay what a store keeps: everybody must have the row that they had."""
        first = max(slot for slot in self._states if slot <= max(min(self._states), number - since))
        before = self.rows()
        self._take(self._states[first])
        self._publisher.restore_learned(self._learned)
        for slot in range(first, number):
            self._replay(slot, self._past[slot])
        for call in self._past[number].calls:
            call(self._publisher)
        if self._publisher.ledger.slot != number or self.rows().keys() != before.keys():
            raise Stopped("replay", f"the replay ends before slot {self._publisher.ledger.slot}, or with others")

    def _replay(self, slot: int, past: _Past) -> None:
        for call in past.calls:
            call(self._publisher)
        if past.offer is None or past.release is None:
            _forfeit(self._publisher, past.hold)
        else:
            self._publisher.replay(past.offer, past.release)
        if self.rows() != past.rows:
            raise Stopped("replay", f"slot {slot} is replayed with other rows")

    def _release(self, number: int, ending: Ending) -> Release:
        self._script.ending = ending
        if self._publisher.ledger.all_sizes.any():
            return self._publisher.step(Slot(number))
        return self._publisher.skip_without_people(number)

    def _take(self, state: State) -> None:
        self._publisher, self._journal = build(self._history, self._script, self._mechanism)
        self._publisher.restore(state.data)


def _forfeit(publisher: Publisher, hold: int) -> None:
    publisher.forfeit(hold)
