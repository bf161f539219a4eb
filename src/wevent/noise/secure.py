"""Draws the noise that protects people: AES-256-CTR bits keyed by the operating system, and OpenDP's Laplace noise."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from wevent.errors import InvalidSetting
from wevent.noise.source import Noise


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
        self._owner = os.getpid()  # the process that may use the stream; a forked child takes a new one
        self._stream: CipherContext = Cipher(AES(os.urandom(32)), CTR(os.urandom(16))).encryptor()

    def _words(self, count: int) -> NDArray[np.uint64]:
        if os.getpid() != self._owner:
            self.rekey()
        bits = np.empty(count + 2, np.uint64)  # the cipher needs room for one block more
        self._stream.update_into(bytes(8 * count), bits.data.cast("B"))
        return bits[:count]

    def _add_laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return np.array(_measurement(scale)(values.tolist()), dtype=np.int64)

    def __reduce__(self) -> tuple[type[SecureNoise], tuple[()]]:
        return type(self), ()

    def __repr__(self) -> str:
        return "SecureNoise()"


@lru_cache(maxsize=64)  # measuring change needs the same one in every slot
def _measurement(scale: float) -> Callable[[list[int]], list[int]]:
    """OpenDP's discrete Laplace noise for vectors of integers."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64)
    built = dp.m.make_laplace(*space, scale)
    # The loss is linear in the distance. OpenDP rounds it up by itself: the proof is `round_up`, not this.
    if not built.map(1) <= (1 + 1e-9) / scale:  # type: ignore[no-untyped-call]
        raise InvalidSetting("opendp rates its Laplace noise above 1/scale; install another version of it")
    return built
