"""What a store and its witness know together, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wevent.errors import InvalidSetting, StoreReplaced, WeventError, WitnessMissing
from wevent.store import reconciling
from wevent.store.reconciling import OpeningTerms, StreamInStore, reconcile
from wevent.store.witness import WitnessRecord

RECORD = WitnessRecord("store", "town", slot=20, epoch=3, changes=5, longest_window=7)


QUIET = OpeningTerms(shown=None, begun_slot=10**6, promised=1, allowed=50)


@pytest.mark.parametrize(
    ("ours", "known", "kind"),
    [
        pytest.param(RECORD, None, WitnessMissing, id="no witness"),
        pytest.param(RECORD, replace(RECORD, stream="other"), WitnessMissing, id="another stream"),
        pytest.param(RECORD, replace(RECORD, store="other"), StoreReplaced, id="another store"),
        pytest.param(RECORD, replace(RECORD, epoch=2), WitnessMissing, id="older epoch"),
        pytest.param(RECORD, replace(RECORD, slot=18), WitnessMissing, id="older slot"),
        pytest.param(RECORD, replace(RECORD, changes=4), WitnessMissing, id="fewer changes"),
        pytest.param(replace(RECORD, slot=20, epoch=2), RECORD, None, id="opened and killed"),
        pytest.param(replace(RECORD, slot=21), RECORD, None, id="charged and killed"),
        pytest.param(RECORD, RECORD, None, id="whole"),
    ],
)
def test_what_is_believed(ours: WitnessRecord, known: WitnessRecord | None, kind: type[WeventError] | None) -> None:
    """A witness that the store has overtaken, or that is another's, is refused until the operator speaks."""
    if kind is None:
        opening = reconcile(StreamInStore(ours), known, QUIET)
        assert (opening.given_up, opening.missing_changes) == (0, 0)
        assert opening.record == replace(ours, slot=max(20, ours.slot), epoch=4)
        return
    with pytest.raises(kind):
        reconcile(StreamInStore(ours), known, QUIET)
    spoken = replace(QUIET, shown=25)
    if known is not None and known.stream == "other":
        with pytest.raises(WitnessMissing):
            reconcile(StreamInStore(ours), known, spoken)
        return
    opening = reconcile(StreamInStore(ours), known, spoken)
    assert (opening.first, opening.last, opening.hold) == (21, 25, 50)  # by the limits: the witness does not know all


def test_an_older_store_is_held_back_by_the_witness() -> None:
    """Slots up to the witnessed one are given up, and the longest window ever promised holds everybody back."""
    opening = reconcile(StreamInStore(replace(RECORD, slot=12, epoch=2, changes=3)), RECORD, QUIET)
    assert (opening.first, opening.last, opening.hold, opening.missing_changes) == (13, 20, 7, 2)
    later = reconcile(StreamInStore(replace(RECORD, slot=12, epoch=2)), RECORD, replace(QUIET, shown=30, promised=9))
    assert (later.last, later.hold) == (30, 9)  # the operator may know of more slots, never of fewer
    assert reconcile(StreamInStore(replace(RECORD, slot=12)), RECORD, replace(QUIET, shown=1)).last == 20


def test_a_stream_never_begins_anew() -> None:
    """Where a witness knows of slots that were shown, a new store goes on after them, with the operator's word only."""
    fresh = StreamInStore(WitnessRecord("new", "town"), exists=False)
    with pytest.raises(StoreReplaced, match="slots up to 20"):
        reconcile(fresh, RECORD, QUIET)
    opening = reconcile(fresh, RECORD, replace(QUIET, shown=0))
    assert (opening.first, opening.last, opening.hold, opening.missing_changes) == (1, 20, 7, 5)
    assert opening.record.store == "new"
    begun = reconcile(fresh, replace(RECORD, slot=0, changes=0), QUIET)  # nothing was shown or promised
    assert (begun.given_up, begun.missing_changes) == (0, 0)
    assert reconcile(fresh, None, QUIET).hold == 1
    assert reconcile(fresh, None, replace(QUIET, shown=4)).hold == 50
    with pytest.raises(InvalidSetting, match="at most 1,000,000"):
        reconcile(fresh, None, replace(QUIET, shown=reconciling.MOST_GIVEN_UP + 1))
