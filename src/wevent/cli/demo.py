"""The embedded example: the name of a mechanism and sizes come in, a live table and a summary go out.

It publishes the counts of a simulated city. Each line of the table holds what the public would see; the
errors at the end can be told only because the city is simulated.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

from wevent.cli.city import DISTRICTS, City
from wevent.cli.score import Score, Spends
from wevent.cli.table import Table, title
from wevent.cli.wishes import STRICTEST, Wishes
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
        seed: of movement and wishes; the noise has none.
        rest: in absorption, whether one who rests makes `all` rest, or only offers nothing (`own`).
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
    wishes = Wishes(order.people, order.slots, order.seed, dynamic=order.mechanism in DYNAMIC)
    users = [f"resident-{person:05d}" for person in range(order.people)]
    first = {users[wish.person]: wish.requirement for wish in wishes.at(1) if wish.requirement is not None}
    # In plain numpy: for so few people, compiling would take longer than the whole day.
    privacy = Privacy(rest=order.rest)
    publisher = RECIPES[order.mechanism](Register.from_rows(first), DISTRICTS, privacy=privacy, fast=False)
    # For the score alone. Shown, a second stream over the same people would cost them a second budget.
    yardstick = uniform(Register.from_rows(dict.fromkeys(first, STRICTEST)), DISTRICTS, fast=False)
    mine, plain = Score(), Score()
    spends = Spends(order.people, order.slots)
    decisions: Counter[str] = Counter()
    events: Counter[str] = Counter()
    here = np.array([user in publisher.members.register for user in users])
    seen = here.copy()

    table.head(title(order.mechanism, order.people, order.slots, order.seed))
    for slot in range(1, order.slots + 1):
        for wish in wishes.at(slot) if slot > 1 else ():
            person, asked = wish.person, wish.requirement
            events[_event(asked, here[person], seen[person])] += 1
            _tell(publisher, users[person], asked)
            _tell(yardstick, users[person], STRICTEST if asked else None)
            here[person] = asked is not None
            seen[person] = True
        district = np.where(here, city.move(slot), -1)
        there = np.flatnonzero(district >= 0)
        rows = Slot(slot, {users[person]: DISTRICTS[district[person]] for person in there.tolist()})
        release = publisher.step(rows)
        table.line(release)

        truth = np.bincount(district[there], minlength=len(DISTRICTS))
        mine.note(release, truth)
        plain.note(yardstick.step(rows), truth)
        registered = np.flatnonzero(here)
        spends.note(publisher, registered, [users[person] for person in registered.tolist()])
        decisions[release.decision] += 1
        time.sleep(order.pace)

    worst, windows = spends.worst(wishes)
    scores = {order.mechanism: mine}
    if order.mechanism != "uniform":
        scores["uniform"] = plain
    table.summary(decisions, events, scores, worst, windows)
    return worst <= 1


def _tell(publisher: Publisher, user: str, asked: Requirement | None) -> None:
    """Pass one wish on; `None` is leaving."""
    if asked is None:
        publisher.leave(user)
    elif user in publisher.members.register:
        publisher.change(user, asked)
    else:
        publisher.join(user, asked)


def _event(asked: Requirement | None, here: bool, seen: bool) -> str:
    """The word for a wish of somebody who is registered now (`here`), or was ever (`seen`)."""
    if asked is None:
        return "left"
    if here:
        return "changed"
    return "returned" if seen else "joined"
