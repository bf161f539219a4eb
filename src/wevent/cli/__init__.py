"""The command `wevent`: one file for each command, and what commands share."""
