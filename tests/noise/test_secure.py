"""Secure noise: every stream of bits is its own, and OpenDP draws the Laplace noise."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from tests.noise.sources import SECRET, refused, words

from wevent.errors import InvalidSetting
from wevent.noise import SecureNoise, secure


def test_known_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bits are AES-256-CTR under 32 + 16 bytes of the operating system and nothing else."""
    requested = list[int]()

    def zeros(size: int) -> bytes:
        requested.append(size)
        return bytes(size)

    monkeypatch.setattr(os, "urandom", zeros)
    source = SecureNoise()
    first = source._words(2).tobytes()
    assert first.hex() == "dc95c078a2408989ad48a21492842087"  # AES-256 of a zero block under the zero key
    assert source._words(2).tobytes() != first
    source.rekey()
    assert source._words(2).tobytes() == first
    assert requested == [32, 16, 32, 16]


def test_streams_do_not_repeat() -> None:
    """Two objects, two reads and a re-keyed object all draw different bits."""
    first, second = SecureNoise(), SecureNoise()
    drawn = [words(first), words(second), words(first)]
    first.rekey()
    drawn.append(words(first))
    assert len({tuple(bits) for bits in drawn}) == len(drawn)


def in_child(call: Callable[[], list[Any]]) -> list[Any]:
    """The result of the call in a forked child."""
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
        result: list[Any] = json.loads(pipe.read())
    os.waitpid(child, 0)
    return result


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_separates_the_streams() -> None:
    """Parent and children never draw the same bits or the same Laplace noise after a fork."""
    source = SecureNoise()

    def draw() -> list[list[int]]:
        noisy = source.laplace([0] * 4, sensitivity=1, epsilon=Fraction(1, 10**12))
        return [words(source), noisy.tolist()]

    draws = [draw(), in_child(draw), in_child(draw), draw()]
    assert len({tuple(bits) for bits, _ in draws}) == 4
    assert len({tuple(noisy) for _, noisy in draws}) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_child_keeps_its_key() -> None:
    """A child is re-keyed once, not at every draw: its stream continues."""
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


def test_measurements_are_kept_and_bounded() -> None:
    """The measurement of one scale is built once, and not more than 64 are kept."""
    secure._measurement.cache_clear()
    for _ in range(5):
        SecureNoise().laplace([1], sensitivity=3, epsilon=Fraction(7, 10))
    assert secure._measurement.cache_info().misses == 1
    assert secure._measurement.cache_info().maxsize == 64


def test_underrated_noise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement that OpenDP itself rates above 1/scale is refused, and not kept."""
    import opendp.prelude as dp

    make: Callable[..., Any] = dp.m.make_laplace
    monkeypatch.setattr(dp.m, "make_laplace", lambda domain, metric, scale: make(domain, metric, scale * 0.99))
    secure._measurement.cache_clear()
    for _ in range(2):
        with refused(InvalidSetting, "opendp"):
            SecureNoise().laplace([SECRET], sensitivity=2, epsilon=Fraction(1))
    assert secure._measurement.cache_info().currsize == 0


def test_importing_does_no_work() -> None:
    """Importing the module does not load OpenDP."""
    code = "import sys, wevent.noise; sys.exit('opendp' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0
