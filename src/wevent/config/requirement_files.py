"""Reads requirement changes from a file, and single requirements from the words of a command.

An epsilon or a window is a number or the name of a level. No error names a user: it names the line of the file.
"""

from __future__ import annotations

import csv
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

from wevent.cohorts.register import Register
from wevent.cohorts.requirement import BudgetWindow, Dynamic, Fixed, Requirement, check_limits
from wevent.cohorts.requirement_change import RequirementChange
from wevent.config.model import Config
from wevent.config.people import LEAVE
from wevent.errors import InvalidRequirement, Unreadable, WeventError, WrongRequirementKind
from wevent.events.names import to_name
from wevent.mechanisms import RECIPES
from wevent.units import MAX_WINDOW

COLUMNS = ("user", "epsilon", "window")
BACKWARD = ("backward_epsilon", "backward_window")


def parse_requirement(
    config: Config, epsilon: str, window: str, backward_epsilon: str = "", backward_window: str = ""
) -> Requirement | None:
    """Read a requirement from words and check it against the operator's limits.

    Guarantees:
        Words that are neither numbers nor names of levels, and more than the limits allow, raise `InvalidRequirement`.
        Leaving goes with no other words.
        Where the mechanism is dynamic and a backward side is given, the result is dynamic; otherwise it is fixed.
    """
    if epsilon == LEAVE:
        if window or backward_epsilon or backward_window:
            raise InvalidRequirement("a person who leaves requires nothing; leave epsilon and window out")
        return None
    if not epsilon or not window:
        raise InvalidRequirement("a requirement needs an epsilon and a window")
    if bool(backward_epsilon) != bool(backward_window):
        raise InvalidRequirement("a backward side needs both an epsilon and a window")
    required: Requirement = Fixed(_epsilon(config, epsilon), _window(config, window))
    if backward_epsilon:
        back = BudgetWindow(_epsilon(config, backward_epsilon), _window(config, backward_window))
        required = Dynamic(BudgetWindow(_epsilon(config, epsilon), _window(config, window)), back)
    check_requirement(config, required)
    return required


def check_requirement(config: Config, requirement: Requirement) -> None:
    """Raise `InvalidRequirement` for what the stream cannot serve or the operator's limits do not allow."""
    if isinstance(requirement, Dynamic) and not serves_dynamic(config):
        raise WrongRequirementKind(
            f"{config.privacy.mechanism} serves fixed requirements only; leave the backward side out, "
            "or use auto, dpbd or dpba"
        )
    check_limits(requirement, config.limits)
    sides = (requirement,) if isinstance(requirement, Fixed) else (requirement.forward, requirement.backward)
    longest = max(side.window for side in sides)
    if longest + config.people.carry - 1 > MAX_WINDOW:
        raise InvalidRequirement(f"window={longest} with people carried for {config.people.carry} slots is too long")


def read_requirement_file(path: Path, config: Config) -> Iterator[RequirementChange]:
    """Read a CSV file with the columns user, epsilon, window and, for dynamic requirements, the backward side.

    Guarantees:
        Names are those of events, letter for letter (`events.names`); nothing is stripped.
        A name that stands in two lines raises `Unreadable`, which names both.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from _rows(csv.DictReader(file, strict=True), path, config)
    except OSError as error:
        raise Unreadable(f"{path}: cannot be read ({error.strerror})", file=str(path)) from None
    except UnicodeDecodeError:
        raise Unreadable(f"{path}: not in UTF-8", file=str(path)) from None


def _rows(reader: csv.DictReader[str], path: Path, config: Config) -> Iterator[RequirementChange]:
    line = 1
    lines: dict[Hashable, int] = {}
    try:
        _check_header(reader.fieldnames or (), path)
        for row in reader:
            line = reader.line_num
            change = _to_change(row, config, line)
            if lines.setdefault(change.user, line) != line:
                raise InvalidRequirement(f"the same user as in line {lines[change.user]}; keep one of the two")
            yield change
    except csv.Error:
        raise Unreadable(f"{path}, line {line + 1}: broken quotes", file=str(path), line=line + 1) from None
    except Unreadable:
        raise
    except WeventError as error:
        raise Unreadable(f"{path}, line {line}: {error}", file=str(path), line=line) from None


def _check_header(names: Sequence[str], path: Path) -> None:
    if not set(COLUMNS) <= set(names) or not set(names) <= {*COLUMNS, *BACKWARD}:
        old = "; `budget` is called `epsilon`" if {"budget", "backward_budget"} & set(names) else ""
        raise Unreadable(
            f"{path}, line 1: the columns must be {', '.join(COLUMNS)} and, where wanted, {', '.join(BACKWARD)}{old}",
            file=str(path),
            line=1,
        )


def _to_change(row: dict[str, str], config: Config, line: int) -> RequirementChange:
    if None in row or None in row.values():
        raise InvalidRequirement("another number of fields than in the header")
    words = [(row.get(name) or "").strip() for name in (*COLUMNS[1:], *BACKWARD)]
    return RequirementChange(to_name(row["user"]), parse_requirement(config, *words), line=line)


def serves_dynamic(config: Config) -> bool:
    """Whether the configured mechanism serves dynamic requirements."""
    publisher = RECIPES[config.privacy.mechanism](Register(), 1, fast=False)
    return publisher.schedule.dynamic is not None


def _epsilon(config: Config, word: str) -> str:
    known = config.levels.epsilons
    if word in known:
        return str(known[word])
    if not word or not (word[0].isdigit() or word[0] in ".+-"):
        raise InvalidRequirement(
            f"no level of epsilon has that name; known are {', '.join(known) or 'none'}, or a number"
        )
    return word


def _window(config: Config, word: str) -> int:
    known = config.levels.windows
    if word in known:
        return known[word]
    if not (word.isascii() and word.isdigit() and len(word) < 9):
        raise InvalidRequirement(f"a window is a whole number of slots or one of {', '.join(known) or 'no levels'}")
    return int(word)
