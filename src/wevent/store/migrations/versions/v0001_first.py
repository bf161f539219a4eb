"""The first schema: streams, people, requirements, slots, releases, and what waits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table."""
    op.create_table(
        "about",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_about")),
    )
    op.create_table(
        "streams",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("begun", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_streams")),
        sa.UniqueConstraint("name", name=op.f("uq_streams_name")),
    )
    op.create_table(
        "carried",
        sa.Column("stream", sa.Integer(), nullable=False),
        sa.Column("slot", sa.BigInteger(), nullable=False),
        sa.Column("last", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.id"], name=op.f("fk_carried_streams")),
        sa.PrimaryKeyConstraint("stream", name=op.f("pk_carried")),
    )
    op.create_table(
        "people",
        sa.Column("stream", sa.Integer(), nullable=False),
        sa.Column("person", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.id"], name=op.f("fk_people_streams")),
        sa.PrimaryKeyConstraint("stream", "person", name=op.f("pk_people")),
        sa.UniqueConstraint("stream", "name", name=op.f("uq_people_stream")),
    )
    op.create_table(
        "seats",
        sa.Column("stream", sa.Integer(), nullable=False),
        sa.Column("person", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("since", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("row", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.id"], name=op.f("fk_seats_streams")),
        sa.PrimaryKeyConstraint("stream", "person", "since", name=op.f("pk_seats")),
    )
    op.create_table(
        "slots",
        sa.Column("stream", sa.Integer(), nullable=False),
        sa.Column("slot", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("charged", sa.BigInteger(), nullable=False),
        sa.Column("forfeited", sa.Boolean(), nullable=False),
        sa.Column("nullified", sa.Boolean(), nullable=False),
        sa.Column("part_1", sa.LargeBinary(), nullable=False),
        sa.Column("part_2", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("slot >= 1", name=op.f("ck_slots_slot")),
        sa.ForeignKeyConstraint(["stream"], ["streams.id"], name=op.f("fk_slots_streams")),
        sa.PrimaryKeyConstraint("stream", "slot", name=op.f("pk_slots")),
    )
    op.create_table(
        "sources",
        sa.Column("stream", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("line", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.id"], name=op.f("fk_sources_streams")),
        sa.PrimaryKeyConstraint("stream", "name", name=op.f("pk_sources")),
    )
    op.create_table(
        "states",
        sa.Column("stream", sa.Integer(), nullable=False),
        sa.Column("slot", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.id"], name=op.f("fk_states_streams")),
        sa.PrimaryKeyConstraint("stream", "slot", name=op.f("pk_states")),
    )
    op.create_table(
        "tallies",
        sa.Column("stream", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.id"], name=op.f("fk_tallies_streams")),
        sa.PrimaryKeyConstraint("stream", "kind", name=op.f("pk_tallies")),
    )
    op.create_table(
        "waiting",
        sa.Column("stream", sa.Integer(), nullable=False),
        sa.Column("slot", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("batch", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("events", sa.LargeBinary(), nullable=False),
        sa.Column("strangers", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["stream"], ["streams.id"], name=op.f("fk_waiting_streams")),
        sa.PrimaryKeyConstraint("stream", "slot", "batch", name=op.f("pk_waiting")),
    )
    op.create_table(
        "releases",
        sa.Column("stream", sa.Integer(), nullable=False),
        sa.Column("slot", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("released", sa.BigInteger(), nullable=False),
        sa.Column("decision", sa.Text(), nullable=False),
        sa.Column("threshold", sa.Float(precision=53), nullable=True),
        sa.Column("source", sa.BigInteger(), nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=True),
        sa.Column("standard_error", sa.LargeBinary(), nullable=True),
        sa.Column("variance", sa.Float(precision=53), nullable=True),
        sa.Column("squared_bias", sa.Float(precision=53), nullable=True),
        sa.Column("noise", sa.Float(precision=53), nullable=True),
        sa.CheckConstraint("(decision = 'published') = (counts IS NOT NULL)", name=op.f("ck_releases_counts")),
        sa.CheckConstraint(
            "decision IN ('published', 'skipped', 'nullified', 'lost')", name=op.f("ck_releases_decision")
        ),
        sa.ForeignKeyConstraint(["stream", "slot"], ["slots.stream", "slots.slot"], name=op.f("fk_releases_slots")),
        sa.PrimaryKeyConstraint("stream", "slot", name=op.f("pk_releases")),
    )
    op.create_table(
        "requirements",
        sa.Column("stream", sa.Integer(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("person", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("stored", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("epsilon", sa.BigInteger(), nullable=True),
        sa.Column("window", sa.BigInteger(), nullable=True),
        sa.Column("backward_epsilon", sa.BigInteger(), nullable=True),
        sa.Column("backward_window", sa.BigInteger(), nullable=True),
        sa.Column("refused", sa.Boolean(), nullable=False),
        sa.CheckConstraint("kind IN ('fixed', 'dynamic', 'leave')", name=op.f("ck_requirements_kind")),
        sa.ForeignKeyConstraint(
            ["stream", "person"], ["people.stream", "people.person"], name=op.f("fk_requirements_people")
        ),
        sa.PrimaryKeyConstraint("stream", "number", name=op.f("pk_requirements")),
    )
    op.create_index("ix_requirements_since", "requirements", ["stream", "since"], unique=False)
