"""How property tests draw: at random on a desk, the same every time where a build must not depend on luck.

Without the slow tests (`make check`) they draw an eighth of the examples, unless a test says how many; the
whole suite draws all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from wevent.budgets.invariant import SWITCH

# How long something takes says nothing on a busy machine.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("build", settings.get_profile("patient"), derandomize=True, print_blob=True)
settings.load_profile("build" if os.environ.get("CI") else "patient")


def pytest_configure(config: pytest.Config) -> None:
    """Draw fewer examples where the slow tests are left out."""
    if config.option.markexpr == "not slow":
        settings.register_profile("quick", settings(), max_examples=12)
        settings.load_profile("quick")


@pytest.fixture(scope="module", autouse=True)
def _checked_rows(request: pytest.FixtureRequest) -> Iterator[None]:
    """Assert the invariant of rows after every change in the tests that are about rows."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.parent.name in ("budgets", "histories"):
            patch.setenv(SWITCH, "1")
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_witnesses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep witnesses of tests away from the user's: they outlive the stores that they remember."""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    yield
    if before is None:
        del os.environ["XDG_STATE_HOME"]
    else:
        os.environ["XDG_STATE_HOME"] = before
