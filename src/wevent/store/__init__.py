"""Step 8: keeps waiting events, charges and releases in SQLite or PostgreSQL."""
