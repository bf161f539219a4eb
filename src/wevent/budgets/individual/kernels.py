"""The arithmetic of `budgets.individual`, compiled by numba (extra `fast`).

Per row a few certificates are kept instead of scanning all declarations in every slot: the least left
now and in the slots to come, and the least share, each with the slot until which it is proven. What
expires is scanned anew. All numbers are exact and equal to those of `declarations`, `now` and
`schedules`, which the tests compare with.

A slot goes over all rows in loops without branches, which the compiler turns into vector code, and
picks out the few rows that need attention for loops that look closer.

Arrays that many kernels take:

    levels   int64   axes (EB, wB, EF/2, EF, wF, share; level); level 0 declares nothing
    facts    int64   span, escape code, place of the newest publication, how many are kept, known, forgotten, longest wF
    past     codes   declared levels, axes (block of 8 rows, slot modulo span, row in block): writing a
                     slot touches few cache lines, scanning a row stays local
    codes    codes   the level whose share was spent as part 1; 0 for nothing, the escape code for "look it up"
    odd_rows, odd_values, odd_index    what is to be looked up: rows and values, axes (start, count; slot modulo span)
    published int64  slots of the publications, by place
    spent_2  int64   axes (row, place)
    left, left_until        least EF/2 - U(τ) over past declarations, and the slot until which that is so
    after, after_until      the least after that and until when, and so on, axes (row, place); `known` are valid
    top                     the largest of these values
    share, share_code, share_until    the least share, its level, and until when
    saved, saved_code, saved_until    (1 - τ)·a_τ - U(τ) of one declaration, its level, its last slot
    sums     int64   part 1 and part 2 of the last span - 1 slots, axes (row, part)

Reference counting is off (`_nrt`): nothing is allocated here, and counting costs ten times the work.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from wevent.units import UNBOUNDED

BLOCK = 8
AFTER = 3
"""How many values of the least left to come are kept per row."""
_BIG = np.int64(UNBOUNDED)
_FOREVER = np.int64(2**62)

BACKWARD, BACKWARD_WINDOW, HALF, FORWARD, FORWARD_WINDOW, SHARE = range(6)
SPAN, ESCAPE, NEWEST, PUBLICATIONS, KNOWN, FORGOTTEN, LONGEST = range(7)
AWAKE, IRREGULAR = (
    1,
    2,
)  # flags: proven not to rest until the next publication; spent more than a share in part 1

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
jit: Any = numba.njit(**_OPTIONS)
inlined: Any = numba.njit(**_OPTIONS, forceinline=True)


@inlined
def _odd(irregular_rows, irregular_values, irregular_index, place, row):  # type: ignore[no-untyped-def]
    """Look up a part 1 that is no level's share."""
    low = irregular_index[0, place]
    high = low + irregular_index[1, place]
    while low < high:
        middle = (low + high) >> 1
        if irregular_rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return irregular_values[low]


@inlined
def _part_1(levels, facts, codes, irregular_rows, irregular_values, irregular_index, row, place):  # type: ignore[no-untyped-def]
    """Part 1 that a row spent in the slot of a place in the ring."""
    code = np.int64(codes[row >> 3, place, row & 7])
    if code == facts[ESCAPE]:
        return _odd(irregular_rows, irregular_values, irregular_index, place, row)
    return levels[SHARE, code]


@jit
def _spent(levels, facts, codes, irregular_rows, irregular_values, irregular_index, published, spent_2, row, t, window):  # type: ignore[no-untyped-def]
    """Part 1 and part 2 in the slots t - window + 1 … t - 1."""
    change_budget, publish_budget = np.int64(0), np.int64(0)
    place = t % facts[SPAN]
    for _ in range(min(window, t) - 1):
        place = place - 1 if place > 0 else facts[SPAN] - 1
        change_budget += _part_1(levels, facts, codes, irregular_rows, irregular_values, irregular_index, row, place)
    place = facts[NEWEST]
    for _ in range(facts[PUBLICATIONS]):
        if published[place] <= t - window:
            break
        publish_budget += spent_2[row, place]
        place = place - 1 if place > 0 else published.size - 1
    return change_budget, publish_budget


@jit
def _scan_room(  # type: ignore[no-untyped-def]
    levels, facts, past, codes, irregular_rows, irregular_values, irregular_index, published, spent_2, row, t
):
    """Least EF less everything spent since τ, over past declarations that are active."""
    least, since = _BIG, np.int64(0)
    place, remaining = facts[NEWEST], facts[PUBLICATIONS]
    cell = t % facts[SPAN]
    for age in range(1, min(facts[LONGEST], facts[SPAN], t)):
        cell = cell - 1 if cell > 0 else facts[SPAN] - 1
        if remaining > 0 and published[place] == t - age:
            since += spent_2[row, place]
            place = place - 1 if place > 0 else published.size - 1
            remaining -= 1
        since += _part_1(levels, facts, codes, irregular_rows, irregular_values, irregular_index, row, cell)
        level = np.int64(past[row >> 3, cell, row & 7])
        if age < levels[FORWARD_WINDOW, level]:
            least = min(least, levels[FORWARD, level] - since)
    return least


@jit
def _unknown_ahead(levels, facts, past, now, row, t):  # type: ignore[no-untyped-def]
    """Whether the window of an active declaration reaches back to forgotten slots."""
    if t - facts[LONGEST] >= facts[FORGOTTEN]:
        return False
    if t - levels[FORWARD_WINDOW, np.int64(now[row])] < facts[FORGOTTEN]:
        return True
    for age in range(1, min(facts[LONGEST], facts[SPAN], t)):
        window = levels[FORWARD_WINDOW, np.int64(past[row >> 3, (t - age) % facts[SPAN], row & 7])]
        if age < window and t - window < facts[FORGOTTEN]:
            return True
    return False


@jit
def _scan_saved(levels, facts, past, published, spent_2, row, t):  # type: ignore[no-untyped-def]
    """The least and the greatest (t - τ + 1)·a_τ - U(τ), with the level and last slot of that."""
    least, most, most_code, most_until = _BIG, -_BIG, np.int64(0), np.int64(0)
    since = np.int64(0)
    place, remaining = facts[NEWEST], facts[PUBLICATIONS]
    next_publication = published[place] if remaining > 0 else np.int64(0)
    cell, last_cell = t % facts[SPAN], facts[SPAN] - 1
    for age in range(1, min(facts[LONGEST], facts[SPAN], t)):
        cell = cell - 1 if cell > 0 else last_cell
        if t - age == next_publication:
            since += spent_2[row, place]
            place = place - 1 if place > 0 else published.size - 1
            remaining -= 1
            next_publication = published[place] if remaining > 0 else np.int64(0)
        level = np.int64(past[row >> 3, cell, row & 7])
        if age < levels[FORWARD_WINDOW, level]:
            value = (age + 1) * levels[SHARE, level] - since
            least = min(least, value)
            if value > most:
                most, most_code, most_until = value, level, t - age + levels[FORWARD_WINDOW, level] - 1
    return least, most, most_code, most_until


@inlined
def _take(left, left_until, after, after_until, known, row, value, until):  # type: ignore[no-untyped-def]
    """Take a new declaration into the list of the least left: values and last slots both ascend."""
    count = np.int64(known[row])
    if until <= left_until[row]:
        if value < left[row]:
            count = min(count + 1, after.shape[1])
            for k in range(count - 1, 0, -1):
                after[row, k], after_until[row, k] = after[row, k - 1], after_until[row, k - 1]
            after[row, 0], after_until[row, 0] = left[row], left_until[row]
            left[row], left_until[row], known[row] = value, until, count
        return
    end = 0  # the entries before `end` last shorter than the new one
    while end < count and after_until[row, end] < until:
        end += 1
    if end < count:
        if after[row, end] <= value:
            return  # outlived by something smaller
    elif value > (after[row, count - 1] if count > 0 else left[row]):
        return  # beyond what is known
    first = -1 if value <= left[row] else 0  # those from `first` on are also larger: the new one takes their place
    while 0 <= first < end and after[row, first] < value:
        first += 1
    move = first + 1 - end
    total = min(count + move, after.shape[1])
    if move > 0:
        for k in range(total - 1, first, -1):
            after[row, k], after_until[row, k] = after[row, k - move], after_until[row, k - move]
    elif move < 0:
        for k in range(first + 1, total):
            after[row, k], after_until[row, k] = after[row, k - move], after_until[row, k - move]
    if first < 0:
        left[row], left_until[row] = value, until
    elif first < after.shape[1]:
        after[row, first], after_until[row, first] = value, until
    known[row] = total


@inlined
def _top(left, after, known, row):  # type: ignore[no-untyped-def]
    """The largest value in the list; what is above it does not matter."""
    return after[row, known[row] - 1] if known[row] > 0 else left[row]


@jit
def find_news(levels, last, left, left_until, top, share, share_until, t, news):  # type: ignore[no-untyped-def]
    """Mark the rows whose certificates the declaration of slot t - 1 touches, or which expire."""
    half, shares, windows = levels[HALF], levels[SHARE], levels[FORWARD_WINDOW]
    for row in range(news.size):
        level = last[row]
        value, longer = half[level], windows[level] + t - 2 > left_until[row]
        touched = (value < left[row]) | ((value <= top[row]) & longer) | (shares[level] <= share[row])
        news[row] = ((level > 0) & touched) | (left_until[row] < t) | (share_until[row] < t)


@jit
def take_news(  # type: ignore[no-untyped-def]
    levels,
    facts,
    past,
    last,
    left,
    left_until,
    after,
    after_until,
    known,
    top,
    share,
    share_code,
    share_until,
    t,
    news,
):
    """Take the closed slot t - 1 into the certificates of the marked rows; leaves those marked whose left expired."""
    for row in range(news.size):
        if not news[row]:
            continue
        level = np.int64(last[row])
        if level > 0:
            until = t + levels[FORWARD_WINDOW, level] - 2
            if left_until[row] >= t - 1:
                _take(left, left_until, after, after_until, known, row, levels[HALF, level], until)
            value = levels[SHARE, level]
            if share_until[row] >= t - 1 and (value < share[row] or (value == share[row] and until > share_until[row])):
                share[row], share_code[row], share_until[row] = value, level, until
        if left_until[row] < t and known[row] > 0:
            left[row], left_until[row] = after[row, 0], after_until[row, 0]
            known[row] -= 1
            for k in range(np.int64(known[row])):
                after[row, k], after_until[row, k] = after[row, k + 1], after_until[row, k + 1]
        top[row] = _top(left, after, known, row)
        news[row] = left_until[row] < t
        if share_until[row] < t:
            least, code, latest = _BIG, np.int64(0), _FOREVER
            for age in range(1, min(facts[LONGEST], facts[SPAN], t)):
                level = np.int64(past[row >> 3, (t - age) % facts[SPAN], row & 7])
                until = t - age + levels[FORWARD_WINDOW, level] - 1
                value = levels[SHARE, level]
                if until >= t and (value < least or (value == least and until > latest)):
                    least, code, latest = value, level, until
            share[row], share_code[row], share_until[row] = least, code, latest


@jit
def renew(  # type: ignore[no-untyped-def]
    levels,
    facts,
    flat,
    published,
    spent_2,
    left,
    left_until,
    after,
    after_until,
    known,
    top,
    t,
    rows,
    ends,
    best,
):
    """Scan `rows` for the least left now and in the slots to come; `flat` is the ring `past` as one line.

    `best` gathers the least by last slot; going from the last slot of all down, every new least is one of the list.
    """
    half, windows, span = levels[HALF], levels[FORWARD_WINDOW], facts[SPAN]
    ages, room = min(facts[LONGEST], span, t), after.shape[1]
    for row in rows:
        base = (row >> 3) * span * 8 + (row & 7)
        best[:] = _BIG
        since, age = np.int64(0), np.int64(1)
        place, remaining = facts[NEWEST], facts[PUBLICATIONS]
        while age < ages:
            upto = ages  # down to the next publication, and no further than the ring goes without a break
            if remaining > 0 and t - published[place] < ages:
                if t - published[place] == age:
                    since += spent_2[row, place]
                    place = place - 1 if place > 0 else published.size - 1
                    remaining -= 1
                if remaining > 0:
                    upto = min(upto, max(t - published[place], age + 1))
            cell = (t - age) % span
            upto = min(upto, age + cell + 1)
            index = base + 8 * (cell + age)
            for k in range(age, upto):
                level = flat[np.uint64(index - 8 * k)]
                ahead = max(windows[level] - k, 0)  # 0 if no longer active, which is not looked at
                best[np.uint64(ahead)] = min(best[np.uint64(ahead)], half[level] - since)
            age = upto
        least, count = _BIG, 0
        for ahead in range(facts[LONGEST], 0, -1):
            if best[ahead] < least:
                least = best[ahead]
                ends[count] = ahead
                count += 1
        known[row] = 0
        if count == 0:
            left[row], left_until[row] = _BIG, _FOREVER
        else:
            left[row], left_until[row] = best[ends[count - 1]], t + ends[count - 1] - 1
            for k in range(min(count - 1, room)):
                ahead = ends[count - 2 - k]
                after[row, k], after_until[row, k] = best[ahead], t + ahead - 1
                known[row] += 1
            if count - 1 < room:  # nothing else is active after that
                after[row, count - 1], after_until[row, count - 1] = _BIG, _FOREVER
                known[row] += 1
        top[row] = _top(left, after, known, row)


@jit
def take_publication(left, after, known, top, publish_budget, flags):  # type: ignore[no-untyped-def]
    """Take a publication off what is left."""
    for row in range(left.size):
        spent = publish_budget[row]
        left[row] -= spent if left[row] < _BIG else 0
        for k in range(np.int64(known[row])):
            after[row, k] -= spent if after[row, k] < _BIG else 0
        top[row] -= spent if top[row] < _BIG else 0
        flags[row] &= ~AWAKE


@jit
def take_saved(levels, last, saved, saved_code, saved_until, t, fresh, publish_budget):  # type: ignore[no-untyped-def]
    """Take the closed slot t - 1 into the certificate of absorption."""
    shares, windows = levels[SHARE], levels[FORWARD_WINDOW]
    for row in range(saved.size):
        level = last[row]
        mine = shares[level]
        better = (level > 0) & ((saved_until[row] < t - 1) | (mine >= saved[row] + (t - 1) * shares[saved_code[row]]))
        if better:
            saved[row], saved_code[row], saved_until[row] = (2 - t) * mine, level, t + windows[level] - 2
    if fresh:
        for row in range(saved.size):
            saved[row] -= publish_budget[row]


@jit
def take_sums(  # type: ignore[no-untyped-def]
    levels,
    facts,
    codes,
    irregular_rows,
    irregular_values,
    irregular_index,
    spent_2,
    sums,
    t,
    fresh,
    publish_budget,
    leaving,
):
    """Take the closed slot t - 1 into the sums, and the slot that leaves the span out of them."""
    here, before = t % facts[SPAN], (t - 1) % facts[SPAN]
    for row in range(sums.shape[0]):
        sums[row, 0] += _part_1(levels, facts, codes, irregular_rows, irregular_values, irregular_index, row, before)
        if fresh:
            sums[row, 1] += publish_budget[row]
        if t > facts[SPAN]:
            sums[row, 0] -= _part_1(levels, facts, codes, irregular_rows, irregular_values, irregular_index, row, here)
            if leaving >= 0:
                sums[row, 1] -= spent_2[row, leaving]


@jit
def sum_up(levels, facts, codes, irregular_rows, irregular_values, irregular_index, published, spent_2, sums, t):  # type: ignore[no-untyped-def]
    """Sums over the last span - 1 slots from scratch, as of before slot t."""
    for row in range(sums.shape[0]):
        sums[row, 0], sums[row, 1] = _spent(
            levels,
            facts,
            codes,
            irregular_rows,
            irregular_values,
            irregular_index,
            published,
            spent_2,
            row,
            t,
            facts[SPAN],
        )


@jit
def propose(levels, now, left, share, share_code, flags, drop, change_budget, publish_budget, spent_codes, special):  # type: ignore[no-untyped-def]
    """Least share, and least left shifted right by `drop`, with this slot's declaration; marks rows to look at."""
    half, shares, budgets, windows = levels[HALF], levels[SHARE], levels[BACKWARD], levels[BACKWARD_WINDOW]
    for row in range(now.size):
        level = now[row]
        mine = shares[level]
        one = min(share[row], mine)
        two = max(min(left[row], half[level]) >> drop, 0)
        change_budget[row], publish_budget[row] = one, two
        spent_codes[row] = level if mine <= share[row] else share_code[row]
        budget = budgets[level]
        tight = (max(one, two) > budget >> 1) | (one + two > budget) | (windows[level] > 1)
        special[row] = (level > 0) & (tight | ((flags[row] & IRREGULAR) > 0))


@jit
def propose_saved(levels, now, saved, saved_code, saved_until, flags, t, own, publish_budget, special):  # type: ignore[no-untyped-def]
    """Mark the rows where what is left is not proven to have been saved."""
    shares = levels[SHARE]
    for row in range(now.size):
        short = (saved_until[row] < t) | (saved[row] + t * shares[saved_code[row]] < publish_budget[row])
        drowsy = own & ((flags[row] & AWAKE) == 0)
        special[row] |= (now[row] > 0) & (short | drowsy)


@jit
def cut_to_saved(  # type: ignore[no-untyped-def]
    levels,
    facts,
    past,
    published,
    spent_2,
    now,
    saved,
    saved_code,
    saved_until,
    flags,
    t,
    own,
    publish_budget,
    special,
):
    """Scan the marked rows for the most saved; with `own`, rows that rest offer nothing."""
    for row in range(now.size):
        if special[row]:
            least, most, code, until = _scan_saved(levels, facts, past, published, spent_2, row, t)
            saved[row], saved_code[row], saved_until[row] = most - t * levels[SHARE, code], code, until
            if own and least <= 0:
                publish_budget[row] = 0
            else:
                flags[row] |= AWAKE
                publish_budget[row] = max(min(publish_budget[row], max(most, levels[SHARE, np.int64(now[row])])), 0)


@jit
def cut_to_room(  # type: ignore[no-untyped-def]
    levels, facts, past, codes, irregular_rows, irregular_values, irregular_index, published, spent_2, sums, flags, born,
    now, left, t, change_budget, publish_budget, spent_codes, special,
):  # fmt: skip
    """Cut the marked rows to their backward requirement and room; returns how many shares need looking up.

    While part 1 never was above the least share then, every active declaration leaves at least the
    least left plus the least share: EF - U - Σ part 1 >= (EF/2 - U) + EF/2 - (wF - 1)·share. So rows
    that are not marked, and regular ones, need no scan of the forward side.
    """
    irregular, known, forgotten = 0, facts[KNOWN], facts[FORGOTTEN]
    for row in range(now.size):
        if not special[row]:
            continue
        level = np.int64(now[row])
        budget, window = levels[BACKWARD, level], levels[BACKWARD_WINDOW, level]
        half, share = budget >> 1, change_budget[row]
        one, two = share, publish_budget[row]
        sum_1, sum_2 = np.int64(0), np.int64(0)
        if t - window < forgotten or (t - window + 1 < known and born[row] < known):
            one, two = np.int64(0), np.int64(0)  # the window reaches into forgotten slots
        elif window > 1:
            sum_1, sum_2 = sums[row, 0], sums[row, 1]
            if half - sum_1 < one or half - sum_2 < two or budget - sum_1 - sum_2 < one + two:
                sum_1, sum_2 = _spent(  # the sums reach further back than the window
                    levels,
                    facts,
                    codes,
                    irregular_rows,
                    irregular_values,
                    irregular_index,
                    published,
                    spent_2,
                    row,
                    t,
                    window,
                )
        one = max(min(one, half - sum_1, budget - sum_1 - sum_2), np.int64(0))
        two = max(min(two, half - sum_2, budget - sum_1 - sum_2 - one), np.int64(0))
        if flags[row] & IRREGULAR:
            room = _scan_room(
                levels,
                facts,
                past,
                codes,
                irregular_rows,
                irregular_values,
                irregular_index,
                published,
                spent_2,
                row,
                t,
            )
            room = max(min(room, levels[FORWARD, level]), np.int64(0))
            one = min(one, room)
            two = max(min(two, room - one), np.int64(0))
        change_budget[row], publish_budget[row] = one, two
        if one != share:
            spent_codes[row] = facts[ESCAPE] if one > 0 else 0
            irregular += 1 if one > 0 else 0
    return irregular


@jit
def propose_part(levels, caps, now, left, share, flags, publish_budget, special):  # type: ignore[no-untyped-def]
    """The least of part, backward part (`caps`, axes: level) and what is left; marks rows to look at.

    In `levels` and certificates EF stands in the place of EF/2 and EF / ceil(wF/k) in that of the share.
    """
    whole, parts, windows = levels[HALF], levels[SHARE], levels[BACKWARD_WINDOW]
    for row in range(now.size):
        level = now[row]
        two = min(min(share[row], parts[level]), min(min(left[row], whole[level]), caps[level]))
        publish_budget[row] = max(two, 0)
        special[row] = (level > 0) & (two > 0) & ((windows[level] > 1) | ((flags[row] & IRREGULAR) > 0))


@jit
def cut_part(  # type: ignore[no-untyped-def]
    levels, facts, past, codes, irregular_rows, irregular_values, irregular_index, published, spent_2, flags, born, now, t,
    publish_budget, special,
):  # fmt: skip
    """Cut part 2 of the marked rows to their backward requirement and, where part 1 was spent, to the room."""
    known, forgotten = facts[KNOWN], facts[FORGOTTEN]
    for row in range(now.size):
        if not special[row]:
            continue
        level = np.int64(now[row])
        window, two = levels[BACKWARD_WINDOW, level], publish_budget[row]
        room = levels[BACKWARD, level]
        if t - window < forgotten or (t - window + 1 < known and born[row] < known):
            room = np.int64(0)  # the window reaches into forgotten slots
        elif flags[row] & IRREGULAR:
            sum_1, sum_2 = _spent(
                levels,
                facts,
                codes,
                irregular_rows,
                irregular_values,
                irregular_index,
                published,
                spent_2,
                row,
                t,
                window,
            )
            room -= sum_1 + sum_2
            ahead = _scan_room(
                levels,
                facts,
                past,
                codes,
                irregular_rows,
                irregular_values,
                irregular_index,
                published,
                spent_2,
                row,
                t,
            )
            room = min(room, min(ahead, levels[FORWARD, level]))
        else:
            place = facts[NEWEST]
            for _ in range(facts[PUBLICATIONS]):
                if published[place] <= t - window:
                    break
                room -= spent_2[row, place]
                place = place - 1 if place > 0 else published.size - 1
        publish_budget[row] = max(min(two, room), np.int64(0))


@jit
def hold_back(levels, facts, past, now, t, change_budget, publish_budget, spent_codes):  # type: ignore[no-untyped-def]
    """Offer nothing to rows with an active declaration that reaches back to forgotten slots."""
    for row in range(now.size):
        if _unknown_ahead(levels, facts, past, now, row, t):
            change_budget[row], publish_budget[row], spent_codes[row] = 0, 0, 0


@jit
def assign(now, levels, choice):  # type: ignore[no-untyped-def]
    """Let every row declare a level by its index, -1 for no change."""
    for row in range(now.size):
        if choice[row] >= 0:
            now[row] = levels[choice[row]]


@jit
def write_ring(ring, place, column):  # type: ignore[no-untyped-def]
    """Write one slot of a ring."""
    whole = column.size >> 3
    for block in range(whole):
        for k in range(8):
            ring[block, place, k] = column[(block << 3) + k]
    for row in range(whole << 3, column.size):
        ring[whole, place, row & 7] = column[row]


@jit
def find_resting(levels, facts, past, published, spent_2, now, flags, t, cursor):  # type: ignore[no-untyped-def]
    """The first row from `cursor` on that rests in slot t, or the number of rows if none does."""
    for row in range(cursor, now.size):
        if now[row] > 0 and not flags[row] & AWAKE:
            least, _, _, _ = _scan_saved(levels, facts, past, published, spent_2, row, t)
            if least <= 0:
                return row
            flags[row] |= AWAKE
    return now.size


@jit
def rooms(  # type: ignore[no-untyped-def]
    levels,
    facts,
    past,
    codes,
    irregular_rows,
    irregular_values,
    irregular_index,
    published,
    spent_2,
    born,
    now,
    t,
    result,
):
    """Exact room of every row."""
    for row in range(now.size):
        level = np.int64(now[row])
        result[row] = 0
        if level > 0:
            room = _scan_room(
                levels,
                facts,
                past,
                codes,
                irregular_rows,
                irregular_values,
                irregular_index,
                published,
                spent_2,
                row,
                t,
            )
            budget, window = levels[BACKWARD, level], levels[BACKWARD_WINDOW, level]
            one, two = _spent(
                levels,
                facts,
                codes,
                irregular_rows,
                irregular_values,
                irregular_index,
                published,
                spent_2,
                row,
                t,
                window,
            )
            if t - window < facts[FORGOTTEN] or (t - window + 1 < facts[KNOWN] and born[row] < facts[KNOWN]):
                budget = one + two
            if _unknown_ahead(levels, facts, past, now, row, t):
                room = np.int64(0)
            result[row] = max(min(room, levels[FORWARD, level], budget - one - two), np.int64(0))


@jit
def borders(levels, facts, past, published, spent_2, now, t, result):  # type: ignore[no-untyped-def]
    """Largest border b(τ) of every row over its active declarations."""
    for row in range(now.size):
        since, most = np.int64(0), -np.inf
        place, remaining = facts[NEWEST], facts[PUBLICATIONS]
        if now[row] > 0:
            most = np.float64(t - 1)
        for age in range(1, min(facts[LONGEST], facts[SPAN], t)):
            slot = t - age
            if remaining > 0 and published[place] == slot:
                since += spent_2[row, place]
                place = place - 1 if place > 0 else published.size - 1
                remaining -= 1
            level = np.int64(past[row >> 3, slot % facts[SPAN], row & 7])
            if age < levels[FORWARD_WINDOW, level]:
                most = max(most, since / levels[SHARE, level] + slot - 1)
        result[row] = most if now[row] > 0 else -np.inf


@jit
def part_1_of(levels, facts, codes, irregular_rows, irregular_values, irregular_index, row, t, result):  # type: ignore[no-untyped-def]
    """Part 1 of one row in the last slots, oldest first."""
    for k in range(result.size):
        slot = t - result.size + k
        place = slot % facts[SPAN]
        result[k] = (
            _part_1(levels, facts, codes, irregular_rows, irregular_values, irregular_index, row, place)
            if slot >= 1
            else 0
        )
