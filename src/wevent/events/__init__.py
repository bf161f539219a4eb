"""Step 1: reads events and puts them into slots."""
