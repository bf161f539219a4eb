"""Reads and checks what an operator declares in `wevent.toml`."""
