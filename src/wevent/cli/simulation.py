"""Publishes the counts of a simulated city, slot by slot, and measures the result.

Each line of the table holds what the public would see; the errors at the end are known only because the city is
simulated.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from wevent.cli.city import DISTRICTS, City
from wevent.cli.city_requirements import STRICTEST, CityRequirements
from wevent.cli.score import Score, Spends
from wevent.cli.table import Table, title
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Requirement
from wevent.events.slot import Slot
from wevent.mechanisms import RECIPES, uniform
from wevent.releases.publisher import Publisher
from wevent.settings import Privacy, Rest

DYNAMIC = ("dpbd", "dpba")
"""The recipes that serve dynamic requirements."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to run.

    Attributes:
        mechanism: the name of a recipe.
        people: how many live in the city.
        slots: how many to publish, 96 to a day.
        seed: of movement and requirements; the noise has none.
        rest: in absorption, whether a resting person makes `all` rest, or only offers nothing (`own`).
        pace: seconds to wait after each slot.
    """

    mechanism: str
    people: int
    slots: int
    seed: int
    rest: Rest = "all"
    pace: float = 0.0


def run(order: Order, table: Table) -> bool:
    """Publish the city slot by slot; return whether every promise was kept."""
    city = City(order.people, order.seed)
    requirements = CityRequirements(order.people, order.slots, order.seed, dynamic=order.mechanism in DYNAMIC)
    users = requirements.users
    position: dict[Hashable, int] = {user: person for person, user in enumerate(users)}
    first = {change.user: change.requirement for change in requirements.at(1) if change.requirement is not None}
    # Without numba: for so few people, compiling would take longer than the whole day.
    privacy = Privacy(rest=order.rest)
    publisher = RECIPES[order.mechanism](Register.from_rows(first), DISTRICTS, privacy=privacy, fast=False)
    # For the score alone. Shown, a second stream over the same people would cost them a second budget.
    baseline = uniform(Register.from_rows(dict.fromkeys(first, STRICTEST)), DISTRICTS, fast=False)
    score, baseline_score = Score(), Score()
    spends = Spends(order.people, order.slots)
    decisions: Counter[str] = Counter()
    events: Counter[str] = Counter()
    registered = np.array([user in publisher.members.register for user in users])
    known = registered.copy()  # everybody who was ever registered

    table.head(title(order.mechanism, order.people, order.slots, order.seed))
    for slot in range(1, order.slots + 1):
        for change in requirements.at(slot) if slot > 1 else ():
            person, required = position[change.user], change.requirement
            events[_event(required, registered[person], known[person])] += 1
            _apply(publisher, change.user, required)
            _apply(baseline, change.user, STRICTEST if required else None)
            registered[person] = required is not None
            known[person] = True
        district = np.where(registered, city.move(slot), -1)
        present = np.flatnonzero(district >= 0)
        rows = Slot(slot, {users[person]: DISTRICTS[district[person]] for person in present.tolist()})
        release = publisher.step(rows)
        table.line(release)

        truth = np.bincount(district[present], minlength=len(DISTRICTS))
        score.note(release, truth)
        baseline_score.note(baseline.step(rows), truth)
        charged = np.flatnonzero(registered)
        spends.note(publisher, charged, [users[person] for person in charged.tolist()])
        decisions[release.decision] += 1
        time.sleep(order.pace)

    worst, windows = spends.worst(requirements)
    scores = {order.mechanism: score}
    if order.mechanism != "uniform":
        scores["uniform"] = baseline_score
    table.summary(decisions, events, scores, worst, windows)
    return worst <= 1


def _apply(publisher: Publisher, user: Hashable, required: Requirement | None) -> None:
    """Pass one requirement change on; `None` is leaving."""
    if required is None:
        publisher.leave(user)
    elif user in publisher.members.register:
        publisher.change(user, required)
    else:
        publisher.join(user, required)


def _event(required: Requirement | None, registered: bool, known: bool) -> str:
    """The word for a change of a person who is registered, or ever was (`known`)."""
    if required is None:
        return "left"
    if registered:
        return "changed"
    return "returned" if known else "joined"
