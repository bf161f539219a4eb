"""What Alembic runs: a connection comes in, inside whose transaction the schema is brought up to date."""

from __future__ import annotations

from alembic import context

from wevent.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
