"""Makes hostile streams: counts (axes: type, slot, cell) and the sizes of types, for a kind and a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
KINDS = ("still", "drift", "jumps", "bursts", "day", "empty")


def stream(kind: str, slots: int, people: int = 4_000, seed: int = 1) -> tuple[Ints, Ints]:
    """Ten types of people who behave alike; in every slot each person is in one cell or absent."""
    random = np.random.default_rng([seed, KINDS.index(kind)])
    shares = _shares(kind, np.arange(slots), random)
    sizes = np.full(10, people // 10)
    all_ = np.concatenate([shares, np.maximum(1 - shares.sum(axis=1, keepdims=True), 0)], axis=1)
    all_ /= all_.sum(axis=1, keepdims=True)
    counts = np.stack([random.multinomial(int(size), all_)[:, :-1] for size in sizes])
    return counts.astype(np.int64), sizes


def _shares(kind: str, t: Ints, random: np.random.Generator) -> NDArray[np.float64]:
    cells = 100 if kind == "empty" else 5
    base = random.dirichlet(np.ones(cells)) * 0.5
    flat = np.repeat(base[None], t.size, axis=0)
    if kind == "drift":
        walk = np.log(base) + np.cumsum(random.normal(0, 0.003, flat.shape), axis=0)
        return 0.7 * np.exp(walk) / np.exp(walk).sum(axis=1, keepdims=True)
    if kind == "jumps":
        part = np.cumsum(random.random(t.size) < 1 / 300)
        return np.asarray(0.8 * random.dirichlet(np.ones(cells), part.max() + 1)[part])
    if kind == "bursts":
        for start in np.flatnonzero(random.random(t.size) < 1 / 250):
            flat[start : start + 20, random.integers(cells)] += 0.2
        return flat / np.maximum(flat.sum(axis=1, keepdims=True), 1)
    if kind == "day":
        return flat * (1 + 0.9 * np.sin(2 * np.pi * (t[:, None] / 96 + random.random(cells))))
    if kind == "empty":
        flat[:, 8:] = 0
        return flat * (1 + 0.5 * np.sin(t / 300))[:, None]
    return flat


def biased(bias: float, slots: int, people: int = 4_000, cells: int = 6, seed: int = 1) -> tuple[Ints, Ints]:
    """Where people are depends on what they require: five types prefer the first cells, five the last."""
    random = np.random.default_rng(seed)
    sizes = np.full(10, people // 10)
    base, slope = random.dirichlet(np.ones(cells) * 3), np.linspace(1, -1, cells)
    day = 0.5 * (1 + 0.2 * np.sin(np.arange(slots) / 150))
    parts = []
    for kind, size in enumerate(sizes):
        share = base * np.exp((bias if kind < 5 else -bias) * slope)
        present = day[:, None] * (share / share.sum())
        all_ = np.concatenate([present, 1 - present.sum(axis=1, keepdims=True)], axis=1)
        parts.append(random.multinomial(int(size), all_)[:, :-1])
    return np.stack(parts).astype(np.int64), sizes
