"""Gives up the slots of a store that is older than what was shown, after it said how many.

`--restored SLOT` is the operator's statement about the last slot that may have been shown.
"""

from __future__ import annotations

import sys
from typing import Literal

from wevent.cli.output import agrees
from wevent.config.model import Config
from wevent.errors import InvalidSetting, RequirementsMissing
from wevent.settings import MANY_SLOTS
from wevent.store.build import opening_terms
from wevent.store.database import Database
from wevent.store.effect import slot_of_clock
from wevent.store.opening import open_session, system_clock, witness_of
from wevent.store.reconciling import Opening
from wevent.store.writer import plan_opening


def restored_slot(config: Config, statement: int | Literal["now"] | None) -> int | None:
    """The last slot that may have been shown, as the operator states it; None without a statement."""
    if statement == "now":
        if config.slots.closing != "arrival":
            raise InvalidSetting(
                f"--restored needs a number here, not `now`: slots of this stream are closed by {config.slots.closing}"
                ", so the clock does not say which one may have been shown last. Nothing was changed"
            )
        return slot_of_clock(config, system_clock())
    return opening_terms(config, system_clock(), statement).shown


def plan(config: Config, database: Database, shown: int | None) -> Opening:
    """Say what would follow from opening the stream: which slots are given up, and for how long nobody spends."""
    opening = plan_opening(
        database, config.stream.name, witness_of(config), opening_terms(config, system_clock(), shown)
    )
    if opening.given_up:
        sys.stderr.write(f"wevent: {opening}\n")
    return opening


def give_up(config: Config, database: Database, shown: int | None, *, yes: bool) -> None:
    """Say what is given up and, with the operator's statement, do it before anything else happens to the store.

    Args:
        config: of the stream.
        database: its store.
        shown: the last slot that may have been shown; None without a statement.
        yes: whether the operator agrees to very many slots.
    """
    opening = plan(config, database, shown)
    if shown is None:
        return
    if opening.given_up > MANY_SLOTS and not yes and not agrees(f"Give up {opening.given_up:,} slots?"):
        raise InvalidSetting(
            f"{opening.given_up:,} slots would be given up. Is the number right? Then run it again with `--yes`; "
            "otherwise say which slot may really have been shown last. Nothing was changed",
            slots=opening.given_up,
        )
    try:
        open_session(config, database, shown).close()
    except RequirementsMissing:
        return  # the slots are given up; the next session says what is missing
