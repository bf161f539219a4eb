"""How property tests draw: at random on a desk, the same every time where a build must not depend on luck.

Without the slow tests (`make check`) they draw a fifth of the examples, unless a test says how many; the
whole suite draws all.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("build", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("build")


def pytest_configure(config: pytest.Config) -> None:
    """Draw fewer examples where the slow tests are left out."""
    if config.option.markexpr == "not slow":
        settings.register_profile("quick", settings.default, max_examples=20)
        settings.load_profile("quick")
