"""Holds the parts of the protocol `printed`, NOT PRIVATE; nothing else may use them."""
