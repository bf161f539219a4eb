"""Plans which requirement changes are new, from which slot on each holds, and whether the limits allow them."""

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

    def leaves(self, past: LatestChange) -> bool:
        """Whether somebody stays as they are because they have set their own requirement."""
        return past.requirement is not None and self.source != SET and past.source == SET and not self.overwrite


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

    @property
    def total(self) -> int:
        """How many changes were stored."""
        return self.joined + self.changed + self.left + self.returned


class KnownPeople:
    """The numbers and pasts of some people by name, or of everybody; a plan adds to them."""

    def __init__(self, connection: Connection, stream: int, names: list[str] | None = None) -> None:
        self.names: dict[str, int] = {}
        self.pasts: dict[int, LatestChange] = {}
        if names is None:
            self.names = read_people(connection, stream)
            self.pasts = read_latest_changes(connection, stream)
            return
        mine = sa.select(people.c.name, people.c.person).where(people.c.stream == stream)
        for first in range(0, len(names), AT_ONCE):
            some = people.c.name.in_(names[first : first + AT_ONCE])
            self.names.update(connection.execute(mine.where(some)).all())
        self.pasts = read_latest_changes(connection, stream, self.names.values())


class ChangePlan:
    """Changes that are about to be stored.

    Guarantees:
        A change that the limits refuse, alone or with everybody else's, raises `InvalidRequirement`.
        A newcomer whom another stream of the store lists raises `SharedPeople`, unless people are shared.
        A change that comes in a file leaves people as they are who have set their own requirement, unless the file is
        to overwrite it or lets them leave.
    """

    def __init__(
        self, connection: Connection, config: Config, stream: int, known: KnownPeople, now: int, how: ChangePolicy
    ) -> None:
        self._how = how
        self._stream, self._config, self._known, self._now = stream, config, known, now
        self._charged, self._begun = last_charged(connection, stream), begun_slot(connection, config, stream, now)
        self._number, self._first_new = newest_change_number(connection, stream), count_people(connection, stream)
        self._newcomers: list[tuple[int, int, str]] = []
        self._rows: list[tuple[object, ...]] = []
        self._confirmed: list[int] = []
        self.new: list[tuple[str, RequirementChange]] = []
        self.confirmed: list[tuple[str, RequirementChange]] = []  # somebody sets what a file required of them
        self._demand_before = read_demand(connection, stream)
        self._demand = self._demand_before.copy()
        self._limits = DemandCheck(config, self._demand_before)
        self.stored = ChangeCounts()
        self.longest = 1  # the longest window that the changes require
        self.fingerprints = 0  # the sum of their marks, for the witness

    def add(self, name: str, change: RequirementChange) -> None:
        """Count one change and, if it is new, plan it."""
        person, required, stored = self._known.names.get(name), change.requirement, self.stored
        past = None if person is None else self._known.pasts.get(person)
        if past is None and required is None:
            stored.unknown += 1
        elif past is not None and past.requirement == required:
            stored.unchanged += 1
            if self._how.source == SET != past.source:
                self._confirmed.append(past.number)
                self.confirmed.append((name, change))
        elif past is not None and past.requirement is None and not self._how.returning:
            stored.away += 1
        elif required is not None and past is not None and self._how.leaves(past):
            stored.own += 1  # a line that lets somebody leave is honoured: nobody is worse protected by it
        else:
            if required is not None:
                self._check(required, change.line)
            if past is None:
                stored.joined += 1
            elif required is None:
                stored.left += 1
            elif past.requirement is None:
                stored.returned += 1
            else:
                stored.changed += 1
            self.new.append((name, change))
            self._add(name, person, past, required)

    def check(self, connection: Connection) -> None:
        """Hold everything together against the limits and the other streams of the store."""
        self._limits.check_size(self._demand)
        if self._newcomers and not self._config.people.shared:
            lines = {name: change.line for name, change in self.new}
            refuse_shared_people(connection, self._stream, {name: lines[name] for _, _, name in self._newcomers})

    def save(self, connection: Connection) -> None:
        """Write everything down."""
        insert(connection, people, _PEOPLE, self._newcomers)
        insert(connection, requirement_changes, (*_REQUIREMENTS, *_OUTCOME), self._rows)
        for first in range(0, len(self._confirmed), AT_ONCE):
            some = requirement_changes.c.number.in_(self._confirmed[first : first + AT_ONCE])
            update(connection, requirement_changes, (requirement_changes.c.stream == self._stream) & some, source=SET)
        save_demand(connection, self._stream, self._demand_before, self._demand)

    def _add(self, name: str, person: int | None, past: LatestChange | None, required: Requirement | None) -> None:
        if person is None:
            person = self._known.names[name] = self._first_new + len(self._newcomers)
            self._newcomers.append((self._stream, person, name))
        if required is not None:
            self.longest = max(self.longest, longest_window(required))
        from_slot = first_slot_in_force(self._charged, self._begun, 0 if past is None else past.from_slot)
        now = self._now if past is None else max(self._now, past.stored)  # another host's clock may be ahead of ours
        self.stored.from_slot = min(self.stored.from_slot or from_slot, from_slot)
        number, source = self._number + 1 + len(self._rows), self._how.source
        new = LatestChange(required, from_slot, now, number, source).after(past)
        self._known.pasts[person] = new
        move(self._demand, past, new)
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
