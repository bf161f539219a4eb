"""All randomness of the package: whole numbers and exact budgets come in, noisy whole numbers go out.

`SecureNoise` protects people: its bits are an AES-256-CTR keystream keyed by the operating system, its
Laplace noise is OpenDP's. `SeededNoise` repeats itself, for tests and the study. Both toss coins by the same
integer code. Larger counts take longer, which a constant delay of the release has to hide (SPEC §8).
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import ArrayLike, NDArray

from wevent.errors import InvalidSetting, NotWhole, WrongShape

PROBABILITY_BITS = 62
"""Probabilities are whole multiples of 2⁻⁶²."""

_CERTAIN = 1 << PROBABILITY_BITS
_SMALL = 2**50  # values and scales up to here cannot leave int64: noise of 2¹² scales never occurs
_BLOCK_WORDS = 1 << 18  # random words of 8 bytes that a binomial draw holds at a time


def round_up(scale: Fraction) -> float:
    """The least double that is not below an exact scale.

    Guarantees:
        The exact value of the result is at least `scale`; that of the next double below is less.
        A scale that is not a `Fraction` raises `NotWhole`; one that is not above 0, or is above the largest
        double, raises `InvalidSetting`.
    """
    exact = _positive(scale, "the noise scale")
    try:
        near = float(exact)
        while Fraction(near) < exact:
            near = math.nextafter(near, math.inf)
    except OverflowError:  # from float(), or from the exact value of infinity
        raise InvalidSetting("the noise scale is above the largest double; enlarge epsilon") from None
    while Fraction(below := math.nextafter(near, 0.0)) >= exact:
        near = below
    return near


class Noise(ABC):
    """Exact integer algorithms over random bits, which a subclass supplies."""

    seeded: ClassVar[bool]
    """Whether the draws repeat for a seed; such noise protects nobody."""

    @abstractmethod
    def rekey(self) -> None:
        """Begin a new stream of bits; called at the start of every slot."""

    @abstractmethod
    def _words(self, count: int) -> NDArray[np.uint64]:
        """Fresh random words, in an array that the caller may overwrite."""

    @abstractmethod
    def _add_laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Values plus discrete Laplace noise, stopped at the ends of int64."""

    def laplace(self, values: ArrayLike, *, sensitivity: int, epsilon: Fraction) -> NDArray[np.int64]:
        """Add independent discrete Laplace noise of scale `round_up(sensitivity / epsilon)` to each element.

        Args:
            values: Whole numbers, axis: cell.
            sensitivity: The most, in sum over all cells, by which neighbours can differ.
            epsilon: The exact budget of this draw.

        Guarantees:
            Noise k has probability (1 - q) / (1 + q) · q^|k|, q = exp(-1 / scale), in each element
            independently: exactly with `SecureNoise`, up to the errors of doubles with `SeededNoise`.
            A sum outside int64 becomes the nearest int64; `values` itself is left as it is.
            Values that are not integers (whole floats, truth values and objects included), a sensitivity
            that is not an int and an epsilon that is not a `Fraction` raise `NotWhole`; a sensitivity below 1
            and an epsilon not above 0 raise `InvalidSetting`. No message shows a value.
        """
        given = _whole(values, "values")
        if given.ndim != 1:
            raise WrongShape(f"values must have one axis, the cells, got {given.ndim}. Nothing was drawn.")
        exact = _positive(epsilon, "epsilon")
        scale = _scale(_integer(sensitivity, "sensitivity", least=1), exact.numerator, exact.denominator)
        return self._add_laplace(given, scale)

    def binomial(self, counts: ArrayLike, probabilities: ArrayLike) -> NDArray[np.int64]:
        """Keep each of `counts` things with its probability, and count the kept ones.

        Every thing compares its own uniform 62-bit number with the probability, highest bit first. Of k
        things that agree so far, the popcount of k random bits have 0 as their next bit. If the bit of the
        probability is 1 these are below it, so kept, and the others stay undecided; if it is 0 these stay
        undecided and the others are above it. That takes about two random bits per thing.

        Args:
            counts: Whole numbers, at least 0.
            probabilities: Whole numbers of 2⁻⁶², from 0 to 2⁶²; they broadcast against `counts`.

        Guarantees:
            Element i is an exact Binomial(counts[i], probabilities[i] / 2⁶²) draw, independent of the others.
            The result has the broadcast shape; probability 0 keeps nothing and 2⁶² keeps everything.
            At most 2 MB of random words exist at a time, whatever the counts.
            Floats, truth values and objects raise `NotWhole`, numbers out of range `InvalidSetting`, shapes
            that do not broadcast `WrongShape`. No message shows a value.
        """
        things, chances = _whole(counts, "counts"), _chances(probabilities)
        if things.size and things.min() < 0:
            raise InvalidSetting("counts must be at least 0, and not all of them are. Nothing was drawn.")
        try:
            np.broadcast_shapes(things.shape, chances.shape)
        except ValueError:
            got = f"{things.shape} and {chances.shape}"
            raise WrongShape(f"shapes of counts and probabilities must broadcast, got {got}") from None
        return self._keep(things, chances)

    def _keep(self, things: NDArray[np.int64], chances: NDArray[np.int64]) -> NDArray[np.int64]:
        """The binomial draw itself, for arrays that broadcast."""
        things, chances = np.broadcast_arrays(things, chances)
        kept = np.where(chances == _CERTAIN, things, 0).ravel()
        undecided, rest = things.ravel(), chances.ravel() & (_CERTAIN - 1)
        place = np.arange(kept.size)
        # Once the rest of the probability is 0, nothing that agrees so far can be below it.
        while (live := (undecided > 0) & (rest > 0)).any():
            place, undecided, rest = place[live], undecided[live], rest[live]
            low = self._heads(undecided)
            one = rest >= _CERTAIN >> 1
            kept[place] += low * one
            undecided = np.where(one, undecided - low, low)
            rest = (rest << 1) & (_CERTAIN - 1)
        return kept.reshape(things.shape)

    def bernoulli(self, probabilities: ArrayLike) -> NDArray[np.bool_]:
        """Toss one coin per element of `probabilities`, whole numbers of 2⁻⁶² from 0 to 2⁶².

        Guarantees:
            Element i is True with probability exactly probabilities[i] / 2⁶², independent of the others.
            The result has the shape of `probabilities`; refusals are those of `binomial`.
        """
        chances = _chances(probabilities)
        drawn = self._words(chances.size).reshape(chances.shape) >> np.uint64(64 - PROBABILITY_BITS)
        return np.asarray(drawn < chances.astype(np.uint64))

    def _heads(self, coins: NDArray[np.int64]) -> NDArray[np.int64]:
        """Binomial(coins, 1/2) for each element, all at least 1: the popcount of so many random bits."""
        words = ((coins - 1) >> 6) + 1  # every element begins at a word of its own
        ends = np.cumsum(words)
        starts = ends - words
        masks = np.uint64(2**64 - 1) >> (-coins & 63).astype(np.uint64)
        heads = np.zeros_like(coins)
        for first in range(0, int(ends[-1]), _BLOCK_WORDS):
            last = min(first + _BLOCK_WORDS, int(ends[-1]))
            i, j = np.searchsorted(ends, first, "right"), np.searchsorted(starts, last, "left")
            closed = j - int(ends[j - 1] > last)  # the last element may go on in the next block
            bits = self._words(last - first)
            bits[ends[i:closed] - 1 - first] &= masks[i:closed]
            ones = np.bitwise_count(bits)
            heads[i:j] += np.add.reduceat(ones, np.maximum(starts[i:j] - first, 0), dtype=np.int64)
        return heads


class SecureNoise(Noise):
    """The noise that protects people, from the operating system's entropy.

    Guarantees:
        Every object, and every `rekey`, draws a fresh key and nonce from the operating system.
        After a fork, parent and child draw different bits and different Laplace noise.
        A copy or an unpickled one draws its own bits; neither the pickle nor the repr holds a key.
        Laplace noise that OpenDP itself rates above 1/scale is refused with `InvalidSetting`.
    """

    seeded: ClassVar[bool] = False

    def __init__(self) -> None:
        self.rekey()

    def rekey(self) -> None:
        """Begin a new stream of bits; OpenDP's generator is not ours and reseeds by its own rules."""
        self._owner = os.getpid()
        self._stream: CipherContext = Cipher(AES(os.urandom(32)), CTR(os.urandom(16))).encryptor()

    def _words(self, count: int) -> NDArray[np.uint64]:
        if os.getpid() != self._owner:
            self.rekey()
        bits = np.empty(count + 2, np.uint64)  # the cipher asks for room for one block more
        self._stream.update_into(bytes(8 * count), bits.data.cast("B"))
        return bits[:count]

    def _add_laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return np.array(_measurement(scale)(values.tolist()), dtype=np.int64)

    def __reduce__(self) -> tuple[type[SecureNoise], tuple[()]]:
        return type(self), ()

    def __repr__(self) -> str:
        return "SecureNoise()"


class SeededNoise(Noise):
    """Noise that repeats for a seed, for tests and the study: it protects nobody.

    Its coins are exact; its Laplace noise is the difference of two geometric variables, in doubles.

    Guarantees:
        The same seed and the same calls give the same draws; `rekey` changes nothing.
        The repr says that it is seeded and not private, and does not show the seed.
        A seed that is not an int raises `NotWhole`, a negative one `InvalidSetting`.
    """

    seeded: ClassVar[bool] = True

    def __init__(self, seed: int) -> None:
        self._random = np.random.Generator(np.random.Philox(_integer(seed, "seed", least=0)))

    def rekey(self) -> None:
        """Do nothing: a seeded stream goes on, so that a study can be repeated."""

    def _words(self, count: int) -> NDArray[np.uint64]:
        return self._random.integers(0, 2**64 - 1, size=count, dtype=np.uint64, endpoint=True)

    def _add_laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        more, less = self._random.geometric(-math.expm1(-1 / scale), size=(2, values.size))
        noise = more - less
        if scale > _SMALL or (values.size and max(abs(int(values.min())), abs(int(values.max()))) > _SMALL):
            ends = np.iinfo(np.int64)
            noise = np.clip(noise, ends.min - np.minimum(values, 0), ends.max - np.maximum(values, 0))
        return np.asarray(values + noise, dtype=np.int64)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(seeded, not private: for tests and study)"


class StudyNoise(SeededNoise):
    """Seeded noise for long studies: its binomial draws are numpy's, quick and in doubles.

    Guarantees:
        Its draws follow the laws of `SeededNoise`, up to the errors of doubles.
    """

    def _keep(self, things: NDArray[np.int64], chances: NDArray[np.int64]) -> NDArray[np.int64]:
        chances_in_doubles = np.ldexp(chances.astype(np.float64), -PROBABILITY_BITS)
        return np.asarray(self._random.binomial(things, chances_in_doubles), dtype=np.int64)


@lru_cache(maxsize=64)
def _scale(sensitivity: int, numerator: int, denominator: int) -> float:
    """The scale of s/epsilon, rounded up; measuring change asks for the same one in every slot."""
    return round_up(Fraction(sensitivity * denominator, numerator))


@lru_cache(maxsize=64)
def _measurement(scale: float) -> Callable[[list[int]], list[int]]:
    """OpenDP's discrete Laplace for whole vectors; measuring change asks for the same one in every slot."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64)
    built = dp.m.make_laplace(*space, scale)
    # The loss is linear in the distance. OpenDP rounds it up by itself: the proof is `round_up`, not this.
    if not built.map(1) <= (1 + 1e-9) / scale:  # type: ignore[no-untyped-call]
        raise InvalidSetting("opendp rates its Laplace noise above 1/scale; install another version of it")
    return built


def _whole(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Integer arrays and sequences of ints as int64; nothing is ever rounded."""
    got: np.dtype[Any] | str
    if isinstance(values, np.ndarray):
        given, got = np.asarray(values), values.dtype
        whole = given.dtype.kind in "iu" and np.can_cast(given.dtype, np.int64)
    else:
        given, got = np.asarray(values, dtype=object), type(values).__name__
        whole = all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in given.flat)
    try:
        if whole:
            return given.astype(np.int64, copy=False)
    except OverflowError:
        got = "larger ones"
    got = f"dtype {got}" if isinstance(got, np.dtype) else got
    raise NotWhole(f"{name} must be integers that fit int64, got {got}. Nothing was drawn.", got=got)


def _chances(probabilities: ArrayLike) -> NDArray[np.int64]:
    chances = _whole(probabilities, "probabilities")
    if chances.size and (chances.min() < 0 or chances.max() > _CERTAIN):
        raise InvalidSetting(f"probabilities must be from 0 to 2**{PROBABILITY_BITS}. Nothing was drawn.")
    return chances


def _integer(value: object, name: str, *, least: int) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        got = type(value).__name__
        raise NotWhole(f"{name} must be an int, at least {least}, got {got}. Nothing was drawn.", got=got)
    if value < least:
        raise InvalidSetting(f"{name} must be at least {least}, and is below. Nothing was drawn.")
    return int(value)


def _positive(value: object, name: str) -> Fraction:
    if not isinstance(value, Fraction):
        got = type(value).__name__
        raise NotWhole(f"{name} must be an exact Fraction above 0, got {got}. Nothing was drawn.", got=got)
    if value <= 0:
        raise InvalidSetting(f"{name} must be above 0, and is not. Nothing was drawn.")
    return value
