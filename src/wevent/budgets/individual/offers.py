"""Offers budgets to individual rows, cut to their room: change and publish budgets, or publish budgets at a pace."""

from __future__ import annotations

from typing import Literal

import numpy as np

from wevent.budgets.forecast import paced_parts
from wevent.budgets.individual.certificates import NOT_PACED, Certificates
from wevent.budgets.individual.kernels import offering
from wevent.budgets.individual.kernels.arrays import OfferArrays, RowArrays
from wevent.budgets.individual.past import IndividualPast
from wevent.settings import Rest

Kind = Literal["distribution", "absorption"] | None


def offer_halves(
    past: IndividualPast, certificates: Certificates, row: RowArrays, kind: Kind, rest: Rest
) -> tuple[OfferArrays, bool]:
    """Change and publish budgets (SPEC §6), and whether a row rests and makes all rows rest."""
    certificates.keep_interval(NOT_PACED, row)
    if past.table.backward_window.max() > 1:
        certificates.keep_sums()
    offer, absorbing = _nothing(past, row), kind == "absorption"
    offering.propose(past.levels(), certificates.arrays, row, 0 if absorbing else 1, offer)
    nullified = absorbing and _absorb(past, certificates, row, rest, offer)
    if offer.marked.any():
        offering.cut_to_room(past.levels(), past.arrays(), row, certificates.sums, offer)
    _hold_back(past, row, offer)
    return offer, nullified


def offer_paced(past: IndividualPast, certificates: Certificates, row: RowArrays, interval: int) -> OfferArrays:
    """No change budget, and the least E / ceil(w/k) as publish budget; nothing for an interval of 0."""
    offer = _nothing(past, row)
    if interval:
        certificates.keep_interval(interval, row)
        caps = paced_parts(past.table.backward, past.table.backward_window, interval)
        offering.propose_paced(certificates.levels, caps, certificates.arrays, row, offer)
        if offer.marked.any():
            offering.cut_paced(past.levels(), past.arrays(), row, offer)
        _hold_back(past, row, offer)
    return offer


def _nothing(past: IndividualPast, row: RowArrays) -> OfferArrays:
    rows = row.sizes.size
    budgets = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    return OfferArrays(*budgets, np.zeros(rows, past.code), np.zeros(rows, np.bool_))


def _absorb(past: IndividualPast, certificates: Certificates, row: RowArrays, rest: Rest, offer: OfferArrays) -> bool:
    """Cut the publish budgets to what was saved; whether all rows rest."""
    levels, arrays = past.levels(), past.arrays()
    saved, rest_own = certificates.keep_saved(), rest == "own"
    if not rest_own:
        certificates.not_resting = offering.find_resting(levels, arrays, row, certificates.not_resting)
        if certificates.not_resting < row.sizes.size:
            offer.publish_budget[:] = 0
            return True
    unsaved = offer._replace(marked=np.empty(row.sizes.size, np.bool_))
    offering.mark_unsaved(levels, saved, row, past.slot, rest_own, unsaved)
    if unsaved.marked.any():
        offering.cut_to_saved(levels, arrays, saved, row, rest_own, unsaved)
    return False


def _hold_back(past: IndividualPast, row: RowArrays, offer: OfferArrays) -> None:
    """Offer nothing where no row has room yet, or where a declaration reaches back to forgotten slots."""
    if past.slot < past.no_room_before:
        offer.change_budget[:], offer.publish_budget[:], offer.change_codes[:] = 0, 0, 0
    elif past.slot - past.table.longest < past.forgotten:
        offering.hold_back(past.levels(), past.arrays(), row, offer)
