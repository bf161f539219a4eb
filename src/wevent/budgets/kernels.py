"""The arithmetic of `budgets.crowd`, row by row, compiled by numba (extra `fast`).

Per row a few certificates are kept instead of scanning all declarations in every slot: the least
share, the least left, and a lower bound of the room, each with the slot until which it is proven. What
expires is scanned anew. All numbers are exact and equal to those of `declarations`, `now` and
`schedules`, which the tests compare with.

Layout: the rings `past` (declared levels) and `codes` (the level whose share was spent as part 1, 0 for
nothing, the largest code for "look it up") have axes (block of 8 rows, slot modulo span, row in block),
so that writing a slot touches few cache lines and scanning a row stays local.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from wevent.units import UNBOUNDED

BLOCK = 8
FOREVER = np.int64(2**62)
_BIG = np.int64(UNBOUNDED)

jit = numba.njit(cache=True, nogil=True, boundscheck=False, error_model="numpy")

Ints = npt.NDArray[np.int64]


class Levels(NamedTuple):
    """The level table (axes: level)."""

    backward: Ints
    backward_window: Ints
    half: Ints
    forward: Ints
    forward_window: Ints
    share: Ints
    longest: int


class Past(NamedTuple):
    """What was declared and spent in the last slots."""

    past: npt.NDArray[Any]
    codes: npt.NDArray[Any]
    span: int
    escape: int
    escape_rows: npt.NDArray[np.int32]
    escape_values: Ints
    escape_start: Ints
    escape_count: Ints
    published: Ints  # slots of the publications in the ring, by place
    spent_2: Ints  # axes: row, place
    newest: int  # place of the newest publication
    publications: int  # how many are remembered


class Marks(NamedTuple):
    """Certificates per row, as of before the next slot; they speak of past declarations only (axes: row)."""

    left: Ints  # least EF/2 - U(τ) …
    left_until: Ints  # … proven until this slot
    share_code: npt.NDArray[Any]  # level of the least share …
    share_until: Ints  # … proven until this slot
    room: Ints  # lower bound of the least EF - everything spent since τ
    sum_1: Ints  # part 1 of the last span - 1 slots
    sum_2: Ints  # part 2 of the last span - 1 slots
    saved: Ints  # (t - τ + 1)·a_τ - U(τ) of one declaration …
    saved_code: npt.NDArray[Any]  # … of this level …
    saved_until: Ints  # … which is active until this slot
    awake: npt.NDArray[np.bool_]  # proven not to rest until the next publication
    born: Ints
    known: int  # rows born before this slot remember nothing older


@jit
def _part_1(levels, past, row, slot):  # type: ignore[no-untyped-def]
    """Part 1 that a row spent in a remembered slot."""
    place = slot % past.span
    code = np.int64(past.codes[row >> 3, place, row & 7])
    if code != past.escape:
        return levels.share[code]
    low = past.escape_start[place]
    high = low + past.escape_count[place]
    while low < high:
        middle = (low + high) >> 1
        if past.escape_rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return past.escape_values[low]


@jit
def _spent(levels, past, row, t, window):  # type: ignore[no-untyped-def]
    """Part 1 and part 2 in the slots t - window + 1 … t - 1."""
    first = t - window + 1
    part_1 = np.int64(0)
    for slot in range(max(first, 1), t):
        part_1 += _part_1(levels, past, row, slot)
    part_2 = np.int64(0)
    place = past.newest
    for _ in range(past.publications):
        if past.published[place] < first:
            break
        part_2 += past.spent_2[row, place]
        place = place - 1 if place > 0 else past.published.size - 1
    return part_1, part_2


@jit
def _scan(levels, past, marks, row, t):  # type: ignore[no-untyped-def]
    """Renew the certificates of the least share and the least left."""
    left, left_until = _BIG, FOREVER
    share, code, share_until = _BIG, np.int64(0), FOREVER
    since = np.int64(0)
    block, within = row >> 3, row & 7
    place, remaining = past.newest, past.publications
    next_publication = past.published[place] if remaining > 0 else np.int64(0)
    cell = t % past.span
    for age in range(1, min(levels.longest, past.span, t)):
        cell = cell - 1 if cell > 0 else past.span - 1
        if t - age == next_publication:
            since += past.spent_2[row, place]
            place = place - 1 if place > 0 else past.published.size - 1
            remaining -= 1
            next_publication = past.published[place] if remaining > 0 else np.int64(0)
        level = np.int64(past.past[block, cell, within])
        until = t - age + levels.forward_window[level] - 1
        if until >= t:
            value = levels.half[level] - since
            if value < left or (value == left and until > left_until):
                left, left_until = value, until
            value = levels.share[level]
            if value < share or (value == share and until > share_until):
                share, code, share_until = value, level, until
    marks.left[row], marks.left_until[row] = left, left_until
    marks.share_code[row], marks.share_until[row] = code, share_until


@jit
def _scan_room(levels, past, marks, row, t):  # type: ignore[no-untyped-def]
    """Make the lower bound of the room exact."""
    least, since = _BIG, np.int64(0)
    place, remaining = past.newest, past.publications
    for age in range(1, min(levels.longest, past.span, t)):
        slot = t - age
        if remaining > 0 and past.published[place] == slot:
            since += past.spent_2[row, place]
            place = place - 1 if place > 0 else past.published.size - 1
            remaining -= 1
        since += _part_1(levels, past, row, slot)
        level = np.int64(past.past[row >> 3, slot % past.span, row & 7])
        if age < levels.forward_window[level]:
            least = min(least, levels.forward[level] - since)
    marks.room[row] = least


@jit
def _scan_saved(levels, past, marks, row, t):  # type: ignore[no-untyped-def]
    """The least and the greatest (t - τ + 1)·a_τ - U(τ); keeps the greatest as a certificate."""
    least, most, most_code, most_until = _BIG, -_BIG, np.int64(0), np.int64(0)
    since = np.int64(0)
    block, within = row >> 3, row & 7
    place, remaining = past.newest, past.publications
    next_publication = past.published[place] if remaining > 0 else np.int64(0)
    cell = t % past.span
    for age in range(1, min(levels.longest, past.span, t)):
        cell = cell - 1 if cell > 0 else past.span - 1
        if t - age == next_publication:
            since += past.spent_2[row, place]
            place = place - 1 if place > 0 else past.published.size - 1
            remaining -= 1
            next_publication = past.published[place] if remaining > 0 else np.int64(0)
        level = np.int64(past.past[block, cell, within])
        if age < levels.forward_window[level]:
            value = (age + 1) * levels.share[level] - since
            least = min(least, value)
            if value > most:
                most, most_code, most_until = value, level, t - age + levels.forward_window[level] - 1
    marks.saved[row], marks.saved_code[row], marks.saved_until[row] = most, most_code, most_until
    return least, most


@jit
def _advance(levels, past, marks, row, t, published, leaving):  # type: ignore[no-untyped-def]
    """Take slot t - 1, which has closed, into the certificates of one row."""
    before = t - 1
    level = np.int64(past.past[row >> 3, before % past.span, row & 7])
    part_1 = _part_1(levels, past, row, before)
    part_2 = past.spent_2[row, past.newest] if published else np.int64(0)
    room = marks.room[row]
    if level > 0:
        until = before + levels.forward_window[level] - 1
        if marks.left_until[row] >= before:
            value, old = levels.half[level], marks.left[row]
            if value < old or (value == old and until > marks.left_until[row]):
                marks.left[row], marks.left_until[row] = value, until
        if marks.share_until[row] >= before:
            value, code = levels.share[level], np.int64(marks.share_code[row])
            old = levels.share[code] if code > 0 else _BIG
            if value < old or (value == old and until > marks.share_until[row]):
                marks.share_code[row], marks.share_until[row] = level, until
        room = min(room, levels.forward[level])
        saved = marks.saved[row]
        if marks.saved_until[row] < before or levels.share[level] >= saved:
            marks.saved[row], marks.saved_code[row], marks.saved_until[row] = levels.share[level], level, until
    if marks.left[row] < _BIG:
        marks.left[row] -= part_2
    if room < _BIG:
        room -= part_1 + part_2
    marks.room[row] = room
    marks.saved[row] += levels.share[np.int64(marks.saved_code[row])] - part_2
    if published:
        marks.awake[row] = False
    sum_1, sum_2 = marks.sum_1[row] + part_1, marks.sum_2[row] + part_2
    if t - past.span >= 1:  # slot t - span leaves; its cells are the ones that slot t is written to
        sum_1 -= _part_1(levels, past, row, t - past.span)
        if leaving >= 0:
            sum_2 -= past.spent_2[row, leaving]
    marks.sum_1[row], marks.sum_2[row] = sum_1, sum_2


@jit
def _back(levels, past, marks, row, t, level, part_1, part_2):  # type: ignore[no-untyped-def]
    """Cut both parts to what the backward requirement of this slot leaves."""
    budget, window = levels.backward[level], levels.backward_window[level]
    if t - window + 1 < marks.known and marks.born[row] < marks.known:
        return np.int64(0), np.int64(0)
    half = budget // 2
    sum_1, sum_2 = marks.sum_1[row], marks.sum_2[row]
    if half - sum_1 >= part_1 and half - sum_2 >= part_2 and budget - sum_1 - sum_2 >= part_1 + part_2:
        return part_1, part_2  # even the longest window leaves enough
    spent_1, spent_2 = _spent(levels, past, row, t, window)
    part_1 = max(min(part_1, half - spent_1, budget - spent_1 - spent_2), np.int64(0))
    part_2 = max(min(part_2, half - spent_2, budget - spent_1 - spent_2 - part_1), np.int64(0))
    return part_1, part_2


@jit
def _finish(levels, past, marks, row, t, level, share, code, wish, part_1, part_2):  # type: ignore[no-untyped-def]
    """Cut a wish to backward requirement and room, write it down, and say whether part 1 needs looking up."""
    one, two = _back(levels, past, marks, row, t, level, share, wish)
    room = min(marks.room[row], levels.forward[level])
    if one + two > room:
        _scan_room(levels, past, marks, row, t)
        room = max(min(marks.room[row], levels.forward[level]), np.int64(0))
        one = min(one, room)
        two = max(min(two, room - one), np.int64(0))
    part_1[row], part_2[row] = one, two
    block, cell, within = row >> 3, t % past.span, row & 7
    past.past[block, cell, within] = level
    if one == share:
        past.codes[block, cell, within] = code
        return 0
    past.codes[block, cell, within] = past.escape if one > 0 else 0
    return 1 if one > 0 else 0


@jit
def _least(levels, past, marks, row, t, level):  # type: ignore[no-untyped-def]
    """Least share, its level, and least left, with this slot's declaration included."""
    if marks.share_until[row] < t or marks.left_until[row] < t:
        _scan(levels, past, marks, row, t)
    code = np.int64(marks.share_code[row])
    share = levels.share[code] if code > 0 else _BIG
    if levels.share[level] <= share:
        share, code = levels.share[level], level
    return share, code, min(marks.left[row], levels.half[level])


@jit
def advance(levels, past, marks, rows, t, published, leaving):  # type: ignore[no-untyped-def]
    """Take the closed slot t - 1 into the certificates of all rows."""
    for row in range(rows):
        _advance(levels, past, marks, row, t, published, leaving)


@jit
def offer_distribution(levels, past, marks, now, sizes, t, part_1, part_2):  # type: ignore[no-untyped-def]
    """DPBD: half of the least left, all of what the backward side leaves; returns how many need looking up."""
    escapes = 0
    for row in range(sizes.size):
        level = np.int64(now[row])
        if sizes[row] == 0 or level == 0:
            part_1[row], part_2[row] = 0, 0
            past.past[row >> 3, t % past.span, row & 7] = 0
            past.codes[row >> 3, t % past.span, row & 7] = 0
            continue
        share, code, left = _least(levels, past, marks, row, t, level)
        wish = max(left >> 1, np.int64(0))
        escapes += _finish(levels, past, marks, row, t, level, share, code, wish, part_1, part_2)
    return escapes


@jit
def offer_absorption(levels, past, marks, now, sizes, t, nullified, own, part_1, part_2):  # type: ignore[no-untyped-def]
    """DPBA: the most that any declaration has saved, within what all leave; returns how many need looking up."""
    escapes = 0
    for row in range(sizes.size):
        level = np.int64(now[row])
        if sizes[row] == 0 or level == 0:
            part_1[row], part_2[row] = 0, 0
            past.past[row >> 3, t % past.span, row & 7] = 0
            past.codes[row >> 3, t % past.span, row & 7] = 0
            continue
        share, code, left = _least(levels, past, marks, row, t, level)
        wish = np.int64(0)
        if not nullified:
            wish = max(left, np.int64(0))
            if marks.saved_until[row] < t or marks.saved[row] < wish or (own and not marks.awake[row]):
                least, most = _scan_saved(levels, past, marks, row, t)
                if own and least <= 0:
                    wish = np.int64(0)
                else:
                    marks.awake[row] = True
                    wish = max(min(wish, max(most, levels.share[level])), np.int64(0))
        escapes += _finish(levels, past, marks, row, t, level, share, code, wish, part_1, part_2)
    return escapes


@jit
def find_resting(levels, past, marks, now, sizes, t, cursor):  # type: ignore[no-untyped-def]
    """The first row from `cursor` on that rests in slot t, or the number of rows if none does."""
    for row in range(cursor, sizes.size):
        if sizes[row] > 0 and not marks.awake[row]:
            least, _ = _scan_saved(levels, past, marks, row, t)
            if least <= 0:
                return row
            marks.awake[row] = True
    return sizes.size


@jit
def rooms(levels, past, marks, now, sizes, t, result):  # type: ignore[no-untyped-def]
    """Exact room of every row."""
    for row in range(sizes.size):
        level = np.int64(now[row])
        result[row] = 0
        if sizes[row] > 0 and level > 0:
            _scan_room(levels, past, marks, row, t)
            budget, window = levels.backward[level], levels.backward_window[level]
            spent_1, spent_2 = _spent(levels, past, row, t, window)
            back = budget - spent_1 - spent_2
            if t - window + 1 < marks.known and marks.born[row] < marks.known:
                back = np.int64(0)
            result[row] = max(min(marks.room[row], levels.forward[level], back), np.int64(0))


@jit
def fits(levels, past, marks, now, sizes, t, part_1, part_2):  # type: ignore[no-untyped-def]
    """The first row whose charge is negative or above its room, or the number of rows if there is none."""
    for row in range(sizes.size):
        one, two = part_1[row], part_2[row]
        if one == 0 and two == 0:
            continue
        level = np.int64(now[row])
        if one < 0 or two < 0 or sizes[row] == 0 or level == 0:
            return row
        budget, window = levels.backward[level], levels.backward_window[level]
        if t - window + 1 < marks.known and marks.born[row] < marks.known:
            return row
        if one + two > min(marks.room[row], levels.forward[level]):
            _scan_room(levels, past, marks, row, t)
            if one + two > min(marks.room[row], levels.forward[level]):
                return row
        if one + two > budget - marks.sum_1[row] - marks.sum_2[row]:
            spent_1, spent_2 = _spent(levels, past, row, t, window)
            if one + two > budget - spent_1 - spent_2:
                return row
    return sizes.size


@jit
def borders(levels, past, now, sizes, t, result):  # type: ignore[no-untyped-def]
    """Largest border b(τ) of every row over its active declarations."""
    for row in range(sizes.size):
        since, most = np.int64(0), -np.inf
        place, remaining = past.newest, past.publications
        if now[row] > 0:
            most = np.float64(t - 1)
        for age in range(1, min(levels.longest, past.span, t)):
            slot = t - age
            if remaining > 0 and past.published[place] == slot:
                since += past.spent_2[row, place]
                place = place - 1 if place > 0 else past.published.size - 1
                remaining -= 1
            level = np.int64(past.past[row >> 3, slot % past.span, row & 7])
            if age < levels.forward_window[level]:
                most = max(most, since / levels.share[level] + slot - 1)
        result[row] = most if sizes[row] > 0 else -np.inf


@jit
def part_1_of(levels, past, row, t, result):  # type: ignore[no-untyped-def]
    """Part 1 of one row in the last slots, oldest first."""
    for k in range(result.size):
        slot = t - result.size + k
        result[k] = _part_1(levels, past, row, slot) if slot >= 1 else 0
