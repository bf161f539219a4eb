"""Counts how many people of a stream require what, so that limits are checked without reading everybody.

The table `demand` has one row for each requirement that was ever stored and not refused: how many people require it by
their latest change, those who changed apart from those who never did. It bounds the rows that the ledger may need: one
for each fixed requirement, and one for each person who is dynamic or has changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.cohorts.requirement import Fixed, Requirement, check_share_ratio, with_share
from wevent.config.model import Config
from wevent.config.requirement_files import check_requirement
from wevent.errors import InvalidRequirement, InvalidSetting
from wevent.store.build import widened
from wevent.store.checksums import insert
from wevent.store.requirements import LatestChange, to_requirement, to_terms
from wevent.store.schema import demand
from wevent.units import UNBOUNDED

_COLUMNS = ("stream", "kind", "epsilon", "window", "backward_epsilon", "backward_window", "changed", "people")

Key = tuple[Requirement, bool]
"""A requirement, and whether those who require it had another one before."""


def read_demand(connection: Connection, stream: int) -> Counter[Key]:
    """How many people require what by their latest change; 0 for what nobody requires any more."""
    found: Counter[Key] = Counter()
    for row in connection.execute(sa.select(demand).where(demand.c.stream == stream)):
        required = to_requirement(row.kind, row.epsilon, row.window, row.backward_epsilon, row.backward_window)
        if required is not None:
            found[required, row.changed] = row.people
    return found


def save_demand(connection: Connection, stream: int, before: Mapping[Key, int], after: Mapping[Key, int]) -> None:
    """Write down what changed; what is missing in `after` is dropped."""
    rows: list[tuple[Any, ...]] = []
    for required, changed in before.keys() | after.keys():
        people = after.get((required, changed))
        if people != before.get((required, changed)):
            terms = [value or 0 for value in to_terms(required)]
            same = [demand.c[name] == value for name, value in zip(_COLUMNS[1:6], terms, strict=True)]
            same += [demand.c.stream == stream, demand.c.changed == changed]
            connection.execute(demand.delete().where(*same))
            if people is not None:
                rows.append((stream, *terms, changed, people))
    insert(connection, demand, _COLUMNS, rows)


def move(people: Counter[Key], before: LatestChange | None, after: LatestChange | None) -> None:
    """Count one person under another requirement; None, or a past that ends with leaving, counts nowhere."""
    if before is not None and before.requirement is not None:
        people[before.requirement, before.changed] -= 1
    if after is not None and after.requirement is not None:
        people[after.requirement, after.changed] += 1


def check_history(connection: Connection, config: Config, stream: int) -> None:
    """Refuse a limit `history_cells` below what the stored requirements may need, before any of them is replayed."""
    rows, span = _size(config, read_demand(connection, stream))
    if rows * span > config.privacy.limits.history_cells:
        raise InvalidSetting(
            f"privacy.limits.history_cells = {config.privacy.limits.history_cells:,} is below what the requirements in "
            f"the store may need: {rows:,} rows that remember {span:,} slots each. Set it to {rows * span:,} or more",
            least=rows * span,
        )


class DemandCheck:
    """Holds new requirements against the operator's limits and against what others require.

    Guarantees:
        A requirement that the limits do not allow, alone or beside the others, raises `InvalidRequirement`.
        Leaving is never refused.
    """

    def __init__(self, config: Config, people: Mapping[Key, int]) -> None:
        self._config, self._limits, self._carry = config, config.protection.limits, config.people.carry
        self._before = dict(people)
        self._known = {required for required, _ in people}
        self._shares = (UNBOUNDED, 0)
        for required in (*self._known, *([config.group.requirement] if config.group is not None else [])):
            self._shares = with_share(widened(required, self._carry), self._shares)

    def check(self, requirement: Requirement) -> None:
        """Check one requirement; what was accepted once always is."""
        if requirement not in self._known:
            check_requirement(self._config, requirement)
            wide = widened(requirement, self._carry)
            check_share_ratio(wide, self._shares, self._limits)
            self._shares = with_share(wide, self._shares)
            self._known.add(requirement)

    def check_size(self, people: Mapping[Key, int]) -> None:
        """Refuse what could need more memory than the operator allows, and more than before."""
        rows, span = _size(self._config, people)
        old_rows, old_span = _size(self._config, self._before)
        if rows * span > max(self._limits.history_cells, old_rows * old_span):
            raise InvalidRequirement(
                f"the requirements of this stream could need {rows:,} rows that remember {span:,} slots each, and the "
                f"operator's limit history_cells is {self._limits.history_cells:,} for the product; require shorter "
                "windows, or raise the limit. Nothing was stored",
                limit=self._limits.history_cells,
            )


def _size(config: Config, people: Mapping[Key, int]) -> tuple[int, int]:
    """An upper bound of the ledger's rows, and the slots that each remembers."""
    rows, span = int(config.group is not None), config.privacy.history_slots
    if config.group is not None:
        span = max(span, config.group.requirement.window)
    for (required, changed), number in people.items():
        rows += number if changed or not isinstance(required, Fixed) else int(number > 0)
        sides = (required,) if isinstance(required, Fixed) else (required.forward, required.backward)
        span = max(span, *(side.window for side in sides))
    return rows, span + config.people.carry - 1
