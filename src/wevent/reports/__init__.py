"""Step 8: what a store holds, for people who read: audit, privacy officer's page, tables and pictures."""
