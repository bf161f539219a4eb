"""Step 2: knows who requires what, and turns a slot into counts per row and cell."""
