"""Keeps in a store, and reads from it, what brings a stream's publisher back to where it stood."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.budgets.ledger import Offer
from wevent.errors import CorruptState
from wevent.releases.release import Release
from wevent.store.arrays import decode_integers
from wevent.store.kept import read_releases
from wevent.store.schema import carried, releases, slots, states


@dataclass(frozen=True, slots=True)
class KeptState:
    """The newest kept state of a publisher, what people carry, and slots that were charged and never released."""

    publisher: bytes | None = field(repr=False)
    carried: bytes | None = field(repr=False)
    unreleased: list[int]


@dataclass(frozen=True, slots=True)
class KeptSlot:
    """A slot that is over: its charge, or None and how long it holds everybody back if it was given up; its release."""

    number: int
    hold: int
    charge: Offer | None = field(repr=False)
    release: Release = field(repr=False)


def read_state(connection: Connection, stream: int) -> KeptState:
    """The newest kept state."""
    newest = sa.select(states.c.state).where(states.c.stream == stream).order_by(states.c.slot.desc())
    last = sa.select(carried.c.last).where(carried.c.stream == stream)
    there = sa.exists().where(releases.c.stream == slots.c.stream, releases.c.slot == slots.c.slot)
    bare = sa.select(slots.c.slot).where(slots.c.stream == stream, ~there).order_by(slots.c.slot)
    return KeptState(
        connection.execute(newest).scalar(),
        connection.execute(last).scalar(),
        list(connection.execute(bare).scalars()),
    )


def write_state(connection: Connection, stream: int, slot: int, state: bytes) -> None:
    """Keep the state of a publisher before a slot, instead of older ones."""
    connection.execute(states.delete().where(states.c.stream == stream, states.c.slot <= slot))
    connection.execute(states.insert().values(stream=stream, slot=slot, state=state))


def read_slots(connection: Connection, stream: int, cells: int, first: int) -> list[KeptSlot]:
    """Every slot from `first` on.

    Guarantees:
        A gap, or a charge without a release, raises `CorruptState`.
    """
    after = sa.select(slots).where(slots.c.stream == stream, slots.c.slot >= first).order_by(slots.c.slot)
    charges = connection.execute(after).all()
    released = list(read_releases(connection, stream, cells, first, 2**62))
    if len(charges) != len(released):
        raise CorruptState("the store has charges without releases in its past; restore it from a whole copy")
    found = []
    for number, (charge, release) in enumerate(zip(charges, released, strict=True), start=first):
        if (charge.slot, release.slot) != (number, number):
            raise CorruptState(f"slot {number} is missing in the store; restore it from a whole copy")
        found.append(KeptSlot(number, charge.hold, None if charge.forfeited else _offer(charge), release))
    return found


def _offer(charge: Any) -> Offer:
    return Offer(
        charge.slot, decode_integers(charge.change_budget), decode_integers(charge.publish_budget), charge.nullified
    )
