"""Step 1: an event arrives and falls into a slot."""
