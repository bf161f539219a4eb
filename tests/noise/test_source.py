"""Coins are exact, bit by bit, and bounded in memory."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.noise.sources import CERTAIN, SOURCES, Scripted

from wevent.noise import PROBABILITY_BITS, Noise, SecureNoise, SeededNoise
from wevent.noise import source as noise_source


@given(st.integers(0, CERTAIN - 1), st.integers(0, CERTAIN))
def test_one_coin_is_one_comparison(number: int, probability: int) -> None:
    """A binomial draw of one thing is `number < probability`, where the script spells the number's bits."""
    script = (1 - (number >> place & 1) for place in reversed(range(PROBABILITY_BITS)))
    assert Scripted(script).binomial(1, probability) == (number < probability)


@given(st.integers(0, 2**64 - 1), st.integers(0, CERTAIN))
def test_bernoulli_is_one_comparison(word: int, probability: int) -> None:
    """A coin is True exactly when the upper 62 bits of its word are below the probability."""
    assert Scripted([word]).bernoulli([probability]).tolist() == [word >> 2 < probability]


@pytest.mark.parametrize("eighths", range(9))
@pytest.mark.parametrize("things", range(4))
def test_binomial_over_all_scripts(things: int, eighths: int) -> None:
    """Over all equally likely bits the outcomes are exactly binomial; spare bits do nothing."""
    outcomes: Counter[int] = Counter()
    for script in product(range(8), repeat=3):
        noisy_spare = [word | (2**64 - 8) for word in script]
        outcomes[int(Scripted(noisy_spare).binomial(things, eighths * CERTAIN // 8))] += 1
    for kept in range(things + 1):
        weight = math.comb(things, kept) * eighths**kept * (8 - eighths) ** (things - kept)
        assert outcomes[kept] == Fraction(weight, 8**things) * 8**3
    assert outcomes.total() == 8**3


@pytest.mark.parametrize("block", [1, 2, 3, 7, 64])
def test_blocks_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the words are divided into blocks, the same stream gives the same draw."""
    counts = np.array([0, 1, 63, 64, 65, 127, 128, 129, 1000, 0, 5, 700, 64, 3])
    chances = np.arange(1, 15) * (CERTAIN // 16) + 12345
    unbroken = SeededNoise(3).binomial(counts, chances)
    monkeypatch.setattr(noise_source, "_BLOCK_WORDS", block)
    assert SeededNoise(3).binomial(counts, chances).tolist() == unbroken.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, CERTAIN)), max_size=30), st.sampled_from(sorted(SOURCES))
)
def test_binomial_stays_in_range(cells: list[tuple[int, int]], name: str) -> None:
    """Between nothing and everything is kept, in every element."""
    counts = np.array([count for count, _ in cells], dtype=np.int64)
    chances = np.array([chance for _, chance in cells], dtype=np.int64)
    kept = SOURCES[name]().binomial(counts, chances)
    assert kept.dtype == np.int64
    assert ((kept >= 0) & (kept <= counts)).all()


def test_certain_and_impossible(source: Noise) -> None:
    """Probability 0 keeps nothing and 2⁶² everything, with and without undecided neighbours."""
    counts = np.array([0, 1, 64, 10**12, 10**12, 17])
    chances = np.array([CERTAIN, CERTAIN, 0, 0, CERTAIN, CERTAIN // 2])
    kept = source.binomial(counts, chances)
    assert kept[:5].tolist() == [0, 1, 0, 0, 10**12]
    assert source.binomial(counts, CERTAIN).tolist() == counts.tolist()
    assert source.binomial(counts, 0).tolist() == [0] * 6
    assert source.bernoulli([0, CERTAIN] * 500).tolist() == [False, True] * 500


def test_shapes(source: Noise) -> None:
    """Results have the broadcast shape, scalars and empty arrays included."""
    half = CERTAIN // 2
    assert source.binomial(np.full((3, 4), 9), half).shape == (3, 4)
    assert source.binomial(np.full((3, 1), 9), np.full((1, 5), half)).shape == (3, 5)
    assert source.binomial(9, half).shape == ()
    assert source.binomial([], half).shape == (0,)
    assert source.binomial(np.zeros((0, 4), np.int64), half).shape == (0, 4)
    assert source.bernoulli(np.full((2, 3), half)).shape == (2, 3)
    assert source.bernoulli([]).dtype == np.bool_
    assert source.laplace([], sensitivity=1, epsilon=Fraction(1)).shape == (0,)
    assert source.laplace(np.zeros(5, np.int8), sensitivity=1, epsilon=Fraction(1)).dtype == np.int64


def test_arguments_are_left_as_they_are(source: Noise) -> None:
    """No draw writes into the arrays it was given."""
    counts, chances = np.full(50, 1000), np.full(50, CERTAIN // 3)
    counts.flags.writeable = chances.flags.writeable = False
    source.binomial(counts, chances)
    source.bernoulli(chances)
    source.laplace(counts, sensitivity=1, epsilon=Fraction(1, 100))
    assert (counts == 1000).all()
    assert (chances == CERTAIN // 3).all()


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw of 10⁹ coins has at most 2 MB of random words at a time, and 16 MB in all."""
    source, requested = SecureNoise(), list[int]()
    draw = source._words

    def counted(count: int) -> NDArray[np.uint64]:
        requested.append(count)
        return draw(count)

    monkeypatch.setattr(source, "_words", counted)
    tracemalloc.start()
    try:
        kept = int(source.binomial(10**9, CERTAIN // 3))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0 < kept < 10**9
    assert max(requested) * 8 <= 2 * 2**20
    assert sum(requested) * 64 < 2.2 * 10**9  # about two bits per coin
    assert peak < 16 * 2**20
