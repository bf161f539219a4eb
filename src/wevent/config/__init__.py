"""What an operator declares: a file `wevent.toml` comes in, checked settings go out."""
