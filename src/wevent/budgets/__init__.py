"""Step 3: keeps what each row spent, and says what it may spend now."""
