"""The extension points."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wevent import Dynamic, Fixed, Register, Slot, auto, extend


def test_all_names_are_documented() -> None:
    """Every extension point exists, and the page on adding a mechanism lists it."""
    page = (Path(__file__).parents[1] / "docs/how-to/add-a-mechanism.md").read_text("utf-8")
    listed = page.partition("## The extension points")[2]
    assert [name for name in extend.__all__ if f"`{name}`" not in listed or not hasattr(extend, name)] == []


def test_group_rows_follow_the_ledger() -> None:
    """Spends by ledger row are found by group, in whichever order a publisher keeps the groups."""
    register = Register().with_group("strict", Dynamic((1, 9)), 30).with_group("lenient", Fixed(100, 9), 20)
    publisher = auto(register, 2, noise=extend.StudyNoise(1))
    strict, lenient = extend.group_rows(publisher, ["strict", "lenient"]).tolist()
    assert {strict, lenient} == {0, 1}
    publisher.step(Slot(1, counts=np.zeros((2, 2), np.int64)))
    assert publisher.trace is not None
    assert 0 < publisher.trace.spent[strict] <= 10**9 < publisher.trace.spent[lenient]
