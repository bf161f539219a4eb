"""Says and does what follows for `wevent publish` when the store is older than what was shown.

`--restored SLOT` is the operator's word for the last slot that may have been shown. Nothing is given up before it was
said how much.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from wevent.cli.confirming import MANY
from wevent.cli.opening import now, open_session, witness_of

if TYPE_CHECKING:
    from wevent.config.model import Config
    from wevent.store.database import Database
    from wevent.store.reconciling import Opening

BY_THE_CLOCK = -1
"""What `--restored` without a number gives."""


def add_restoring(parser: argparse.ArgumentParser) -> None:
    """Add the options of a restored store."""
    parser.add_argument(
        "--restored",
        type=_slot,
        nargs="?",
        const=BY_THE_CLOCK,
        metavar="SLOT",
        help="after a restore, or without the witness: slots up to this one may have been shown and are given up; "
        "0 for none; without a number the current one (closing = arrival)",
    )
    parser.add_argument(
        "--requirements-lost",
        action="store_true",
        help="after a restore: go on without the requirement changes that are missing; the store remembers how many",
    )


def restored_slot(config: Config, given: int | None) -> int | None:
    """The last slot that may have been shown, by the operator's word; None if nothing was said."""
    from wevent.errors import InvalidSetting
    from wevent.store.build import terms_of
    from wevent.store.effect import slot_of_clock

    if given == BY_THE_CLOCK:
        if config.slots.closing != "arrival":
            raise InvalidSetting(
                f"--restored needs a number here: slots of this stream are closed by {config.slots.closing}, so the "
                "clock does not tell which one may have been shown last. Nothing was changed"
            )
        return slot_of_clock(config, now())
    return terms_of(config, now(), given).shown


def plan(config: Config, database: Database, shown: int | None) -> Opening:
    """Say what would follow from opening the stream: which slots are given up, and for how long nobody spends."""
    from wevent.store.build import terms_of
    from wevent.store.writer import plan_opening

    opening = plan_opening(database, config.stream.name, witness_of(config), terms_of(config, now(), shown))
    if opening.given_up:
        sys.stderr.write(
            f"wevent: {opening.given_up:,} slots, {opening.first} to {opening.last}, may have been shown and are not "
            f"in this store: they are given up, and nobody spends anything before slot {opening.last + opening.hold} "
            f"(the longest window that may have been promised has {opening.hold:,} slots)\n"
        )
    return opening


def give_up(config: Config, database: Database, shown: int | None, *, yes: bool) -> None:
    """Say what is given up, and, if the operator spoke, do it before anything else happens to the store.

    Args:
        config: of the stream.
        database: its store.
        shown: the operator's word, None for none.
        yes: whether the operator agrees to very many slots.
    """
    from wevent.errors import RequirementsMissing

    opening = plan(config, database, shown)
    if shown is None:
        return
    if opening.given_up > MANY and not yes:
        _confirm(opening.given_up)
    try:
        open_session(config, database, shown).close()
    except RequirementsMissing:
        return  # the slots are given up; whoever publishes next is told what is missing


def _confirm(slots: int) -> None:
    from wevent.errors import InvalidSetting

    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write(f"Give up {slots:,} slots? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
    raise InvalidSetting(
        f"{slots:,} slots would be given up. Is the number right? Then run it again with `--yes`; otherwise say which "
        "slot may really have been shown last. Nothing was changed",
        slots=slots,
    )


def _slot(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"must be the number of a slot, 0 for none, got {text!r}")
    return int(text)
