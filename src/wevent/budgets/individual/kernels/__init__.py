"""Compiles the loops over individual rows with numba (extra `fast`)."""
