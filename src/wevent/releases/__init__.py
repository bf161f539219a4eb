"""Step 5: decides, draws, filters and keeps the release of a slot."""
