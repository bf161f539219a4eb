"""Two publishers made from one mechanism: each goes its way as if it were alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

import pytest
from tests.histories.generate import Generator
from tests.histories.profiles import PROFILES
from tests.histories.run import Run
from tests.histories.stage import mechanism_of

HISTORIES = [6, pytest.param(60, marks=pytest.mark.slow)]


@pytest.mark.parametrize("histories", HISTORIES)
def test_publishers_of_one_mechanism_share_nothing(histories: int) -> None:
    """Two histories that are run in turns, with one mechanism for both, spend what they spend one by one."""
    generator = Generator(replace(PROFILES["mixed"], recipes=("auto",)), f"twins {histories}")
    for _ in range(histories):
        first, second = generator.history(), generator.history()
        second = replace(second, estimator=first.estimator)
        mechanism = mechanism_of(first)
        together = [Run(history, mechanism) for history in (first, second)]
        for number, slots in enumerate(zip_longest(first.slots, second.slots), start=1):
            for run, slot in zip(together, slots, strict=True):
                if slot is not None:
                    run.advance(number, slot)
        for run in together:
            alone = Run(run.history)
            alone.play()
            for user in alone.town:
                assert alone.judge.spends(user) == run.judge.spends(user), f"{user}\n{run.history}"
