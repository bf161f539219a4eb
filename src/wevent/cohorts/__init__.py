"""Step 2: a slot becomes counts per row and cell."""
