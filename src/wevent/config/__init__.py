"""Step 7: reads and checks what an operator declares in `wevent.toml`."""
