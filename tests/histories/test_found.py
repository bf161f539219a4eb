"""Histories that were found broken once, each as short as it gets: they must stay mended."""

from __future__ import annotations

import pytest
from tests.histories.events import (
    Declare,
    Ending,
    Event,
    FailCharge,
    History,
    HistorySlot,
    Leave,
    Reopen,
    Req,
    Require,
    Restore,
)
from tests.histories.run import promises
from tests.histories.search import same_spends
from tests.oracle import DynamicReq, FixedReq

from wevent.mechanisms import EstimatorName


def fixed(epsilon: float, window: int) -> FixedReq:
    return FixedReq(round(epsilon * 10**9), window)


def dynamic(forward: tuple[float, int], backward: tuple[float, int] = (100, 1)) -> DynamicReq:
    return DynamicReq(round(backward[0] * 10**9), backward[1], round(forward[0] * 10**9), forward[1])


def history(
    recipe: str,
    founders: dict[str, Req],
    events: dict[int, list[Event]],
    slots: int,
    *,
    estimator: EstimatorName = "unbiased",
    fast: bool = False,
    infeasible: str = "project",
    group: Req | None = None,
    others: tuple[str, ...] = (),
    unlisted_again: bool = False,
    endings: dict[int, Ending] | None = None,
) -> History:
    """A history that publishes wherever it can, unless `endings` says otherwise."""
    ends = endings or {}
    return History(
        recipe=recipe,
        estimator=estimator,
        fast=fast,
        infeasible=infeasible,
        rest="own",
        history_slots=1,
        founders=tuple(founders.items()),
        others=others,
        group=group,
        unlisted_again=unlisted_again,
        slots=tuple(
            HistorySlot(tuple(events.get(number, [])), ends.get(number, Ending.PUBLISH))
            for number in range(1, slots + 1)
        ),
    )


MERGED = history(
    "auto",
    {"u": fixed(1, 4), "x": fixed(3, 5)},
    {
        3: [Require("u", fixed(1, 5))],
        32: [Require("n", fixed(1, 5))],
        36: [Require("u", fixed(3, 40))],
    },
    80,
)
MERGED_EXHAUSTED = history(
    "dpba",
    {"v": fixed(1, 3)},
    {
        1: [Require("u", fixed(3, 4))],
        4: [Require("u", fixed(0.1, 4))],
        6: [Require("n", fixed(0.1, 4))],
        9: [Require("u", fixed(0.1, 12))],
    },
    20,
)
REFUSED = history(
    "auto",
    {"u": dynamic((10, 1), (0.5, 2)), "v": dynamic((10, 2))},
    {3: [Declare((dynamic((3, 2), (100, 6)), dynamic((3, 2), (0.1, 6))), (("u", 0), ("v", 1)))]},
    7,
    fast=True,
    infeasible="reject",
)
LOST_PROMISE = history(
    "pbd",
    {"u": fixed(1, 2), "v": fixed(1, 2)},
    {3: [Require("u", fixed(1, 20))], 6: [Restore(4)]},
    30,
)
LOST_FORWARD = history(
    "auto",
    {"v": fixed(0.5, 2)},
    {1: [Require("u", dynamic((1, 5), (1, 1)))], 2: [Restore(1), Require("u", dynamic((1, 5), (1, 1)))]},
    12,
    estimator="pooled",
)
LISTED_LATER = history(
    "dpbd",
    {"v": dynamic((0.5, 1), (0.5, 6))},
    {2: [Require("u", fixed(1, 4))]},
    8,
    estimator="pooled",
    group=fixed(0.1, 4),
    others=("u",),
)
UNLISTED_AGAIN = history(
    "pba",
    {"u": fixed(3, 2), "v": fixed(3, 2)},
    {2: [Leave("u")]},
    40,
    group=fixed(0.5, 30),
    unlisted_again=True,
)
RETRIED = history(
    "dpbd",
    {"u": fixed(1, 1), "v": fixed(0.5, 6), "w": fixed(1, 3)},
    {10: [Require("v", fixed(1, 3))], 18: [FailCharge(), Require("u", fixed(1, 3))], 19: [Reopen(4)]},
    24,
    estimator="uncorrected",
    endings={5: Ending.NATURAL, 7: Ending.NATURAL, 9: Ending.LOSE, 10: Ending.NATURAL, 16: Ending.SKIP}
    | dict.fromkeys((13, 14, 15), Ending.NATURAL),
)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(MERGED, id="merged into a younger cohort, then a longer window"),
        pytest.param(MERGED_EXHAUSTED, id="merged while exhausted, then a longer window"),
        pytest.param(REFUSED, id="refused declaration took effect"),
        pytest.param(LOST_PROMISE, id="longer window promised in a lost copy"),
        pytest.param(LOST_FORWARD, id="forward requirement after a restore"),
        pytest.param(LISTED_LATER, id="listed out of the group"),
        pytest.param(UNLISTED_AGAIN, id="counted in the group after leaving"),
        pytest.param(RETRIED, id="failed charge, change, retry, replay"),
    ],
)
def test_mended(found: History) -> None:
    """A history that once broke a promise, or could not be replayed, does so no more."""
    assert promises(found)[0] is None


def test_rows_without_members_do_not_set_the_pace() -> None:
    """Numpy and numba choose the same intervals when a longer window belongs to a row that nobody is in."""
    found = history(
        "auto",
        {"u": dynamic((0.1, 4), (10, 3))},
        {1: [Require("v", fixed(3, 5)), Require("v", fixed(1, 2))]},
        5,
        endings={5: Ending.NATURAL},
    )
    assert same_spends(found)[0] is None
