"""Reads people and their requirements from a DataFrame, one row each."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from wevent.cohorts.requirement import Dynamic, Fixed, Requirement
from wevent.errors import InvalidRequirement
from wevent.events.frames import DataFrame, read_column


def people_of_frame(
    frame: DataFrame, user: str, epsilon: str, window: str, backward_epsilon: str | None, backward_window: str | None
) -> Iterator[tuple[Hashable, Requirement]]:
    """Users with their requirements, by the names of the columns (`Register.from_frame`)."""
    users, forward = read_column(frame, user), [read_column(frame, name) for name in (epsilon, window)]
    backward = [
        [None] * len(users) if name is None else read_column(frame, name, optional=True)
        for name in (backward_epsilon, backward_window)
    ]
    known: dict[tuple[Any, ...], Requirement] = {}
    for name, *terms in zip(users, *forward, *backward, strict=True):
        key = tuple(terms)
        if key not in known:
            known[key] = _requirement(*terms)
        yield name, known[key]


def _requirement(epsilon: Any, window: Any, backward_epsilon: Any, backward_window: Any) -> Requirement:
    if (backward_epsilon is None) != (backward_window is None):
        raise InvalidRequirement("a backward side needs both an epsilon and a window")
    if backward_epsilon is None:
        return Fixed(epsilon, window)
    return Dynamic((epsilon, window), (backward_epsilon, backward_window))
