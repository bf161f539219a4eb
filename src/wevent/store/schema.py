"""The tables of a store; nothing comes in, their description goes out.

Times are whole microseconds since 1970 in UTC, budgets whole units of 10⁻⁹. Arrays are compressed little-endian
numbers (`store.arrays`). A slot is charged once and released once: both are primary keys.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

about = Table(
    "about",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
"""The store's own name, drawn by chance when it was made."""

streams = Table(
    "streams",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("settings", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("begun", Boolean, nullable=False),
)
"""Each stream with the privacy settings it began with; the epoch counts who opened it for writing."""

people = Table(
    "people",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("person", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    UniqueConstraint("stream", "name"),
)
"""Everybody who was ever listed, numbered from 0."""

requirements = Table(
    "requirements",
    metadata,
    Column("stream", Integer, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("person", BigInteger, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("stored", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("epsilon", BigInteger),
    Column("window", BigInteger),
    Column("backward_epsilon", BigInteger),
    Column("backward_window", BigInteger),
    Column("refused", Boolean, nullable=False),
    ForeignKeyConstraint(["stream", "person"], ["people.stream", "people.person"]),
    CheckConstraint("kind IN ('fixed', 'dynamic', 'leave')", name="kind"),
    Index("ix_requirements_since", "stream", "since"),
)
"""Who asked for what since which slot, in the order of asking; leaving is asking for nothing."""

slots = Table(
    "slots",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("slot", BigInteger, primary_key=True, autoincrement=False),
    Column("charged", BigInteger, nullable=False),
    Column("forfeited", Boolean, nullable=False),
    Column("nullified", Boolean, nullable=False),
    Column("part_1", LargeBinary, nullable=False),
    Column("part_2", LargeBinary, nullable=False),
    CheckConstraint("slot >= 1", name="slot"),
)
"""What every row was charged, kept before anything is drawn."""

releases = Table(
    "releases",
    metadata,
    Column("stream", Integer, primary_key=True),
    Column("slot", BigInteger, primary_key=True, autoincrement=False),
    Column("released", BigInteger, nullable=False),
    Column("decision", Text, nullable=False),
    Column("threshold", Float(53)),
    Column("source", BigInteger, nullable=False),
    Column("counts", LargeBinary),
    Column("standard_error", LargeBinary),
    Column("variance", Float(53)),
    Column("squared_bias", Float(53)),
    Column("noise", Float(53)),
    ForeignKeyConstraint(["stream", "slot"], ["slots.stream", "slots.slot"]),
    CheckConstraint("decision IN ('published', 'skipped', 'nullified', 'lost')", name="decision"),
    CheckConstraint("(decision = 'published') = (counts IS NOT NULL)", name="counts"),
)
"""What was released. Only published slots hold counts, noisy ones; the others repeat those of slot `source`, 0 for
none. Where a filter stands between, what it showed instead is in `shown`."""

shown = Table(
    "shown",
    metadata,
    Column("stream", Integer, primary_key=True),
    Column("slot", BigInteger, primary_key=True, autoincrement=False),
    Column("counts", LargeBinary, nullable=False),
    Column("standard_error", LargeBinary, nullable=False),
    Column("assumption", Text),
    ForeignKeyConstraint(["stream", "slot"], ["releases.stream", "releases.slot"]),
)
"""What a filter showed in every slot, published or not; without a filter nothing. The assumption is in words."""

learned = Table(
    "learned",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("part", Text, primary_key=True),
    Column("slot", BigInteger, nullable=False),
    Column("state", LargeBinary, nullable=False),
    CheckConstraint("part IN ('schedule', 'view', 'trigger')", name="part"),
)
"""What parts of a publisher have learned, the newest only: a schedule's with a charge, the others' with a release."""

seats = Table(
    "seats",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("person", BigInteger, primary_key=True, autoincrement=False),
    Column("since", BigInteger, primary_key=True, autoincrement=False),
    Column("row", BigInteger, nullable=False),
)
"""In which row of the charges somebody stands since a slot, -1 for none. Person -1 is the group of unlisted people."""

states = Table(
    "states",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("slot", BigInteger, primary_key=True, autoincrement=False),
    Column("state", LargeBinary, nullable=False),
)
"""The publisher as bytes, before a slot; what follows is replayed from `slots` and `releases`."""

waiting = Table(
    "waiting",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("slot", BigInteger, primary_key=True, autoincrement=False),
    Column("batch", BigInteger, primary_key=True, autoincrement=False),
    Column("events", LargeBinary, nullable=False),
    Column("strangers", LargeBinary),
)
"""Accepted events of slots that are not released yet, batch by batch; deleted with the release."""

carried = Table(
    "carried",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("slot", BigInteger, nullable=False),
    Column("last", LargeBinary, nullable=False),
)
"""Where people were last seen, for streams in which they stay there for a while."""

tallies = Table(
    "tallies",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
)
"""How many events were accepted or refused, and why; for the operator."""

sources = Table(
    "sources",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("place", BigInteger, nullable=False),
    Column("line", BigInteger, nullable=False),
)
"""How far a file was read, kept together with the events read from it."""
