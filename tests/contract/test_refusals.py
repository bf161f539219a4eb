"""Bad input, for every recipe: the right typed error with the limit, nothing changed, nobody named."""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.support import FAST, Forced, OpenJournal, Recorded

from wevent import RECIPES, Dynamic, Fixed, Limits, Privacy, Publisher, Register, Slot
from wevent.decisions.change import DecisionInput, Trigger, Verdict
from wevent.errors import (
    AlreadyRegistered,
    EmptyRegister,
    InvalidInput,
    InvalidRequirement,
    SlotOutOfOrder,
    TooManyCells,
    UnknownCell,
    UnknownUser,
    WeventError,
    WrongRequirementKind,
    WrongShape,
)
from wevent.releases.journal import MemoryJournal

# Planted names and counts. They are put together here, so that no line of this file holds them whole.
ANN, BOB, EVE = (f"user-{part}" for part in ("a1" + "c3", "b2" + "d4", "e5" + "f6"))
GROUP, HERE, THERE, NOWHERE = "group-" + "7" * 5, "cell-" + "8" * 5, "cell-" + "9" * 5, "cell-" + "0" * 5
MANY = 7 * 10**6 + 654_321
SECRETS = [ANN, BOB, EVE, GROUP, HERE, THERE, NOWHERE, str(MANY), f"{MANY:,}", f"{MANY:_}"]

FIXED_ONLY = ["pbd", "pba", "bd", "ba", "uniform", "sample"]
COMMON = ["bd", "ba", "uniform", "sample"]

fast = pytest.mark.parametrize("fast", FAST)
every = pytest.mark.parametrize("recipe", list(RECIPES))


def opened(recipe: str, fast: bool) -> Publisher:
    """Three users, of whom the second left, a group, two cells; slots 1 and 2 are over, 3 is due."""
    people = {ANN: Fixed(1, 4), BOB: Fixed(1, 4), EVE: Fixed(2, 3)}
    register = Register.from_rows(people).with_group(GROUP, Fixed(1, 4), 50)
    publisher: Publisher = RECIPES[recipe](
        register,
        [HERE, THERE],
        noise=Recorded(1),
        journal=OpenJournal(),
        privacy=Privacy(limits=Limits(epsilon=50, window=1000)),
        fast=fast,
    )
    publisher.trigger = Forced({1, 3})
    publisher.step(Slot(1, {ANN: HERE, BOB: THERE}))
    publisher.leave(BOB)
    publisher.step(Slot(2, {ANN: HERE}, groups={GROUP: [30, 5]}))
    publisher.members.begin_slot()
    return publisher


class Bad(NamedTuple):
    """Something wrong to do, the error it must give, and what its message must hold."""

    what: str
    do: Callable[[Publisher], object]
    error: type[WeventError]
    limit: str


def counts(publisher: Publisher, first: int) -> Any:
    table = np.zeros((publisher.ledger.rows, 2), np.int64)
    table[0, 0] = first
    return table


def asking(requirement: Callable[[], Any]) -> Callable[[Publisher], object]:
    return lambda publisher: publisher.change(ANN, requirement())


def joining(requirement: Callable[[], Any]) -> Callable[[Publisher], object]:
    return lambda publisher: publisher.join(BOB, requirement())


def stepping(slot: Callable[[], Slot]) -> Callable[[Publisher], object]:
    return lambda publisher: publisher.step(slot())


def declaring(table: list[Dynamic], choice: Any) -> Callable[[Publisher], object]:
    return lambda publisher: publisher.declare(table, choice)


LISTED: Any = [HERE, THERE, HERE]
BROKEN: Any = np.zeros(3)
BUDGETS: list[Any] = [0, -0.5, math.nan, math.inf, -math.inf, 100.5, True, "lots", None]
WINDOWS: list[Any] = [0, -3, math.nan, math.inf, 2**20 + 1, 2.5, True, "4", None]

BAD = [
    Bad("unknown user", stepping(lambda: Slot(3, {EVE + "x": HERE})), UnknownUser, "slot 3"),
    Bad("departed user", stepping(lambda: Slot(3, {BOB: HERE})), UnknownUser, "slot 3"),
    Bad("departed user in an array", stepping(lambda: Slot(3, np.array([0, 0, 1]))), UnknownUser, "use -1"),
    Bad("unknown cell", stepping(lambda: Slot(3, {ANN: NOWHERE})), UnknownCell, "2 cells"),
    Bad("a cell that is no name", stepping(lambda: Slot(3, {ANN: {HERE: 1}})), UnknownCell, "2 cells"),
    Bad("unknown index", stepping(lambda: Slot(3, np.array([2, -1, 1]))), UnknownCell, "2 cells"),
    Bad("negative index", stepping(lambda: Slot(3, np.array([-2, -1, 1]))), UnknownCell, "2 cells"),
    Bad("huge index", stepping(lambda: Slot(3, np.array([MANY, -1, 1]))), UnknownCell, "2 cells"),
    Bad("two cells", stepping(lambda: Slot(3, {ANN: (HERE, THERE)})), TooManyCells, "1 cell"),
    Bad("two pairs", stepping(lambda: Slot.from_pairs(3, [(ANN, HERE)] * 2)), TooManyCells, "1 cell"),
    Bad("two columns", stepping(lambda: Slot(3, np.full((3, 2), -1))), TooManyCells, "1 cell"),
    Bad("unknown group", stepping(lambda: Slot(3, groups={EVE: [0, 0]})), UnknownUser, "1 group"),
    Bad("a large group", stepping(lambda: Slot(3, groups={GROUP: [MANY, 0]})), TooManyCells, "1 cell"),
    Bad("broken counts", stepping(lambda: Slot(3, groups={GROUP: [1.5, 0]})), WrongShape, r"\(2,\)"),
    Bad("large counts", lambda p: p.step(Slot(3, counts=counts(p, MANY))), TooManyCells, "1 cell"),
    Bad("negative counts", lambda p: p.step(Slot(3, counts=counts(p, -MANY))), WrongShape, "negative"),
    Bad("short counts", lambda p: p.step(Slot(3, counts=counts(p, 1)[:-1])), WrongShape, r"2\), got"),
    Bad("counts and places", lambda p: Slot(3, {}, counts=counts(p, 1)), WrongShape, "one of them"),
    Bad("wrong length", stepping(lambda: Slot(3, np.array([0, -1]))), WrongShape, r"\(3,\)"),
    Bad("wrong dtype", stepping(lambda: Slot(3, BROKEN)), WrongShape, "whole numbers"),
    Bad("truth values", stepping(lambda: Slot(3, BROKEN.astype(bool))), WrongShape, "bool"),
    Bad("names in a list", stepping(lambda: Slot(3, LISTED)), WrongShape, "dtype"),
    Bad("slot gap", stepping(lambda: Slot(5, {ANN: HERE})), SlotOutOfOrder, "slot 3 was due"),
    Bad("slot 0", stepping(lambda: Slot(0, {ANN: HERE})), InvalidInput, "from 1"),
    Bad("joining twice", lambda p: p.join(ANN, Fixed(1, 4)), AlreadyRegistered, "change"),
    Bad("joining as a group", lambda p: p.join(GROUP, Fixed(1, 4)), AlreadyRegistered, "change"),
    Bad("leaving unknown", lambda p: p.leave(EVE + "x"), UnknownUser, "not registered"),
    Bad("leaving twice", lambda p: p.leave(BOB), UnknownUser, "not registered"),
    Bad("changing unknown", lambda p: p.change(BOB, Fixed(1, 4)), UnknownUser, "not registered"),
    Bad("share below one unit", asking(lambda: Fixed("7e-9", 4)), InvalidRequirement, "0.000000008"),
    Bad("dynamic share below one", asking(lambda: Dynamic(("7e-9", 4))), InvalidRequirement, "0.000000008"),
    *(Bad(f"epsilon {e}", asking(partial(Fixed, e, 4)), InvalidRequirement, "100|finite|number") for e in BUDGETS),
    *(Bad(f"window {w}", joining(partial(Fixed, 1, w)), InvalidRequirement, "1048576|whole") for w in WINDOWS),
    Bad("above the operator's window", joining(lambda: Fixed(1, 1001)), InvalidRequirement, "1000|=4"),
]


def checked(publisher: Publisher, bad: Bad) -> WeventError:
    """Do it, and look at the error and at everything that a log would show."""
    with pytest.raises(bad.error) as refused:
        bad.do(publisher)
    error = refused.value
    assert type(error) is bad.error
    assert re.search(bad.limit, str(error)), str(error)
    shown = ["".join(traceback.format_exception(error)), repr(error), str(error.fields), repr(publisher)]
    shown += [repr(publisher.members.register), repr(publisher.trace), str(error.__context__)]
    for secret in SECRETS:
        assert not any(secret in text for text in shown), secret
    return error


@fast
@every
def test_bad_input_changes_nothing(recipe: str, fast: bool) -> None:
    """One publisher gets every kind of bad input, its twin none: not a byte differs, nor does the next slot."""
    publisher, twin = opened(recipe, fast), opened(recipe, fast)
    stored = publisher.ledger.to_bytes()
    rows = publisher.members.rows().tolist()
    noise, journal = publisher._noise, publisher.journal
    assert isinstance(noise, Recorded) and isinstance(journal, OpenJournal)
    drawn = len(noise.draws)
    for bad in BAD:
        error = checked(publisher, bad)
        assert isinstance(error, ValueError), bad.what
        assert publisher.ledger.to_bytes() == stored, bad.what
        assert publisher.members.rows().tolist() == rows, bad.what
        assert (len(noise.draws), len(journal.charges)) == (drawn, 2), bad.what
    good = Slot(3, np.array([0, -1, 1]), groups={GROUP: [20, 30]})
    releases = publisher.step(good), twin.step(good)
    assert releases[0].counts.tolist() == releases[1].counts.tolist()
    assert releases[0].decision == releases[1].decision
    assert publisher.ledger.to_bytes() == twin.ledger.to_bytes()


@fast
@pytest.mark.parametrize("recipe", FIXED_ONLY)
def test_dynamic_requirements_are_the_wrong_kind(recipe: str, fast: bool) -> None:
    """Where only fixed requirements are served, dynamic ones are refused, and the message says where to go."""
    publisher = opened(recipe, fast)
    stored = publisher.ledger.to_bytes()
    moving = Dynamic((1, 4), (1, 4))
    calls: list[Callable[[Publisher], object]] = [
        lambda publisher: publisher.change(ANN, moving),
        lambda publisher: publisher.join(BOB, moving),
        lambda publisher: publisher.declare([moving], np.array([0, -1, 0])),
        lambda publisher: RECIPES[recipe](Register.from_rows({ANN: moving}), 2, fast=fast),
    ]
    for do in calls:
        checked(publisher, Bad("dynamic", do, WrongRequirementKind, "dpbd or dpba"))
    assert publisher.ledger.to_bytes() == stored


@fast
@pytest.mark.parametrize("recipe", list(RECIPES))
@pytest.mark.parametrize("wrong", [None, "strict", (1, 4), 1.0])
def test_things_that_are_no_requirement(recipe: str, wrong: Any, fast: bool) -> None:
    """Anything but `Fixed` and `Dynamic` is refused, when joining, when changing and at the start."""
    publisher = opened(recipe, fast)
    for do in (asking(lambda: wrong), joining(lambda: wrong)):
        with pytest.raises(InvalidRequirement):
            do(publisher)
    with pytest.raises(InvalidRequirement):
        Register.from_rows({ANN: wrong})


@fast
@pytest.mark.parametrize("recipe", COMMON)
def test_stricter_than_the_common_requirement(recipe: str, fast: bool) -> None:
    """A requirement of less epsilon or a longer window than the common one is refused with both numbers."""
    publisher = opened(recipe, fast)
    stored = publisher.ledger.to_bytes()
    for stricter in (Fixed("0.999999999", 4), Fixed(2, 5)):
        for do in (asking(lambda: stricter), joining(lambda: stricter)):  # noqa: B023
            checked(publisher, Bad("stricter", do, InvalidRequirement, "epsilon=1 over window=4"))
    assert publisher.ledger.to_bytes() == stored


@fast
@pytest.mark.parametrize("recipe", [name for name in RECIPES if name not in COMMON])
def test_above_the_operators_limit(recipe: str, fast: bool) -> None:
    """More epsilon than the operator allows is refused with that limit, for everybody."""
    publisher = opened(recipe, fast)
    stored = publisher.ledger.to_bytes()
    for do in (asking(lambda: Fixed(51, 4)), joining(lambda: Fixed("50.000000001", 4))):
        checked(publisher, Bad("above", do, InvalidRequirement, "limit of 50"))
    assert publisher.ledger.to_bytes() == stored


@fast
@every
def test_nobody_is_registered(recipe: str, fast: bool) -> None:
    """Nothing is published about nobody; once a person joins, the same slot works."""
    publisher: Publisher = RECIPES[recipe](Register(), 2, noise=Recorded(1), fast=fast)
    checked(publisher, Bad("empty", stepping(lambda: Slot(1)), EmptyRegister, "slot 1"))
    publisher.join(ANN, Fixed(1, 1))
    assert publisher.step(Slot(1, {ANN: 0})).slot == 1
    publisher.leave(ANN)
    checked(publisher, Bad("empty again", stepping(lambda: Slot(2)), EmptyRegister, "slot 2"))


@fast
@every
def test_a_slot_that_is_no_longer_kept(recipe: str, fast: bool) -> None:
    """For a slot older than the journal keeps, the error says how many are kept; nothing is drawn."""
    publisher: Publisher = RECIPES[recipe](
        Register.from_rows({ANN: Fixed(1, 2)}), 2, noise=Recorded(1), journal=MemoryJournal(keep=3), fast=fast
    )
    for slot in range(1, 7):
        publisher.step(Slot(slot, {ANN: 1}))
    stored = publisher.ledger.to_bytes()
    for old in (1, 3):
        do = stepping(partial(Slot, old, {ANN: 1}))
        checked(publisher, Bad("old", do, SlotOutOfOrder, "last 3 slots"))
    assert publisher.step(Slot(4, {ANN: 1})).slot == 4
    assert publisher.ledger.to_bytes() == stored


@fast
@pytest.mark.parametrize("recipe", ["dpbd", "dpba"])
def test_wrong_declarations(recipe: str, fast: bool) -> None:
    """Declarations of the wrong shape, for nobody, or beyond the table change nobody's requirement."""
    publisher = opened(recipe, fast)
    stored = publisher.ledger.to_bytes()
    table = [Dynamic((1, 4))]
    choices: list[tuple[Any, type[WeventError]]] = [
        ([0, -1], WrongShape),
        ([0, -1, 1], WrongShape),
        ([0, -1, -2], WrongShape),
        ([0.0, -1.0, 0.0], WrongShape),
        ([0, 0, 0], UnknownUser),
    ]
    for choice, error in choices:
        bad = Bad("declare", declaring(table, choice), error, "3 positions|table of 1|has left")
        checked(publisher, bad)
    assert publisher.ledger.to_bytes() == stored


@fast
@every
def test_an_error_in_the_draw_names_nobody(recipe: str, fast: bool) -> None:
    """Also the traceback of something that breaks after the charge shows no name, no cell and no count."""

    class Broken(Trigger):
        def decide(self, given: DecisionInput) -> Verdict:
            raise RuntimeError("broken")

    publisher = opened(recipe, fast)
    publisher.trigger = Broken()
    while publisher.ledger.offer(publisher.schedule).nullified:
        publisher.step(Slot(publisher.ledger.slot, {ANN: HERE}))
    with pytest.raises(RuntimeError) as raised:
        publisher.step(Slot(publisher.ledger.slot, {ANN: HERE}, groups={GROUP: [30, 5]}))
    shown = "".join(traceback.format_exception(raised.value))
    assert not any(secret in shown for secret in SECRETS)


@fast
@every
def test_reprs_name_nobody(recipe: str, fast: bool) -> None:
    """Publisher, release, trace and slot show numbers of slots and cells at most."""
    publisher = opened(recipe, fast)
    slot = Slot(3, {ANN: HERE}, groups={GROUP: [41, 3]})
    shown = [repr(thing) for thing in (publisher, publisher.step(slot), publisher.trace, slot)]
    shown += [repr(publisher.members.register), repr(publisher.ledger), repr(publisher.members)]
    assert not any(secret in text for secret in SECRETS for text in shown)
    assert not any("41" in text for text in shown[:4])
