"""Offers budgets to individual rows: a cheap bound for all rows, then a closer look at the rows that it marks.

The loops over all rows have no branches, so that the compiler turns them into vector code.
"""

from __future__ import annotations

import numpy as np

from wevent.budgets.individual.kernels.arrays import (
    IRREGULAR,
    NOT_RESTING,
    CertificateArrays,
    LevelArrays,
    OfferArrays,
    PastArrays,
    RowArrays,
    SavedArrays,
    jit,
)
from wevent.budgets.individual.kernels.reading import (
    reaches_forgotten,
    scan_room,
    scan_saved,
    spent_in_window,
    window_forgotten,
)
from wevent.units import Units


@jit
def propose(
    levels: LevelArrays, certificates: CertificateArrays, rows: RowArrays, halvings: int, offer: OfferArrays
) -> None:
    """Offer the least share, and the least left halved `halvings` times; mark rows whose backward side may bind."""
    half, shares, budgets, windows = levels.half, levels.share, levels.backward, levels.backward_window
    left, least_share, share_level = certificates.left, certificates.share, certificates.share_level
    declared_level, flags = rows.declared_level, rows.flags
    change_budget, publish_budget, change_codes, marked = offer
    for row in range(declared_level.size):
        level = declared_level[row]
        share = shares[level]
        change = min(least_share[row], share)
        publish = max(min(left[row], half[level]) >> halvings, 0)
        change_budget[row], publish_budget[row] = change, publish
        change_codes[row] = level if share <= least_share[row] else share_level[row]
        budget = budgets[level]
        tight = (max(change, publish) > budget >> 1) | (change + publish > budget) | (windows[level] > 1)
        marked[row] = (level > 0) & (tight | ((flags[row] & IRREGULAR) > 0))


@jit
def mark_unsaved(
    levels: LevelArrays, saved: SavedArrays, rows: RowArrays, slot: int, rest_own: bool, offer: OfferArrays
) -> None:
    """Mark the rows where the publish budget is not proven to have been saved or, with `rest_own`, that may rest."""
    shares, declared_level, flags = levels.share, rows.declared_level, rows.flags
    amount, saved_level, until = saved.amount, saved.level, saved.until
    publish_budget, marked = offer.publish_budget, offer.marked
    for row in range(declared_level.size):
        short = (until[row] < slot) | (amount[row] + slot * shares[saved_level[row]] < publish_budget[row])
        may_rest = rest_own & ((flags[row] & NOT_RESTING) == 0)
        marked[row] = (declared_level[row] > 0) & (short | may_rest)


@jit
def cut_to_saved(
    levels: LevelArrays, past: PastArrays, saved: SavedArrays, rows: RowArrays, rest_own: bool, offer: OfferArrays
) -> None:
    """Cut the marked rows to the most that a declaration saved; with `rest_own`, rows that rest offer nothing."""
    publish_budget = offer.publish_budget
    for row in range(publish_budget.size):
        if not offer.marked[row]:
            continue
        least, most, level, until = scan_saved(levels, past, row)
        saved.amount[row], saved.level[row], saved.until[row] = most - past.slot * levels.share[level], level, until
        if rest_own and least <= 0:
            publish_budget[row] = 0
        else:
            rows.flags[row] |= NOT_RESTING
            most = max(most, levels.share[np.int64(rows.declared_level[row])])
            publish_budget[row] = max(min(publish_budget[row], most), 0)


@jit
def cut_to_room(levels: LevelArrays, past: PastArrays, rows: RowArrays, sums: Units, offer: OfferArrays) -> None:
    """Cut the marked rows to their backward requirement and room.

    While the change budget never was above the least share then, every active declaration leaves at least the
    least left plus the least share: EF - U - Σ change budgets >= (EF/2 - U) + EF/2 - (wF - 1)·share. So rows
    that are not marked, and regular ones, need no scan of the forward side.
    """
    for row in range(offer.marked.size):
        if not offer.marked[row]:
            continue
        level = np.int64(rows.declared_level[row])
        budget, window = levels.backward[level], levels.backward_window[level]
        half, share = budget >> 1, offer.change_budget[row]
        change, publish = share, offer.publish_budget[row]
        spent_change, spent_publish = np.int64(0), np.int64(0)
        if window_forgotten(past, rows.born[row], window):
            change, publish = np.int64(0), np.int64(0)
        elif window > 1:
            spent_change, spent_publish = sums[row, 0], sums[row, 1]
            left = budget - spent_change - spent_publish
            if half - spent_change < change or half - spent_publish < publish or left < change + publish:
                # the sums reach further back than the window
                spent_change, spent_publish = spent_in_window(levels, past, row, window)
        left = budget - spent_change - spent_publish
        change = max(min(change, half - spent_change, left), np.int64(0))
        publish = max(min(publish, half - spent_publish, left - change), np.int64(0))
        if rows.flags[row] & IRREGULAR:
            room = max(min(scan_room(levels, past, row), levels.forward[level]), np.int64(0))
            change = min(change, room)
            publish = max(min(publish, room - change), np.int64(0))
        offer.change_budget[row], offer.publish_budget[row] = change, publish
        if change != share:
            offer.change_codes[row] = past.irregular_code if change > 0 else 0


@jit
def propose_paced(
    levels: LevelArrays, caps: Units, certificates: CertificateArrays, rows: RowArrays, offer: OfferArrays
) -> None:
    """Offer the least of paced share, backward one (`caps`, axes: level) and what is left; mark rows to look at.

    In `levels` and certificates EF stands in the place of EF/2 and EF / ceil(wF/k) in that of the share.
    """
    full, shares, windows = levels.half, levels.share, levels.backward_window
    left, least_share = certificates.left, certificates.share
    declared_level, flags = rows.declared_level, rows.flags
    publish_budget, marked = offer.publish_budget, offer.marked
    for row in range(declared_level.size):
        level = declared_level[row]
        publish = min(min(least_share[row], shares[level]), min(min(left[row], full[level]), caps[level]))
        publish_budget[row] = max(publish, 0)
        marked[row] = (level > 0) & (publish > 0) & ((windows[level] > 1) | ((flags[row] & IRREGULAR) > 0))


@jit
def cut_paced(levels: LevelArrays, past: PastArrays, rows: RowArrays, offer: OfferArrays) -> None:
    """Cut the marked rows to their backward requirement and, where change budget was spent, to the room."""
    for row in range(offer.marked.size):
        if not offer.marked[row]:
            continue
        level = np.int64(rows.declared_level[row])
        window, room = levels.backward_window[level], levels.backward[level]
        if window_forgotten(past, rows.born[row], window):
            room = np.int64(0)
        elif rows.flags[row] & IRREGULAR:
            change, publish = spent_in_window(levels, past, row, window)
            room -= change + publish
            room = min(room, min(scan_room(levels, past, row), levels.forward[level]))
        else:
            place = past.newest
            for _ in range(past.publications):
                if past.published[place] <= past.slot - window:
                    break
                room -= past.publish_spends[row, place]
                place = place - 1 if place > 0 else past.published.size - 1
        offer.publish_budget[row] = max(min(offer.publish_budget[row], room), np.int64(0))


@jit
def hold_back(levels: LevelArrays, past: PastArrays, rows: RowArrays, offer: OfferArrays) -> None:
    """Offer nothing to rows with an active declaration that reaches back to forgotten slots."""
    for row in range(offer.publish_budget.size):
        if reaches_forgotten(levels, past, rows, row):
            offer.change_budget[row], offer.publish_budget[row], offer.change_codes[row] = 0, 0, 0


@jit
def find_resting(levels: LevelArrays, past: PastArrays, rows: RowArrays, first: int) -> int:
    """The first row from `first` on that rests in slot t, or the number of rows if none does."""
    for row in range(first, rows.flags.size):
        if rows.declared_level[row] > 0 and not rows.flags[row] & NOT_RESTING:
            least, _, _, _ = scan_saved(levels, past, row)
            if least <= 0:
                return row
            rows.flags[row] |= NOT_RESTING
    return rows.flags.size
