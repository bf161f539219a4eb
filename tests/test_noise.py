"""Claims of `wevent.noise` that do not need statistics: exact bits, exact rounding, refusals, streams."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import subprocess
import sys
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from wevent import noise
from wevent.errors import InvalidSetting, NotWhole, WeventError, WrongShape
from wevent.noise import PROBABILITY_BITS, Noise, SecureNoise, SeededNoise, StudyNoise, round_up

CERTAIN = 2**PROBABILITY_BITS
SOURCES: dict[str, Callable[[], Noise]] = {
    "secure": SecureNoise,
    "seeded": lambda: SeededNoise(7),
    "study": lambda: StudyNoise(7),
}


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> Noise:
    return SOURCES[request.param]()


class Scripted(Noise):
    """Draws the words of a script, so that a draw can be checked bit by bit; keeps the Laplace scale."""

    seeded = True

    def __init__(self, script: Iterable[int] = ()) -> None:
        self.script: Iterator[int] = iter(script)
        self.scale = 0.0

    def rekey(self) -> None: ...

    def _words(self, count: int) -> NDArray[np.uint64]:
        return np.array([next(self.script) for _ in range(count)], dtype=np.uint64)

    def _add_laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        self.scale = scale
        return values


def words(source: Noise, count: int = 4) -> list[int]:
    return [int(word) for word in source._words(count)]


# The scale is rounded up, and no further than needed.


@given(st.integers(1, 10**11), st.integers(1, 1000))
def test_scale_covers_budget(threshold: int, sensitivity: int) -> None:
    """A draw for T units has scale·T ≥ s·10⁹ in integers, and the double below breaks that."""
    source = Scripted()
    source.laplace([0], sensitivity=sensitivity, epsilon=Fraction(threshold, 10**9))
    scale = source.scale
    assert scale == round_up(sensitivity / Fraction(threshold, 10**9))
    assert Fraction(scale) * threshold >= sensitivity * 10**9
    assert Fraction(math.nextafter(scale, -math.inf)) * threshold < sensitivity * 10**9


@given(st.fractions(min_value=Fraction(1, 10**400), max_value=10**300).filter(lambda scale: scale > 0))
def test_round_up_is_least(scale: Fraction) -> None:
    """The result is the least double that is not below the scale."""
    rounded = round_up(scale)
    assert Fraction(rounded) >= scale
    assert Fraction(math.nextafter(rounded, -math.inf)) < scale


@given(st.floats(min_value=5e-324, max_value=1e300))
def test_round_up_keeps_doubles(double: float) -> None:
    """A scale that is a double stays; one a hair above becomes the next double."""
    assert round_up(Fraction(double)) == double
    assert round_up(Fraction(double) + Fraction(1, 10**700)) == math.nextafter(double, math.inf)


def test_round_up_at_the_ends() -> None:
    """The largest double is reached, nothing above it; below the least one the result is the least one."""
    largest = Fraction(sys.float_info.max)
    assert round_up(largest) == sys.float_info.max
    for above in (largest + 1, largest * 2, Fraction(10**400)):
        with pytest.raises(InvalidSetting, match="largest double"):
            round_up(above)
    assert round_up(Fraction(1, 10**400)) == 5e-324


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1, 3)])
def test_round_up_refuses_what_is_not_positive(scale: Fraction) -> None:
    """A scale that is not above 0 is refused."""
    with pytest.raises(InvalidSetting, match="above 0"):
        round_up(scale)


@pytest.mark.parametrize("scale", [math.inf, math.nan, 0.0, 1.5, 2, None, "1/3"])
def test_round_up_refuses_what_is_not_exact(scale: Any) -> None:
    """A scale that is not a Fraction is refused."""
    with pytest.raises(NotWhole, match="exact Fraction"):
        round_up(scale)


# Coins are exact, bit by bit.


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
    """However the words are cut into blocks, the same stream gives the same draw."""
    counts = np.array([0, 1, 63, 64, 65, 127, 128, 129, 1000, 0, 5, 700, 64, 3])
    chances = np.arange(1, 15) * (CERTAIN // 16) + 12345
    whole = SeededNoise(3).binomial(counts, chances)
    monkeypatch.setattr(noise, "_BLOCK_WORDS", block)
    assert SeededNoise(3).binomial(counts, chances).tolist() == whole.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, CERTAIN)), max_size=30),
    st.sampled_from(sorted(SOURCES)),
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
    """A draw of 10⁹ coins holds at most 2 MB of random words at a time, and 16 MB in all."""
    source, asked = SecureNoise(), list[int]()
    draw = source._words

    def counted(count: int) -> NDArray[np.uint64]:
        asked.append(count)
        return draw(count)

    monkeypatch.setattr(source, "_words", counted)
    tracemalloc.start()
    try:
        kept = int(source.binomial(10**9, CERTAIN // 3))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0 < kept < 10**9
    assert max(asked) * 8 <= 2 * 2**20
    assert sum(asked) * 64 < 2.2 * 10**9  # about two bits per coin
    assert peak < 16 * 2**20


# Only whole numbers and exact budgets.

SECRET = 918273645
FRACTIONAL: list[Any] = [
    np.array([float(SECRET)]),
    np.array([True]),
    np.array([SECRET], dtype=object),
    np.array([SECRET], dtype=np.uint64),
    np.array(["918273645"]),
    np.array([SECRET], dtype="m8[s]"),
    [float(SECRET)],
    [SECRET, True],
    [np.True_],
    [Fraction(SECRET)],
    [2**63],
    [np.uint64(2**63)],
    [[SECRET], [SECRET, 1]],
    None,
]


@contextmanager
def refused(kind: type[WeventError], name: str) -> Iterator[None]:
    """What happens inside is refused in this way; the message names the argument and shows no value."""
    with pytest.raises(kind, match=name) as caught:
        yield
    said = str(caught.value) + repr(caught.value.fields)
    assert str(SECRET) not in said
    assert str(2**63) not in said


@pytest.mark.parametrize("wrong", FRACTIONAL)
def test_only_whole_numbers(source: Noise, wrong: Any) -> None:
    """Floats (whole ones too), truth values, objects and numbers beyond int64 are refused everywhere."""
    with refused(NotWhole, "values"):
        source.laplace(wrong, sensitivity=1, epsilon=Fraction(1))
    with refused(NotWhole, "counts"):
        source.binomial(wrong, 1)
    with refused(NotWhole, "probabilities"):
        source.binomial(1, wrong)
    with refused(NotWhole, "probabilities"):
        source.bernoulli(wrong)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, ">i8"])
def test_every_integer_type_that_fits(source: Noise, dtype: Any) -> None:
    """Integer types that fit int64 are taken at their value, and so are Python ints."""
    values = np.array([3, 100], dtype=dtype)
    assert source.binomial(values, CERTAIN).tolist() == [3, 100]
    assert source.laplace(values, sensitivity=1, epsilon=Fraction(10**6)).tolist() == [3, 100]
    assert source.laplace([3, 100], sensitivity=1, epsilon=Fraction(10**6)).tolist() == [3, 100]


@pytest.mark.parametrize("sensitivity", [1.0, 0.5, True, Fraction(1), np.float64(1), np.True_, "1", None])
def test_sensitivity_is_an_int(source: Noise, sensitivity: Any) -> None:
    """A sensitivity that is not an int is refused."""
    with refused(NotWhole, "sensitivity"):
        source.laplace([SECRET], sensitivity=sensitivity, epsilon=Fraction(1))


@pytest.mark.parametrize("epsilon", [1.0, 1, True, np.int64(1), "1", None])
def test_epsilon_is_a_fraction(source: Noise, epsilon: Any) -> None:
    """An epsilon that is not an exact Fraction is refused."""
    with refused(NotWhole, "epsilon"):
        source.laplace([SECRET], sensitivity=1, epsilon=epsilon)


@pytest.mark.parametrize("sensitivity", [0, -1])
def test_sensitivity_is_at_least_one(source: Noise, sensitivity: int) -> None:
    """A sensitivity below 1 is refused."""
    with refused(InvalidSetting, "sensitivity"):
        source.laplace([SECRET], sensitivity=sensitivity, epsilon=Fraction(1))


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1)])
def test_epsilon_is_positive(source: Noise, epsilon: Fraction) -> None:
    """An epsilon that is not above 0 is refused."""
    with refused(InvalidSetting, "epsilon"):
        source.laplace([SECRET], sensitivity=1, epsilon=epsilon)


def test_counts_are_not_negative(source: Noise) -> None:
    """A single negative count among others is refused."""
    with refused(InvalidSetting, "counts"):
        source.binomial([5, -SECRET], 1)


@pytest.mark.parametrize("probability", [-1, -SECRET, CERTAIN + 1, CERTAIN + SECRET])
def test_probabilities_are_in_range(source: Noise, probability: int) -> None:
    """Probabilities below 0 or above 2⁶² are refused."""
    with refused(InvalidSetting, "probabilities"):
        source.binomial([5, 5], [1, probability])
    with refused(InvalidSetting, "probabilities"):
        source.bernoulli([1, probability])


@pytest.mark.parametrize("values", [SECRET, [[SECRET]], np.array([[SECRET]])])
def test_laplace_takes_one_axis(source: Noise, values: Any) -> None:
    """Scalars and tables are refused by the Laplace noise."""
    with refused(WrongShape, "values"):
        source.laplace(values, sensitivity=1, epsilon=Fraction(1))


def test_shapes_must_broadcast(source: Noise) -> None:
    """Counts and probabilities of shapes that do not fit are refused."""
    with refused(WrongShape, "counts"):
        source.binomial(np.full(3, SECRET), [1, 1])


def test_sums_stop_at_the_ends(source: Noise) -> None:
    """Noise never wraps around: a sum outside int64 becomes the nearest int64."""
    ends = np.iinfo(np.int64)
    noisy = source.laplace(np.repeat([ends.max, ends.min], 100), sensitivity=1, epsilon=Fraction(1, 1000))
    assert (noisy[:100] > ends.max - 10**6).all()
    assert (noisy[100:] < ends.min + 10**6).all()
    assert (noisy == np.repeat([ends.max, ends.min], 100)).any()


# Whose bits they are.


def test_known_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bits are AES-256-CTR under 32 + 16 bytes of the operating system and nothing else."""
    asked = list[int]()

    def zeros(size: int) -> bytes:
        asked.append(size)
        return bytes(size)

    monkeypatch.setattr(os, "urandom", zeros)
    source = SecureNoise()
    first = source._words(2).tobytes()
    assert first.hex() == "dc95c078a2408989ad48a21492842087"  # AES-256 of a zero block under the zero key
    assert source._words(2).tobytes() != first
    source.rekey()
    assert source._words(2).tobytes() == first
    assert asked == [32, 16, 32, 16]


def test_streams_do_not_repeat() -> None:
    """Two objects, two reads and a re-keyed object all draw different bits."""
    one, other = SecureNoise(), SecureNoise()
    drawn = [words(one), words(other), words(one)]
    one.rekey()
    drawn.append(words(one))
    assert len({tuple(bits) for bits in drawn}) == len(drawn)


def in_child(call: Callable[[], list[Any]]) -> list[Any]:
    """What the call gives in a forked child."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside idle worker threads
        child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(call()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said: list[Any] = json.loads(pipe.read())
    os.waitpid(child, 0)
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_fork_parts_the_streams() -> None:
    """Parent and children never draw the same bits or the same Laplace noise after a fork."""
    source = SecureNoise()

    def draw() -> list[list[int]]:
        noisy = source.laplace([0] * 4, sensitivity=1, epsilon=Fraction(1, 10**12))
        return [words(source), noisy.tolist()]

    everyone = [draw(), in_child(draw), in_child(draw), draw()]
    assert len({tuple(bits) for bits, _ in everyone}) == 4
    assert len({tuple(noisy) for _, noisy in everyone}) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_child_keeps_its_key() -> None:
    """A child is re-keyed once, not at every draw: its stream goes on."""
    source = SecureNoise()

    def keyed() -> list[bool]:
        inherited, first = source._stream, words(source)
        own, second = source._stream, words(source)
        return [own is not inherited, own is source._stream, first != second]

    assert in_child(keyed) == [True, True, True]


def pickled(source: SecureNoise) -> SecureNoise:
    other: SecureNoise = pickle.loads(pickle.dumps(source))  # noqa: S301
    return other


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_copies_have_their_own_stream(copied: Callable[[SecureNoise], SecureNoise]) -> None:
    """A copy or an unpickled secure source never repeats the bits of the original."""
    source = SecureNoise()
    words(source)
    other = copied(source)
    assert type(other) is SecureNoise
    assert words(other) != words(source)


def test_no_key_in_words_or_pickles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the repr nor the pickle holds the key, and two sources look alike."""
    monkeypatch.setattr(os, "urandom", lambda size: b"K" * size)
    source = SecureNoise()
    assert b"KKKK" not in pickle.dumps(source)
    assert pickle.dumps(source) == pickle.dumps(SecureNoise())
    assert repr(source) == "SecureNoise()"


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


def test_which_is_which() -> None:
    """Only the seeded source says that it is seeded; its repr warns and does not show the seed."""
    assert SeededNoise.seeded
    assert not SecureNoise.seeded
    shown = repr(SeededNoise(SECRET))
    assert "seeded" in shown
    assert "not private" in shown
    assert str(SECRET) not in shown


@pytest.mark.parametrize(("seed", "kind"), [(1.0, NotWhole), (True, NotWhole), (None, NotWhole), (-1, InvalidSetting)])
def test_seed_is_an_int(seed: Any, kind: type[WeventError]) -> None:
    """A seed is an int, at least 0; in particular it is never left out."""
    with pytest.raises(kind):
        SeededNoise(seed)


# OpenDP is behind it.


def test_measurements_are_kept_and_bounded() -> None:
    """The measurement of one scale is built once, and not more than 64 are kept."""
    noise._measurement.cache_clear()
    for _ in range(5):
        SecureNoise().laplace([1], sensitivity=3, epsilon=Fraction(7, 10))
    assert noise._measurement.cache_info().misses == 1
    assert noise._measurement.cache_info().maxsize == 64


def test_underrated_noise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement that OpenDP itself rates above 1/scale is refused, and not kept."""
    import opendp.prelude as dp

    make: Callable[..., Any] = dp.m.make_laplace
    monkeypatch.setattr(dp.m, "make_laplace", lambda domain, metric, scale: make(domain, metric, scale * 0.99))
    noise._measurement.cache_clear()
    for _ in range(2):
        with refused(InvalidSetting, "opendp"):
            SecureNoise().laplace([SECRET], sensitivity=2, epsilon=Fraction(1))
    assert noise._measurement.cache_info().currsize == 0


def test_importing_does_no_work() -> None:
    """Importing the module does not load OpenDP."""
    code = "import sys, wevent.noise; sys.exit('opendp' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0
