"""Makes every table as `store.schema` describes it.

Nothing has been released yet, so the schema still changes in place. With the first release this file is written out
in full, and every later change gets a file of its own.
"""

from __future__ import annotations

from alembic import op

from wevent.store.schema import metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table."""
    metadata.create_all(op.get_bind())
