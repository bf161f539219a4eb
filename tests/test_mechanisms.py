"""Which axes each recipe joins, and how one requirement serves all people."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wevent
from tests.support import FAST, Recorded, fixed
from wevent import RECIPES, Dynamic, Fixed, Publisher, Register, Slot
from wevent.budgets.paced import AdaptivePacing
from wevent.budgets.schedules import (
    Absorption,
    Distribution,
    DynamicAbsorption,
    DynamicDistribution,
    Sample,
    Uniform,
)
from wevent.decisions.change import ChangeTrigger, error_threshold, scale_threshold
from wevent.decisions.change_detection import ChangeDetectionTrigger
from wevent.decisions.scheduled import ScheduledTrigger
from wevent.errors import WrongRequirementKind
from wevent.mechanisms import CommonPublisher, strictest

fast = pytest.mark.parametrize("fast", FAST)
AXES: dict[str, tuple[type, type]] = {
    "auto": (AdaptivePacing, ChangeDetectionTrigger),
    "pbd": (Distribution, ChangeTrigger),
    "pba": (Absorption, ChangeTrigger),
    "dpbd": (DynamicDistribution, ChangeTrigger),
    "dpba": (DynamicAbsorption, ChangeTrigger),
    "bd": (Distribution, ChangeTrigger),
    "ba": (Absorption, ChangeTrigger),
    "uniform": (Uniform, ScheduledTrigger),
    "sample": (Sample, ScheduledTrigger),
}
COMMON = ["bd", "ba", "uniform", "sample"]
PEOPLE = {"user-0": Fixed(1, 3), "user-1": Fixed(2, 5), "user-2": Fixed("0.5", 2)}


@fast
@pytest.mark.parametrize("name", AXES)
def test_axes(name: str, fast: bool) -> None:
    """Each name joins the schedule and the trigger that its paper says, and knows its name."""
    publisher: Publisher = RECIPES[name](Register.from_rows(PEOPLE), 3, noise=Recorded(1), fast=fast)
    schedule, trigger = AXES[name]
    assert publisher.mechanism.name == name
    assert type(publisher.schedule) is schedule
    assert type(publisher.trigger) is trigger
    assert isinstance(publisher, CommonPublisher) == (name in COMMON)
    assert repr(publisher) == f"Publisher({name}, cells=3, next slot=1)"
    publisher.step(Slot(1, {"user-0": 1}))


def test_publish_thresholds() -> None:
    """[Du25] compares with the expected error, [Kellaris14] with the scale; the latter can be chosen."""
    register = Register.from_rows(PEOPLE)
    assert isinstance(trigger := wevent.pbd(register, 2, fast=False).trigger, ChangeTrigger)
    assert trigger.publish_threshold is error_threshold
    assert isinstance(trigger := wevent.ba(register, 2, fast=False).trigger, ChangeTrigger)
    assert trigger.publish_threshold is scale_threshold
    assert isinstance(trigger := wevent.bd(register, 2, error_threshold, fast=False).trigger, ChangeTrigger)
    assert trigger.publish_threshold is error_threshold


@given(st.lists(st.tuples(st.integers(200, 10**9), st.integers(1, 50)), min_size=1, max_size=8))
@settings(deadline=None)
def test_the_strictest(required: list[tuple[int, int]]) -> None:
    """The strictest requirement has the least epsilon over the longest window, groups included."""
    register = Register.from_rows({k: fixed(*terms) for k, terms in enumerate(required[1:])})
    register.with_group("group-0", fixed(*required[0]), 4)
    assert strictest(register) == fixed(min(e for e, _ in required), max(w for _, w in required))


@pytest.mark.parametrize("name", COMMON)
def test_one_requirement_serves_all(name: str) -> None:
    """All people are in one row of the common requirement; groups keep their sizes."""
    register = Register.from_rows(PEOPLE).with_group("group-0", Fixed(3, 1), 40)
    publisher = RECIPES[name](register, 3, noise=Recorded(1), fast=False)
    assert isinstance(publisher, CommonPublisher)
    assert publisher.common == Fixed("0.5", 5)
    assert len(set(publisher.members.rows().tolist())) == 1
    assert publisher.ledger.sizes.tolist() == [3, 40]
    assert (publisher.ledger.room() == publisher.common.units).all()
    publisher.change("user-0", Fixed(7, 2))
    publisher.join("user-3", Fixed(3, 2))
    assert len(set(publisher.members.rows().tolist())) == 1
    assert publisher.ledger.sizes.tolist() == [4, 40]


@pytest.mark.parametrize("name", COMMON)
def test_one_requirement_cannot_be_dynamic(name: str) -> None:
    """Dynamic requirements have no strictest one."""
    with pytest.raises(WrongRequirementKind, match="dpbd or dpba"):
        RECIPES[name](Register.from_rows({"user-0": Dynamic((1, 2))}), 3)


@fast
@pytest.mark.parametrize("name", AXES)
def test_the_personalised_offer_is_never_below_the_common_one(name: str, fast: bool) -> None:
    """In the first slot each person offers at least what the strictest requirement lets them."""
    publisher: Publisher = RECIPES[name](Register.from_rows(PEOPLE), 3, noise=Recorded(1), fast=fast)
    common = RECIPES[{"d": "bd", "a": "ba"}.get(name[-1], name)](
        Register.from_rows(PEOPLE), 3, noise=Recorded(1), fast=fast
    )
    offers = [each.ledger.offer(each.schedule) for each in (publisher, common)]
    assert np.all(offers[0].publish_budget[publisher.members.rows()] >= offers[1].publish_budget[common.members.rows()])
