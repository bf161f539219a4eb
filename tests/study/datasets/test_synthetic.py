"""Bits that are drawn anew in every slot."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wevent.errors import InvalidSetting
from wevent.study.datasets.catalog import open_stream
from wevent.study.datasets.stream import DataOptions
from wevent.study.datasets.synthetic import SyntheticStream


def ones(stream: SyntheticStream, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([place.sum() for place in stream.places(seed)])


def test_totals_follow_the_binomial_law() -> None:
    """Over 4,000 slots the standardised totals have mean 0 and variance 1, for rare, even and frequent ones.

    Both tests fail with probability below 10⁻⁶ for a correct sampler (5 standard deviations of each statistic).
    """
    for chance in (0.001, 1 / 3, 0.5, 0.97):
        stream = SyntheticStream("made up", np.full(4_000, chance), users=1_001)
        z = (ones(stream, 7) - 1_001 * chance) / np.sqrt(1_001 * chance * (1 - chance))
        assert abs(z.mean()) < 5 / np.sqrt(4_000)
        assert abs(z.var() - 1) < 5 * np.sqrt((2 + 1 / (1_001 * chance)) / 4_000)


def test_bits_beyond_the_sixteenth_count() -> None:
    """A probability of 2⁻¹⁷ is not 0: of 2·10⁷ bits about 153 are 1 (5 standard deviations: 91 to 215)."""
    total = int(ones(SyntheticStream("made up", np.full(200, 2.0**-17), users=100_000), 3).sum())
    assert 91 <= total <= 215


@pytest.mark.parametrize(("chance", "expected"), [(0.0, 0), (1.0, 37)])
def test_certain_bits(chance: float, expected: int) -> None:
    """Probability 0 gives nobody and 1 gives everybody."""
    assert ones(SyntheticStream("made up", np.full(20, chance), users=37), 1).tolist() == [expected] * 20


def test_same_seed_same_bits() -> None:
    """A seed repeats itself; another seed, another name and another slot give other bits."""
    stream = open_stream("sin", DataOptions(slots=5, users=1_000))
    first, again, other = (list(stream.places(seed)) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    for a, b in itertools.combinations(first, 2):
        assert (a != b).any()
    assert all((a != b).any() for a, b in zip(first, other, strict=True))
    half = {name: SyntheticStream(name, np.full(1, 0.5), users=1_000) for name in ("a", "b")}
    assert (next(half["a"].places(1)) != next(half["b"].places(1))).any()


def test_users_are_independent() -> None:
    """Neighbours in the same slot, and one user in following slots, are uncorrelated (5 standard deviations)."""
    bits = np.array(list(SyntheticStream("made up", np.full(400, 0.5), users=500).places(5))) - 0.5
    limit = 5 * 0.25 * np.sqrt(bits.size)
    for distance in (1, 2, 3, 4, 8):
        assert abs((bits[:, distance:] * bits[:, :-distance]).sum()) < limit
        assert abs((bits[distance:] * bits[:-distance]).sum()) < limit


def test_a_shorter_stream_begins_the_longer_one() -> None:
    """Cutting the stream changes nothing in what is left."""
    short, long = (open_stream("tlns", DataOptions(slots=slots, users=333)) for slots in (10, 40))
    for a, b in zip(short.places(4), itertools.islice(long.places(4), 10), strict=True):
        assert (a == b).all()


@pytest.mark.parametrize("name", ["sin", "log", "tlns"])
def test_usual_sizes(name: str) -> None:
    """10,000 people, 10,000 slots, two cells, everybody somewhere; more slots are possible."""
    stream = open_stream(name)
    assert (stream.name, stream.users, stream.slots, stream.cells) == (name, 10_000, 10_000, ("0", "1"))
    assert stream.complete
    assert stream.plane is None
    assert next(stream.places(1)).shape == (10_000,)
    assert open_stream(name, DataOptions(slots=10_001)).slots == 10_001
    assert "chances" not in repr(stream)


def test_other_numbers_of_cells_are_refused() -> None:
    """A synthetic set has two cells."""
    assert open_stream("sin", DataOptions(cells=2)).cells == ("0", "1")
    with pytest.raises(InvalidSetting, match="sin has 2 cells, got cells=3") as refused:
        open_stream("sin", DataOptions(cells=3))
    assert refused.value.fields["known"] == (2,)
