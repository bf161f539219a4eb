"""Brings the schema up to date for Alembic, inside the transaction of a given connection."""

from __future__ import annotations

from alembic import context

from wevent.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
