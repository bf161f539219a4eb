"""Seeded noise repeats, and says so."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.noise.sources import CERTAIN, SECRET

from wevent.errors import InvalidSetting, NotExact, WeventError
from wevent.noise import Noise, SecureNoise, SeededNoise


def test_seeded_repeats() -> None:
    """The same seed and calls give the same draws, re-keyed or not; another seed gives others."""

    def draws(source: Noise, *, rekey: bool) -> list[object]:
        drawn = list[object]()
        for _ in range(3):
            if rekey:
                source.rekey()
            drawn.append(source.laplace([5] * 9, sensitivity=2, epsilon=Fraction(1, 50)).tolist())
            drawn.append(source.binomial([100] * 9, CERTAIN // 3).tolist())
            drawn.append(source.bernoulli([CERTAIN // 3] * 40).tolist())
        return drawn

    assert draws(SeededNoise(5), rekey=False) == draws(SeededNoise(5), rekey=True)
    assert draws(SeededNoise(5), rekey=False) != draws(SeededNoise(6), rekey=False)


def test_only_seeded_noise_says_that_it_is_seeded() -> None:
    """Its repr warns and does not show the seed."""
    assert SeededNoise.seeded
    assert not SecureNoise.seeded
    shown = repr(SeededNoise(SECRET))
    assert "seeded" in shown
    assert "not private" in shown
    assert str(SECRET) not in shown


@pytest.mark.parametrize(("seed", "kind"), [(1.0, NotExact), (True, NotExact), (None, NotExact), (-1, InvalidSetting)])
def test_seed_is_an_int(seed: Any, kind: type[WeventError]) -> None:
    """A seed is an int, at least 0; in particular it is never left out."""
    with pytest.raises(kind):
        SeededNoise(seed)
