"""Step 9: shows what a store holds: audit, privacy officer's page, tables and pictures."""
