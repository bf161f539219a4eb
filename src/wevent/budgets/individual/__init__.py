"""People with a requirement of their own, each in a row of their own, compiled with numba."""
