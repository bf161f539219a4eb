"""What the tests share: exact requirements, forced decisions, and a ledger that runs beside the oracle."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pytest

from tests.oracle import DynamicReq, FixedReq, OracleUser
from wevent.budgets.feasibility import DynamicPromise, FixedPromise, Promise
from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.membership import Membership
from wevent.budgets.rows import INDIVIDUAL
from wevent.budgets.schedules import Schedule
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import BudgetWindow, Dynamic, Fixed, Requirement
from wevent.decisions.change import DecisionInput, Trigger, Verdict
from wevent.noise import SeededNoise
from wevent.releases.journal import Charge, MemoryJournal
from wevent.settings import Privacy

FAST: list[bool] = [False, True]
"""The ways through the code that every test of a ledger or a publisher takes."""

ONE = 10**9
"""Epsilon 1 in units."""

Ending = Literal["publish", "skip", "lose"]
T = TypeVar("T")


def quick_and_slow(quick: Iterable[Any], slow: Iterable[Any]) -> list[Any]:
    """Values of one parameter: the first in every run, the others, which repeat the claim, in the whole suite alone.

    Where parameters are stacked, a test is quick if all its values are.
    """
    return [pytest.param(value) for value in quick] + [pytest.param(value, marks=pytest.mark.slow) for value in slow]


def units(text: str) -> int:
    """A budget as the specification prints it, in whole units."""
    value = Fraction(text) * ONE
    assert value.denominator == 1
    return int(value)


def fixed(epsilon: int, window: int) -> Fixed:
    """A fixed requirement from whole units."""
    return Fixed(f"{epsilon}e-9", window)


def dynamic(forward: tuple[int, int], backward: tuple[int, int] = (100 * ONE, 1)) -> Dynamic:
    """A dynamic requirement from (whole units, window) pairs."""
    return Dynamic((f"{forward[0]}e-9", forward[1]), (f"{backward[0]}e-9", backward[1]))


def side(given: BudgetWindow) -> tuple[int, int]:
    """Whole units and window of one side."""
    return given.units, given.window


def for_oracle(requirement: Requirement) -> FixedReq | DynamicReq:
    """The same requirement in the oracle's words."""
    if isinstance(requirement, Fixed):
        return FixedReq(*side(requirement))
    return DynamicReq(*side(requirement.backward), *side(requirement.forward))


class Tape:
    """A history read from bytes: cheap for hypothesis to draw and to shrink."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def __bool__(self) -> bool:
        return self._place < len(self._data)

    def number(self, below: int) -> int:
        """The next number from 0 to below - 1; 0 when the tape is at its end."""
        self._place += 1
        return self._data[self._place - 1] % below if self._place <= len(self._data) else 0

    def one_of(self, things: Sequence[T]) -> T:
        """One of several things."""
        return things[self.number(len(things))]


class Forced(Trigger):
    """A trigger that publishes in chosen slots, if there is anything to publish with."""

    def __init__(self, publish: Collection[int] | Callable[[int], bool]) -> None:
        self._publish = publish if callable(publish) else publish.__contains__

    def decide(self, given: DecisionInput) -> Verdict:
        return Verdict(given.selection.threshold > 0 and bool(self._publish(given.offer.slot)))


class Recorded(SeededNoise):
    """Seeded noise that records every draw: kind, exact budget, how many elements."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.draws: list[tuple[str, Fraction | None, int]] = []

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> npt.NDArray[np.int64]:
        self.draws.append(("laplace", epsilon / sensitivity, np.size(values)))
        return super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)

    def binomial(self, counts: npt.ArrayLike, probabilities: npt.ArrayLike) -> npt.NDArray[np.int64]:
        self.draws.append(("binomial", None, np.size(counts)))
        return super().binomial(counts, probabilities)

    def bernoulli(self, probabilities: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        self.draws.append(("bernoulli", None, np.size(probabilities)))
        return super().bernoulli(probabilities)


class Silent(Recorded):
    """Noise that adds nothing and keeps everybody who has a chance, so that the rest can be checked."""

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> npt.NDArray[np.int64]:
        super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)
        return np.array(values, np.int64)

    def binomial(self, counts: npt.ArrayLike, probabilities: npt.ArrayLike) -> npt.NDArray[np.int64]:
        super().binomial(counts, probabilities)
        return np.where(np.asarray(probabilities) > 0, counts, 0)

    def bernoulli(self, probabilities: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        super().bernoulli(probabilities)
        return np.asarray(probabilities) > 0


class Deaf(Recorded):
    """Noise that says the same whatever it is added to: what is released tells nothing of the data."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self._says = SeededNoise(seed)  # apart from the coins, of which fuller slots toss more

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> npt.NDArray[np.int64]:
        super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)
        silence = np.zeros(np.shape(values), np.int64)
        return self._says.laplace(silence, sensitivity=sensitivity, epsilon=epsilon)


class OpenJournal(MemoryJournal):
    """A journal that shows every charge that it kept."""

    def __init__(self) -> None:
        super().__init__()
        self.charges: list[Offer] = []

    def charge(self, charge: Charge) -> None:
        self.charges.append(charge.offer)


class Record:
    """What one user required and spent, slot by slot, in the words of `feasibility`."""

    def __init__(self) -> None:
        self.spends: list[int] = []
        self._required: list[Requirement | None] = []

    def note(self, requirement: Requirement | None, spent: int) -> None:
        """One more slot; `None` for a slot in which the user was not registered."""
        self._required.append(requirement)
        self.spends.append(spent)

    def promises(self) -> list[Promise]:
        """Every promise that was made in these slots."""
        made: list[Promise] = []
        for slot, requirement in enumerate(self._required, start=1):
            before = self._required[slot - 2] if slot > 1 else None
            if isinstance(requirement, Dynamic):
                made.append(DynamicPromise(slot, *side(requirement.backward), *side(requirement.forward)))
            elif isinstance(requirement, Fixed) and requirement != before:
                later = enumerate(self._required[slot:], start=slot + 1)
                end = next((other - 1 for other, required in later if required != requirement), None)
                made.append(FixedPromise(*side(requirement), slot, end))
        return made


class Standing(NamedTuple):
    """How one user stands in one slot: what the ledger says, then what the oracle says."""

    room: int
    change_budget: int
    publish_budget: int
    border: float
    oracle: OracleUser


@dataclass
class Pair:
    """A ledger behind a membership, and for every user an oracle of the same events."""

    schedule: Schedule
    people: Mapping[Any, Requirement] = field(default_factory=dict)
    privacy: Privacy | None = None
    history_slots: int = 64
    fast: bool = False

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.privacy, self.history_slots, fast=self.fast)
        register = Register.from_rows(self.people)
        self.members = Membership(register, self.ledger, dynamic=self.schedule.dynamic is not None)
        self.oracles: dict[Hashable, OracleUser] = {}
        self.last = 0
        for user, requirement in self.people.items():
            self._oracle(user).require(1, for_oracle(requirement))

    @property
    def slot(self) -> int:
        return self.ledger.slot

    @property
    def absorbs(self) -> bool:
        return "absorption" in self.schedule.name

    def require(self, user: Hashable, requirement: Requirement) -> None:
        """Join or change, whichever it is now."""
        if user in self.members.register:
            self.members.change(user, requirement)
        else:
            self.members.join(user, requirement)
        self._oracle(user).require(self.slot, for_oracle(requirement))

    def declare(self, table: list[Dynamic], choice: Mapping[Hashable, int]) -> None:
        """Let several users declare dynamic requirements in one call."""
        register = self.members.register
        picked = np.full(len(register), -1)
        for user, index in choice.items():
            picked[register.position(user)] = index
            self._oracle(user).require(self.slot, for_oracle(table[index]))
        self.members.declare(table, picked)

    def leave(self, user: Hashable) -> None:
        """Leave, if registered."""
        if user in self.members.register:
            self.members.leave(user)
            self._oracle(user).leave(self.slot)

    def offer(self) -> Offer:
        """Begin the slot and ask the schedule."""
        self.members.begin_slot()
        return self.ledger.offer(self.schedule)

    def views(self, offer: Offer) -> dict[Hashable, Standing]:
        """Every registered user, as the ledger and as the oracle see them."""
        room, borders, rows = self.ledger.room(), self.ledger.borders(), self.members.rows()
        views = {}
        for user, oracle in self.oracles.items():
            listed = user in self.members.register
            assert listed == oracle.registered(self.slot)
            if listed:
                row = rows[self.members.register.position(user)]
                seen = (
                    int(room[row]),
                    int(offer.change_budget[row]),
                    int(offer.publish_budget[row]),
                    float(borders[row]),
                )
                views[user] = Standing(*seen, oracle)
        return views

    def close(self, offer: Offer, ending: Ending) -> None:
        """Charge, settle, and record it in the oracles; without any budget on offer nothing is published."""
        slot, register, rows = self.slot, self.members.register, self.members.rows()
        publish = ending == "publish" and bool(offer.publish_budget.any())
        self.ledger.charge(offer)
        if ending == "lose":
            self.ledger.lose()
        else:
            self.ledger.settle(publish)
        paid = publish or ending == "lose"
        for user, oracle in self.oracles.items():
            row = rows[register.position(user)] if user in register else None
            change_budget, publish_budget = (
                (0, 0) if row is None else (int(offer.change_budget[row]), int(offer.publish_budget[row]))
            )
            oracle.record(slot, change_budget, publish_budget if paid else 0)
        if paid and offer.publish_budget.any():
            self.last = slot

    def _oracle(self, user: Hashable) -> OracleUser:
        return self.oracles.setdefault(user, OracleUser())


def expected_offers(pair: Pair, views: Mapping[Hashable, Standing]) -> dict[Hashable, tuple[int, int]]:
    """Both parts that the oracle wants for everybody, rests included."""
    slot, last = pair.slot, pair.last
    wanted: dict[Hashable, tuple[int, int]] = {}
    resting = {user for user, view in views.items() if pair.absorbs and view.oracle.rests(slot, last)}
    for user, view in views.items():
        if resting and (pair.ledger.privacy.rest == "all" or user in resting):
            publish_budget = 0
        elif pair.absorbs:
            publish_budget = view.oracle.offer_absorption(slot, last)
        else:
            publish_budget = view.oracle.offer_distribution(slot)
        wanted[user] = view.oracle.change_budget(slot), publish_budget
    return wanted


def own_rows(members: Membership) -> set[Hashable]:
    """People who have a row of their own outside the individual rows."""
    rows, shared = members.register.rows.tolist(), members.placement.shared
    owners = zip(members.register.users, rows, strict=True)
    return {user for user, row in owners if 0 <= row < INDIVIDUAL and row not in shared}
