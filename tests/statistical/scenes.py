"""Neighbouring streams of one person who is present or absent, moves, returns or changes; a `Scene` each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tests.statistical.side_by_side import Between, Scene

from wevent import Dynamic, Fixed, Privacy
from wevent.cohorts.requirement import Requirement

ADD_REMOVE, SUBSTITUTION = Privacy("add_remove"), Privacy("substitution")


def requires(recipe: str, epsilon: float, window: int) -> Requirement:
    """The same requirement, fixed or dynamic as the recipe needs it."""
    if recipe in ("dpbd", "dpba"):
        return Dynamic((epsilon, window), (epsilon, window))
    return Fixed(epsilon, window)


def presence(
    recipe: str,
    epsilon: float,
    others: float,
    counts: Sequence[int],
    *,
    window: int,
    absent: Sequence[int] = (),
    between: Mapping[int, Between] | None = None,
    largest_step: int = 3,
) -> Scene:
    """The target is in no slot, or in all but those of `absent`; `counts` others are present in each slot."""
    registered = max(1, *counts)

    def rows(target: int) -> list[list[int]]:
        return [
            [-1 if slot in absent else target] + [0] * count + [-1] * (registered - count)
            for slot, count in enumerate(counts, start=1)
        ]

    people = [requires(recipe, epsilon, window)] + [requires(recipe, others, window)] * registered
    return Scene(recipe, people, (rows(-1), rows(0)), between=between or {}, largest_step=largest_step)


def strict(recipe: str) -> Scene:
    """Two slots of a person who offers less than the others and is therefore sampled. Promise 2."""
    return presence(recipe, 2, 3, [1, 3], window=2)


def lenient(recipe: str) -> Scene:
    """Two slots of a person who is always kept. Promise 4."""
    return presence(recipe, 4, 4, [1, 3], window=2)


def moved_by(privacy: Privacy) -> Callable[[str], Scene]:
    """A person in cell A, or in cell B, for two slots. Promise 8 for add_remove, 4 for substitution."""

    def moved(recipe: str) -> Scene:
        in_a, in_b = ([[cell, 0, 0, 0], [cell, 0, 1, -1]] for cell in (0, 1))
        return Scene(recipe, [requires(recipe, 4, 2)] * 4, (in_a, in_b), cells=2, privacy=privacy, largest_step=2)

    return moved


def returned(recipe: str) -> Scene:
    """Present, then not registered, then back with a requirement of thrice as much, in one window. Promise 3."""
    between: dict[int, Between] = {
        2: lambda publisher: publisher.leave(0),
        3: lambda publisher: publisher.join(0, requires(recipe, 9, 3)),
    }
    return presence(recipe, 3, 3, [0, 3, 2], window=3, absent=[2], between=between)


def returned_as_another(recipe: str) -> Scene:
    """The same, back under another name, which has no earlier spends. Promise 3, broken."""
    without, with_target = ([[target, -1, -1, -1], [-1, 0, 0, 0], [-1, 0, 0, -1, target]] for target in (-1, 0))
    between: dict[int, Between] = {
        2: lambda publisher: publisher.leave(0),
        3: lambda publisher: publisher.join("another name", requires(recipe, 9, 3)),
    }
    return Scene(recipe, [requires(recipe, 3, 3)] * 4, (without, with_target), between=between)


def empty(recipe: str) -> Scene:
    """A slot without any person, or with one. Promise 3."""
    return presence(recipe, 3, 3, [0], window=1)


def changed(recipe: str) -> Scene:
    """Before the second slot a person requires thrice as much, for single slots. Promise 4 over both slots."""
    more: dict[int, Between] = {2: lambda publisher: publisher.change(0, Dynamic((12, 1), (12, 1)))}
    return presence(recipe, 4, 4, [1, 3], window=2, between=more)
