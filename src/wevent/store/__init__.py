"""Step 7: events wait, charges and releases are kept, in SQLite or PostgreSQL."""
