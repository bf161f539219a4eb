"""What filters show and what publishers learn; a store from before goes on as it is, and has none of it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make two tables; the others stay as they are."""
    op.create_table(
        "shown",
        sa.Column("stream", sa.Integer(), nullable=False),
        sa.Column("slot", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        sa.Column("standard_error", sa.LargeBinary(), nullable=False),
        sa.Column("assumption", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["stream", "slot"], ["releases.stream", "releases.slot"], name=op.f("fk_shown_releases")
        ),
        sa.PrimaryKeyConstraint("stream", "slot", name=op.f("pk_shown")),
    )
    op.create_table(
        "learned",
        sa.Column("stream", sa.Integer(), nullable=False),
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("slot", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("part IN ('schedule', 'view', 'trigger')", name=op.f("ck_learned_part")),
        sa.ForeignKeyConstraint(["stream"], ["streams.id"], name=op.f("fk_learned_streams")),
        sa.PrimaryKeyConstraint("stream", "part", name=op.f("pk_learned")),
    )
