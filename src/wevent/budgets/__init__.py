"""Step 3: what each row may spend now."""
