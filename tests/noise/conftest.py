"""The fixture `source`: each source of noise in turn."""

from __future__ import annotations

import pytest
from tests.noise.sources import SOURCES

from wevent.noise import Noise


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> Noise:
    return SOURCES[request.param]()
