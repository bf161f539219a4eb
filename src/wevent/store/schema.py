"""Describes the tables of a store.

Times are whole microseconds since 1970 in UTC, budgets whole units of 10⁻⁹. Arrays are compressed little-endian
numbers (`store.arrays`). A slot is charged once and released once: both are primary keys. Every table has a column
`checksum` besides, added at the end of this file (`store.checksums`).
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

from wevent.store.checksums import seal_rows

UNLISTED = -1
"""The person number of the group of unlisted people."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

about = Table("about", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))
"""The store's own name, drawn by chance when it was made."""

streams = Table(
    "streams",
    metadata,
    Column("id", Integer, primary_key=True, info={"sealed": False}),
    Column("name", Text, nullable=False, unique=True),
    Column("settings", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("begun", Boolean, nullable=False),
    Column("files_begun_slot", BigInteger, nullable=False, default=0),
    Column("changes", BigInteger, nullable=False, default=0),
    Column("changes_lost", BigInteger, nullable=False, default=0),
    Column("fingerprint", BigInteger, nullable=False, default=0),
)
"""Each stream with the privacy settings it began with; the epoch counts who opened it for writing. Where files close
slots, the slots up to `files_begun_slot` have begun: a run has taken their events. `changes` counts requirement changes
that were ever stored, `changes_lost` those among them that the operator gave up after a restore; `fingerprint` is a sum
of hashes of them."""

people = Table(
    "people",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("person", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    UniqueConstraint("stream", "name"),
)
"""Everybody who was ever listed, numbered from 0."""

requirement_changes = Table(
    "requirement_changes",
    metadata,
    Column("stream", Integer, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("person", BigInteger, nullable=False),
    Column("from_slot", BigInteger, nullable=False),
    Column("stored", BigInteger, nullable=False),
    Column("charged_slot", BigInteger, nullable=False),
    Column("begun_slot", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("epsilon", BigInteger),
    Column("window", BigInteger),
    Column("backward_epsilon", BigInteger),
    Column("backward_window", BigInteger),
    Column("refused", Boolean, nullable=False),
    Column("source", Text, nullable=False),
    ForeignKeyConstraint(["stream", "person"], ["people.stream", "people.person"]),
    CheckConstraint("kind IN ('fixed', 'dynamic', 'leave')", name="kind"),
    CheckConstraint("source IN ('set', 'import')", name="source"),
    Index("ix_requirement_changes_from_slot", "stream", "from_slot"),
    Index("ix_requirement_changes_person", "stream", "person", "number"),
)
"""Who requires what from which slot on, in the order of storing; leaving is requiring nothing. `charged_slot` was the
last charged slot when it was stored, `begun_slot` the last that had begun; `from_slot` lies after both. Of
one person's changes of the same slot the last one that is not refused counts. `source` is `set` for what was stored for
this person alone, `import` for what stood in a file."""

demand = Table(
    "demand",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("epsilon", BigInteger, primary_key=True, autoincrement=False),
    Column("window", BigInteger, primary_key=True, autoincrement=False),
    Column("backward_epsilon", BigInteger, primary_key=True, autoincrement=False),
    Column("backward_window", BigInteger, primary_key=True, autoincrement=False),
    Column("changed", Boolean, primary_key=True),
    Column("people", BigInteger, nullable=False),
    CheckConstraint("kind IN ('fixed', 'dynamic')", name="kind"),
)
"""How many people require what by their latest change, those who changed apart; limits are checked against it."""

slots = Table(
    "slots",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("slot", BigInteger, primary_key=True, autoincrement=False),
    Column("charged", BigInteger, nullable=False),
    Column("forfeited", Boolean, nullable=False),
    Column("hold", BigInteger, nullable=False),
    Column("nullified", Boolean, nullable=False),
    Column("change_budget", LargeBinary, nullable=False),
    Column("publish_budget", LargeBinary, nullable=False),
    CheckConstraint("slot >= 1", name="slot"),
)
"""What every row was charged, kept before anything is drawn. After a forfeited slot nobody spends before `slot + hold`;
`hold` is 0 in all others."""

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
    Column("axis", Text, primary_key=True),
    Column("slot", BigInteger, nullable=False),
    Column("state", LargeBinary, nullable=False),
    CheckConstraint("axis IN ('schedule', 'trigger', 'estimator', 'filter')", name="axis"),
)
"""What the axes of a publisher learned, the newest only: a schedule's with a charge, the others' with a release."""

row_assignments = Table(
    "row_assignments",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("person", BigInteger, primary_key=True, autoincrement=False),
    Column("from_slot", BigInteger, primary_key=True, autoincrement=False),
    Column("row", BigInteger, nullable=False),
)
"""In which row of the charges a person is from a slot on, -1 for none. Person -1 is the group of unlisted people."""

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
    Column("number", BigInteger, nullable=False),
    Column("events", LargeBinary, nullable=False),
    Column("unlisted", LargeBinary),
)
"""Accepted events of slots that are not released yet, batch by batch, and how many; deleted with the release."""

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
"""How many events were accepted, refused and why, released or lost with their slot (`accounting`); for the operator.
Where files close slots, the refused ones are those of the last run, since the next one reads the same files again."""

sources = Table(
    "sources",
    metadata,
    Column("stream", Integer, ForeignKey("streams.id"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("file", Text, primary_key=True),
    Column("place", BigInteger, nullable=False),
    Column("line", BigInteger, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False),
)
"""How far a file was read, kept together with the events read from it. `file` is device and inode, `name` the path
under which it was given: after a rotation several files have had it; each is listed until it was read to its end."""

for _table in metadata.sorted_tables:
    seal_rows(_table)
