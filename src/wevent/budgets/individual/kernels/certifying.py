"""Takes closed slots into the certificates of individual rows, and scans the past anew where a certificate expires."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wevent.budgets.individual.kernels.arrays import (
    BIG,
    FOREVER,
    NOT_RESTING,
    CertificateArrays,
    Codes,
    Int64s,
    LevelArrays,
    Marks,
    PastArrays,
    SavedArrays,
    inlined,
    jit,
)
from wevent.budgets.individual.kernels.reading import change_spend, spent_in_window
from wevent.units import Units


@inlined
def _insert(certificates: CertificateArrays, row: int, value: int, until: int) -> None:
    """Take a new declaration into the list of the least left: values and last slots both ascend."""
    left, left_until = certificates.left, certificates.left_until
    later, later_until = certificates.later_left, certificates.later_until
    count = np.int64(certificates.later_count[row])
    if until <= left_until[row]:
        if value < left[row]:
            count = min(count + 1, later.shape[1])
            for k in range(count - 1, 0, -1):
                later[row, k], later_until[row, k] = later[row, k - 1], later_until[row, k - 1]
            later[row, 0], later_until[row, 0] = left[row], left_until[row]
            left[row], left_until[row], certificates.later_count[row] = value, until, count
        return
    end = 0  # the entries before `end` last shorter than the new one
    while end < count and later_until[row, end] < until:
        end += 1
    if end < count:
        if later[row, end] <= value:
            return  # outlived by something smaller
    elif value > (later[row, count - 1] if count > 0 else left[row]):
        return  # beyond what is listed
    first = -1 if value <= left[row] else 0  # those from `first` on are also larger: the new one takes their place
    while 0 <= first < end and later[row, first] < value:
        first += 1
    move = first + 1 - end
    total = min(count + move, later.shape[1])
    if move > 0:
        for k in range(total - 1, first, -1):
            later[row, k], later_until[row, k] = later[row, k - move], later_until[row, k - move]
    elif move < 0:
        for k in range(first + 1, total):
            later[row, k], later_until[row, k] = later[row, k - move], later_until[row, k - move]
    if first < 0:
        left[row], left_until[row] = value, until
    elif first < later.shape[1]:
        later[row, first], later_until[row, first] = value, until
    certificates.later_count[row] = total


@inlined
def _greatest_left(certificates: CertificateArrays, row: int) -> int:
    """The largest value in the list of the least left; declarations that leave more do not matter."""
    count = certificates.later_count[row]
    return certificates.later_left[row, count - 1] if count > 0 else certificates.left[row]


@jit
def mark_touched(
    levels: LevelArrays, certificates: CertificateArrays, closed_level: Codes, slot: int, touched: Marks
) -> None:
    """Mark the rows whose certificates the declaration of slot - 1 changes, or which expire."""
    half, shares, windows = levels.half, levels.share, levels.forward_window
    left, left_until, greatest = certificates.left, certificates.left_until, certificates.greatest_left
    share, share_until = certificates.share, certificates.share_until
    for row in range(touched.size):
        level = closed_level[row]
        value, longer = half[level], windows[level] + slot - 2 > left_until[row]
        changes = (value < left[row]) | ((value <= greatest[row]) & longer) | (shares[level] <= share[row])
        touched[row] = ((level > 0) & changes) | (left_until[row] < slot) | (share_until[row] < slot)


@jit
def take_declarations(
    levels: LevelArrays, past: PastArrays, certificates: CertificateArrays, closed_level: Codes, touched: Marks
) -> None:
    """Take the declarations of slot t - 1 into the marked certificates; leaves those marked whose left expired."""
    left, left_until, share = certificates.left, certificates.left_until, certificates.share
    share_level, share_until = certificates.share_level, certificates.share_until
    later, later_until, count = certificates.later_left, certificates.later_until, certificates.later_count
    t = past.slot
    for row in range(touched.size):
        if not touched[row]:
            continue
        level = np.int64(closed_level[row])
        if level > 0:
            until = t + levels.forward_window[level] - 2
            if left_until[row] >= t - 1:
                _insert(certificates, row, levels.half[level], until)
            value = levels.share[level]
            if share_until[row] >= t - 1 and (value < share[row] or (value == share[row] and until > share_until[row])):
                share[row], share_level[row], share_until[row] = value, level, until
        if left_until[row] < t and count[row] > 0:
            left[row], left_until[row] = later[row, 0], later_until[row, 0]
            count[row] -= 1
            for k in range(np.int64(count[row])):
                later[row, k], later_until[row, k] = later[row, k + 1], later_until[row, k + 1]
        certificates.greatest_left[row] = _greatest_left(certificates, row)
        touched[row] = left_until[row] < t
        if share_until[row] < t:
            least, least_level, latest = BIG, np.int64(0), FOREVER
            for age in range(1, min(past.longest, past.span, t)):
                level = np.int64(past.declared[row >> 3, (t - age) % past.span, row & 7])
                until = t - age + levels.forward_window[level] - 1
                value = levels.share[level]
                if until >= t and (value < least or (value == least and until > latest)):
                    least, least_level, latest = value, level, until
            share[row], share_level[row], share_until[row] = least, least_level, latest


@jit
def rescan_left(
    levels: LevelArrays, past: PastArrays, certificates: CertificateArrays, rows: Int64s, flat: Codes, scratch: Int64s
) -> None:
    """Scan `rows` for the least left now and in the slots to come.

    `flat` is the ring `declared` as one line, which is read faster; `scratch` has axes (2; 0 … longest window).
    `best` gathers the least by last slot; going from the last slot of all down, every new least is one of the list.
    """
    half, windows, span, t = levels.half, levels.forward_window, past.span, past.slot
    later, later_until, listed = certificates.later_left, certificates.later_until, certificates.later_count
    ends, best = scratch[0], scratch[1]
    ages, room = min(past.longest, span, t), later.shape[1]
    for row in rows:
        base = (row >> 3) * span * 8 + (row & 7)
        best[:] = BIG
        since, age = np.int64(0), 1
        place, remaining = past.newest, past.publications
        while age < ages:
            upto = ages  # down to the next publication, and no further than the ring goes without a break
            if remaining > 0 and t - past.published[place] < ages:
                if t - past.published[place] == age:
                    since += past.publish_spends[row, place]
                    place = place - 1 if place > 0 else past.published.size - 1
                    remaining -= 1
                if remaining > 0:
                    upto = min(upto, max(t - past.published[place], age + 1))
            cell = (t - age) % span
            upto = min(upto, age + cell + 1)
            index = base + 8 * (cell + age)
            for k in range(age, upto):
                level = flat[np.uint64(index - 8 * k)]
                ahead = max(windows[level] - k, 0)  # 0 if no longer active; best[0] is not read
                best[np.uint64(ahead)] = min(best[np.uint64(ahead)], half[level] - since)
            age = upto
        least, count = BIG, 0
        for ahead in range(past.longest, 0, -1):
            if best[ahead] < least:
                least = best[ahead]
                ends[count] = ahead
                count += 1
        listed[row] = 0
        if count == 0:
            certificates.left[row], certificates.left_until[row] = BIG, FOREVER
        else:
            certificates.left[row], certificates.left_until[row] = best[ends[count - 1]], t + ends[count - 1] - 1
            for k in range(min(count - 1, room)):
                ahead = ends[count - 2 - k]
                later[row, k], later_until[row, k] = best[ahead], t + ahead - 1
                listed[row] += 1
            if count - 1 < room:  # nothing else is active after that
                later[row, count - 1], later_until[row, count - 1] = BIG, FOREVER
                listed[row] += 1
        certificates.greatest_left[row] = _greatest_left(certificates, row)


@jit
def take_publication(certificates: CertificateArrays, flags: npt.NDArray[np.uint8], spent: Units) -> None:
    """Take the publish budgets of the closed slot off what is left; any row may rest from here on."""
    left, greatest, later = certificates.left, certificates.greatest_left, certificates.later_left
    for row in range(left.size):
        budget = spent[row]
        left[row] -= budget if left[row] < BIG else 0
        for k in range(np.int64(certificates.later_count[row])):
            later[row, k] -= budget if later[row, k] < BIG else 0
        greatest[row] -= budget if greatest[row] < BIG else 0
        flags[row] &= ~NOT_RESTING


@jit
def take_saved(levels: LevelArrays, saved: SavedArrays, closed_level: Codes, slot: int, spent: Units) -> None:
    """Take slot - 1 into the certificates of absorption; `spent` is empty if it published nothing."""
    shares, windows = levels.share, levels.forward_window
    amount, saved_level, saved_until = saved.amount, saved.level, saved.until
    for row in range(amount.size):
        level = closed_level[row]
        share = shares[level]
        proven = amount[row] + (slot - 1) * shares[saved_level[row]]
        if (level > 0) & ((saved_until[row] < slot - 1) | (share >= proven)):
            amount[row], saved_level[row], saved_until[row] = (2 - slot) * share, level, slot + windows[level] - 2
    for row in range(spent.size):
        amount[row] -= spent[row]


@jit
def take_sums(levels: LevelArrays, past: PastArrays, sums: Units, spent: Units, leaving: int) -> None:
    """Take slot t - 1 into the sums, and the slot that leaves the span out of them.

    `spent` is empty if slot t - 1 published nothing; `leaving` is the place of the publication that leaves, or -1.
    """
    entered, left = (past.slot - 1) % past.span, past.slot % past.span
    for row in range(sums.shape[0]):
        sums[row, 0] += change_spend(levels, past, row, entered)
        if spent.size:
            sums[row, 1] += spent[row]
        if past.slot > past.span:
            sums[row, 0] -= change_spend(levels, past, row, left)
            if leaving >= 0:
                sums[row, 1] -= past.publish_spends[row, leaving]


@jit
def sum_up(levels: LevelArrays, past: PastArrays, sums: Units) -> None:
    """Sums over the last span - 1 slots from scratch, as of before slot t."""
    for row in range(sums.shape[0]):
        sums[row, 0], sums[row, 1] = spent_in_window(levels, past, row, past.span)
