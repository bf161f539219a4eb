"""How property tests draw: at random on a desk, the same every time where a build must not depend on luck."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("build", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("build")
