"""Step 5: the release is made."""
