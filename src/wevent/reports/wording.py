"""Says in plain words what a stream began with, for people who do not read configuration files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wevent.units import show

_LABELS = {
    "slots.width": "length of a slot",
    "slots.origin": "slots lie on a grid through",
    "slots.first": "the first slot holds",
    "slots.closing": "slots are closed by",
    "slots.lateness": "a slot waits for late events",
    "slots.ahead": "an event may be dated ahead by",
    "cells": "places that are counted",
    "cells.other": "events elsewhere are counted under",
    "people.one_cell": "which place counts for a person who is in several within a slot",
    "people.presence": "how long a person counts as present",
    "people.carry": "slots in which one event counts",
    "people.group": "people who are not listed",
    "people.shared": "people may be in other streams of the store",
    "privacy.mechanism": "mechanism",
    "privacy.estimator": "how people with different budgets are counted together",
    "privacy.neighbours": "what two neighbouring streams differ in",
    "privacy.infeasible": "a requirement that cannot be met",
    "privacy.rest": "whose rest counts",
    "privacy.history_slots": "slots that are remembered at least",
    "privacy.limits": "what may be required",
    "levels.epsilons": "levels of epsilon",
    "levels.windows": "levels of windows",
}

_LIMITS = {
    "epsilon": "epsilon at most {}",
    "window": "windows of at most {} slots",
    "share_ratio": "the largest epsilon per slot at most {} times the least",
    "least_share": "epsilon per slot at least {}",
}

_MOST = 300


def settings_in_words(settings: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Every setting: what it is, its name in the configuration, and its value in words."""
    for key, value in sorted(settings.items()):
        words = _value(key, value)
        yield _LABELS.get(key, key), key, words if len(words) <= _MOST else f"{words[: _MOST - 1]}…"


def _value(key: str, value: Any) -> str:
    if key == "people.group":
        if value is None:
            return "are not counted"
        epsilon = show(int(value["epsilon_units"]))
        return f"up to {value['size']:,} are counted, each with epsilon {epsilon} over {value['window']} slots"
    if key == "cells" and isinstance(value, dict):
        west, east, south, north = (value.get(side) for side in ("west", "east", "south", "north"))
        fields = f"{value.get('columns')} columns and {value.get('rows')} rows"
        return f"a grid of {fields}, longitude {west} to {east}, latitude {south} to {north}"
    if key == "privacy.limits" and isinstance(value, dict):
        return "; ".join(_LIMITS.get(name, f"{name} {{}}").format(limit) for name, limit in value.items())
    if key == "levels.windows" and isinstance(value, dict):
        return _plain({name: f"{slots} slots" for name, slots in value.items()})
    return _plain(value)


def _plain(value: Any) -> str:
    if value is None or value in ({}, [], ""):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_plain(part)}" for name, part in value.items())
    if isinstance(value, (list, tuple)):
        return f"{len(value):,}: {', '.join(map(_plain, value))}" if len(value) > 1 else _plain(value[0])
    return str(value)
