"""The tables about people: groups mean what they say for ever, and limits keep one person from silencing a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.store.scene import Town, random_rows, settings

from wevent import Dynamic, Fixed, Limits, Privacy, Register, Slot, auto, pbd
from wevent.cohorts.requirement import check_limits
from wevent.config.read import example, read_config, to_config
from wevent.config.requirement_files import parse_requirement
from wevent.errors import InvalidRequirement, InvalidSetting
from wevent.releases.journal import MemoryJournal
from wevent.reports.history import read_history
from wevent.store.build import build_publisher
from wevent.store.schema import UNLISTED


def with_group(epsilon: Any, window: Any, **levels: Any) -> Any:
    group = {"group": {"size": 50, "epsilon": epsilon, "window": window}}
    return to_config(settings(people=group, levels=levels))


@pytest.mark.parametrize("epsilon", [0.5, 1, "0.5", "1"])
def test_a_number_is_never_the_name_of_a_level(epsilon: Any) -> None:
    """No level can be named like a number, so neither a group nor a person's number can turn into a level's value."""
    with pytest.raises(InvalidSetting, match="cannot name a level"):
        with_group(epsilon, 4, epsilons={str(epsilon): 50}, windows={"hour": 4})
    with pytest.raises(InvalidSetting, match="cannot name a level"):
        with_group(epsilon, 4, epsilons={"strict": 0.5}, windows={"4": 1})
    with pytest.raises(InvalidSetting, match="'leave' cannot name a level"):
        with_group(epsilon, 4, epsilons={"leave": 0.5}, windows={"hour": 1})


def test_a_group_is_resolved_once(tmp_path: Path) -> None:
    """The store keeps units and window of the group; a level that is added later changes nothing, judge included."""
    chosen = with_group("strict", "hour", epsilons={"strict": 0.5}, windows={"hour": 4})
    assert chosen.group.requirement == Fixed(0.5, 4)
    assert chosen.fixed()["people.group"] == {"size": 50, "epsilon_units": 500_000_000, "window": 4}
    assert with_group("0.5", "4").group.requirement == Fixed(0.5, 4)
    town = Town(tmp_path / "town.db", tmp_path / "witness.json", chosen)
    town.people(3)
    with town.session() as session:
        session.release(random_rows(session, 1))
    town.config = with_group("strict", "hour", epsilons={"strict": 0.5, "free": 50}, windows={"hour": 4, "day": 96})
    with town.session() as session:
        members = session._publisher.members
        assert members.ledger.versions.in_force(members.groups["group"]) == (500_000_000, 4)
    assert read_history(town.database).requirements[UNLISTED][0].requirement == Fixed(0.5, 4)
    for wrong in (with_group_error("huge", 4), with_group_error(0.5, "day"), with_group_error(0.0001, 4)):
        assert "level" in wrong or "number" in wrong or "least_share" in wrong


def with_group_error(epsilon: Any, window: Any) -> str:
    with pytest.raises(InvalidSetting) as refused:
        with_group(epsilon, window)
    return str(refused.value)


def test_a_refusal_names_the_least_epsilon() -> None:
    """Core, words and configuration refuse the same, and say what would be enough for that window."""
    limits = Limits(least_share=0.005)
    for wrong in (Fixed("3.359999999", 672), Dynamic((5, 4), (0.01, 4)), Dynamic((0.01, 4), (5, 4))):
        with pytest.raises(InvalidRequirement, match=r"least_share=0\.005") as refused:
            check_limits(wrong, limits)
    assert str(refused.value.fields["least"]) == "0.020000000"
    check_limits(Fixed("3.36", 672), limits)
    publisher = pbd(Register.from_rows({"ann": Fixed(1, 4)}), 2, privacy=Privacy(limits=limits), fast=False)
    with pytest.raises(InvalidRequirement, match=r"at least epsilon=3\.36 "):
        publisher.join("bob", Fixed(0.01, 672))
    chosen = to_config(settings(privacy={"limits": {"least_share": 0.005}}))
    with pytest.raises(InvalidRequirement, match=r"at least epsilon=3\.36 "):
        parse_requirement(chosen, "0.01", "672")


def test_what_was_granted_is_granted_to_the_core() -> None:
    """Where people are carried, the ledger's wider windows never make the core refuse what was within the limits."""
    carried = {"presence": "carry", "carry": 7}
    limits = {"least_share": 0.01, "window": 96}
    tree = settings(people=carried, privacy={"neighbours": "substitution", "limits": limits})
    chosen = to_config(tree)
    for window in (1, 2, 3, 10, 96):
        asked = parse_requirement(chosen, f"{window / 100}", str(window))
        assert asked is not None
        assert build_publisher(chosen, MemoryJournal(), {0: asked}).ledger.rows == 1


def publications(strictest: Fixed, privacy: Privacy) -> int:
    """How often `auto` publishes in 100 slots for 5,000 people of the example's levels and one more."""
    levels = [Fixed(epsilon, window) for epsilon in (0.5, 1, 2) for window in (4, 24, 96)]
    asked = {person: levels[person % 9] for person in range(5_000)}
    publisher = auto(Register.from_rows({**asked, 5_000: strictest}), 12, privacy=privacy, fast=False)
    walk = np.random.default_rng(1)
    cells = walk.integers(0, 12, 5_001)
    return sum(publisher.step(Slot(slot, cells)).decision.value == "published" for slot in range(1, 101))


def test_one_person_cannot_silence_auto(tmp_path: Path) -> None:
    """The limits of `wevent init` refuse everybody who could; the strictest that they allow leaves publications."""
    (tmp_path / "wevent.toml").write_text(example())
    chosen = read_config(tmp_path / "wevent.toml")
    with pytest.raises(InvalidRequirement, match="least_share"):
        publications(Fixed(0.01, 672), chosen.protection)
    with pytest.raises(InvalidRequirement, match="least_share"):
        publications(Fixed(0.01, 672), to_config(settings()).protection)
    for epsilon in ("strict", "usual", "open"):
        for window in ("hour", "evening", "day"):
            assert parse_requirement(chosen, epsilon, window) is not None
    assert publications(Fixed("3.36", 672), chosen.protection) >= 4
    assert publications(Fixed(0.01, 672), Privacy()) <= 1
