"""Holds the commands of `wevent`, one file each: they read options, call the library and print."""
