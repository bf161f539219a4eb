"""What people ask for, in words: a file or words of a command come in, checked requirements go out.

A budget or a window is a number or the name of a level. No error names a user: files are told by their lines.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Dynamic, Fixed, Over, Requirement, check_limits
from wevent.config.model import Config
from wevent.errors import InvalidRequirement, Unreadable, WeventError, WrongKind
from wevent.events.formats import LONGEST_NAME
from wevent.recipes import RECIPES
from wevent.settings import Limits
from wevent.units import MAX_WINDOW

LEAVE = "leave"
"""The budget of somebody who leaves."""

COLUMNS = ("user", "budget", "window")
BACKWARD = ("backward_budget", "backward_window")


@dataclass(frozen=True, slots=True)
class Asking:
    """One line of a file of requirements; None is to leave."""

    user: str = field(repr=False)
    requirement: Requirement | None


def to_requirement(
    config: Config, budget: str, window: str, backward_budget: str = "", backward_window: str = ""
) -> Requirement | None:
    """The requirement of some words, within the operator's limits.

    Guarantees:
        Words that are neither numbers nor names of levels, or ask for more than the limits, raise `InvalidRequirement`.
        Where the mechanism is dynamic and a backward side is given, the result is dynamic; otherwise it is fixed.
    """
    if budget == LEAVE:
        return None
    if bool(backward_budget) != bool(backward_window):
        raise InvalidRequirement("a backward side needs both a budget and a window")
    asked: Requirement = Fixed(_budget(config, budget), _window(config, window))
    if backward_budget:
        if not serves_dynamic(config):
            raise WrongKind(
                f"{config.privacy.mechanism} serves fixed requirements only; leave the backward side out, "
                "or use auto, dpbd or dpba"
            )
        back = Over(_budget(config, backward_budget), _window(config, backward_window))
        asked = Dynamic(Over(_budget(config, budget), _window(config, window)), back)
    limits = config.privacy.limits
    check_limits(asked, Limits(limits.epsilon, limits.window, limits.share_ratio))
    longest = asked.window if isinstance(asked, Fixed) else max(asked.forward.window, asked.backward.window)
    if longest + config.people.carry - 1 > MAX_WINDOW:
        raise InvalidRequirement(f"window={longest} with people carried for {config.people.carry} slots is too long")
    return asked


def read_requirements(path: Path, config: Config) -> Iterator[Asking]:
    """Read a CSV file with the columns user, budget, window and, for dynamic requirements, the backward side."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from _rows(csv.DictReader(file, strict=True), path, config)
    except OSError as error:
        raise Unreadable(f"{path}: cannot be read ({error.strerror})", file=str(path)) from None
    except UnicodeDecodeError:
        raise Unreadable(f"{path}: not in UTF-8", file=str(path)) from None


def _rows(reader: csv.DictReader[str], path: Path, config: Config) -> Iterator[Asking]:
    line = 1
    try:
        _check_header(reader.fieldnames or (), path)
        for row in reader:
            line = reader.line_num
            yield _asking(row, config)
    except csv.Error:
        raise Unreadable(f"{path}, line {line + 1}: broken quotes", file=str(path), line=line + 1) from None
    except Unreadable:
        raise
    except WeventError as error:
        raise Unreadable(f"{path}, line {line}: {error}", file=str(path), line=line) from None


def _check_header(names: Sequence[str], path: Path) -> None:
    if not set(COLUMNS) <= set(names) or not set(names) <= {*COLUMNS, *BACKWARD}:
        raise Unreadable(
            f"{path}, line 1: the columns must be {', '.join(COLUMNS)} and, where wanted, {', '.join(BACKWARD)}",
            file=str(path),
            line=1,
        )


def _asking(row: dict[str, str], config: Config) -> Asking:
    if None in row or None in row.values():
        raise InvalidRequirement("another number of fields than in the header")
    user, budget, window = (row[name].strip() for name in COLUMNS)
    back = [(row.get(name) or "").strip() for name in BACKWARD]
    if not 0 < len(user) <= LONGEST_NAME or "\0" in user:
        raise InvalidRequirement(f"a user's name has from 1 to {LONGEST_NAME} characters, and no NUL")
    return Asking(user, to_requirement(config, budget, window, *back))


def serves_dynamic(config: Config) -> bool:
    """Whether the configured mechanism serves dynamic requirements."""
    publisher = RECIPES[config.privacy.mechanism](Register(), 1, fast=False)
    return publisher.mechanism.schedule.dynamic is not None


def _budget(config: Config, word: str) -> str:
    known = config.levels.budgets
    if word in known:
        return str(known[word])
    if not word or not (word[0].isdigit() or word[0] in ".+-"):
        raise InvalidRequirement(f"no budget level of that name; known are {', '.join(known) or 'none'}, or a number")
    return word


def _window(config: Config, word: str) -> int:
    known = config.levels.windows
    if word in known:
        return known[word]
    if not (word.isascii() and word.isdigit() and len(word) < 9):
        raise InvalidRequirement(f"a window is a whole number of slots or one of {', '.join(known) or 'no levels'}")
    return int(word)
