"""Plans which requirement changes are new, from which slot on each is in force, and whether the limits allow them."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.cohorts.requirement import Requirement
from wevent.cohorts.requirement_change import RequirementChange
from wevent.config.model import Config
from wevent.errors import InvalidRequirement
from wevent.store.checksums import insert, update
from wevent.store.demand import DemandCheck, move, read_demand, save_demand
from wevent.store.effect import begun_slot, first_slot_in_force
from wevent.store.requirements import (
    AT_ONCE,
    SET,
    TERMS,
    LatestChange,
    count_people,
    last_charged,
    longest_window,
    newest_change_number,
    read_latest_changes,
    read_people,
    to_terms,
)
from wevent.store.schema import people, requirement_changes
from wevent.store.sharing import refuse_shared_people
from wevent.store.witnessed_changes import change_fingerprint

_PEOPLE = ("stream", "person", "name")
_REQUIREMENTS = ("stream", "number", "person", "from_slot", "stored", "charged_slot", "begun_slot", *TERMS)
_OUTCOME = ("refused", "source")


@dataclass(frozen=True, slots=True)
class ChangePolicy:
    """How changes come, and whom they may change.

    Attributes:
        source: `SET` for one person's own, `IMPORT` for those of a file.
        returning: whether people who left are brought back.
        overwrite: whether a file changes people who have set their own requirement.
    """

    source: str = SET
    returning: bool = True
    overwrite: bool = False

    def spares(self, latest: LatestChange) -> bool:
        """Whether a person stays as they are because they have set their own requirement."""
        return latest.requirement is not None and self.source != SET == latest.source and not self.overwrite


@dataclass(slots=True)
class ChangeCounts:
    """How many people joined, changed, left and returned; and how many changes were not stored, and why not.

    `unchanged` required this already; `away` left before and were not brought back; `own` have set their own
    requirement, which a file does not change; `unknown` were to leave and were never listed. `from_slot` is the first
    slot in which any of the changes is in force, 0 if nothing was stored.
    """

    joined: int = 0
    changed: int = 0
    left: int = 0
    returned: int = 0
    unchanged: int = 0
    away: int = 0
    own: int = 0
    unknown: int = 0
    from_slot: int = 0

    def add(self, more: ChangeCounts) -> None:
        """Count more changes of the same call."""
        for name in ("joined", "changed", "left", "returned", "unchanged", "away", "own", "unknown"):
            setattr(self, name, getattr(self, name) + getattr(more, name))
        self.from_slot = min((slot for slot in (self.from_slot, more.from_slot) if slot), default=0)

    @property
    def total(self) -> int:
        """How many changes were stored."""
        return self.joined + self.changed + self.left + self.returned


class KnownPeople:
    """The numbers and latest changes of some people by name, or of everybody; a plan adds to them."""

    def __init__(self, connection: Connection, stream: int, names: list[str] | None = None) -> None:
        if names is None:
            self.numbers = read_people(connection, stream)
            self.latest = read_latest_changes(connection, stream)
            return
        self.numbers = {}
        everybody = sa.select(people.c.name, people.c.person).where(people.c.stream == stream)
        for first in range(0, len(names), AT_ONCE):
            chosen = everybody.where(people.c.name.in_(names[first : first + AT_ONCE]))
            self.numbers.update(connection.execute(chosen).all())
        self.latest = read_latest_changes(connection, stream, self.numbers.values())

    def latest_of(self, name: str) -> LatestChange | None:
        """The latest change of a person, None for a person who was never listed."""
        number = self.numbers.get(name)
        return None if number is None else self.latest.get(number)


class ChangePlan:
    """Changes that are about to be stored; their users are names.

    Guarantees:
        A change that the limits refuse, alone or with everybody else's, raises `InvalidRequirement`.
        A newcomer whom another stream of the store lists raises `SharedPeople`, unless people are shared.
        A change that comes in a file leaves people as they are who have set their own requirement, unless the file is
        to overwrite it or lets them leave.
    """

    def __init__(
        self, connection: Connection, config: Config, stream: int, known: KnownPeople, now: int, policy: ChangePolicy
    ) -> None:
        self._policy = policy
        self._stream, self._config, self._known, self._now = stream, config, known, now
        self._charged, self._begun = last_charged(connection, stream), begun_slot(connection, config, stream, now)
        self._number, self._first_new = newest_change_number(connection, stream), count_people(connection, stream)
        self._newcomers: list[tuple[int, int, str]] = []
        self._rows: list[tuple[object, ...]] = []
        self._confirmed: list[int] = []
        self.new: list[RequirementChange] = []
        self.confirmed: list[RequirementChange] = []  # a person sets what a file required of them
        self._demand_before = read_demand(connection, stream)
        self._demand = self._demand_before.copy()
        self._limits = DemandCheck(config, self._demand_before)
        self.counts = ChangeCounts()
        self.longest = 1  # the longest window that the changes require
        self.fingerprints = 0  # the sum of their fingerprints, for the witness

    def add(self, change: RequirementChange) -> None:
        """Count one change and, if it is new, plan it."""
        required, counts = change.requirement, self.counts
        latest = self._known.latest_of(str(change.user))
        if latest is None and required is None:
            counts.unknown += 1
        elif latest is not None and latest.requirement == required:
            counts.unchanged += 1
            if self._policy.source == SET != latest.source:
                self._confirmed.append(latest.number)
                self.confirmed.append(change)
        elif latest is not None and latest.requirement is None and not self._policy.returning:
            counts.away += 1
        elif required is not None and latest is not None and self._policy.spares(latest):
            counts.own += 1  # a line that lets a person leave is honoured: nobody is worse protected by it
        else:
            if required is not None:
                self._check(required, change.line)
            if latest is None:
                counts.joined += 1
            elif required is None:
                counts.left += 1
            elif latest.requirement is None:
                counts.returned += 1
            else:
                counts.changed += 1
            self.new.append(change)
            self._add(str(change.user), latest, required)

    def check(self, connection: Connection) -> None:
        """Hold everything together against the limits and the other streams of the store."""
        self._limits.check_size(self._demand)
        if self._newcomers and not self._config.people.shared:
            lines = {str(change.user): change.line for change in self.new}
            refuse_shared_people(connection, self._stream, {name: lines[name] for _, _, name in self._newcomers})

    def save(self, connection: Connection) -> None:
        """Write everything down."""
        insert(connection, people, _PEOPLE, self._newcomers)
        insert(connection, requirement_changes, (*_REQUIREMENTS, *_OUTCOME), self._rows)
        this_stream = requirement_changes.c.stream == self._stream
        for first in range(0, len(self._confirmed), AT_ONCE):
            confirmed = requirement_changes.c.number.in_(self._confirmed[first : first + AT_ONCE])
            update(connection, requirement_changes, this_stream & confirmed, source=SET)
        save_demand(connection, self._stream, self._demand_before, self._demand)

    def _add(self, name: str, latest: LatestChange | None, required: Requirement | None) -> None:
        if name not in self._known.numbers:
            self._known.numbers[name] = self._first_new + len(self._newcomers)
            self._newcomers.append((self._stream, self._known.numbers[name], name))
        person = self._known.numbers[name]
        if required is not None:
            self.longest = max(self.longest, longest_window(required))
        from_slot = first_slot_in_force(self._charged, self._begun, 0 if latest is None else latest.from_slot)
        now = self._now if latest is None else max(self._now, latest.stored)  # another host's clock may be ahead
        self.counts.from_slot = min(self.counts.from_slot or from_slot, from_slot)
        number, source = self._number + 1 + len(self._rows), self._policy.source
        new = LatestChange(required, from_slot, now, number, source).after(latest)
        self._known.latest[person] = new
        move(self._demand, latest, new)
        place = (self._stream, number, person, from_slot, now, self._charged, self._begun)
        terms = to_terms(required)
        self.fingerprints += change_fingerprint(name, terms)
        self._rows.append((*place, *terms, False, source))

    def _check(self, required: Requirement, line: int | None) -> None:
        try:
            self._limits.check(required)
        except InvalidRequirement as error:
            if line is None:
                raise
            raise InvalidRequirement(f"line {line}: {error}. Nothing was stored", **error.fields) from None
