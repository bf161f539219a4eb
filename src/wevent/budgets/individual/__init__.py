"""Keeps people with dynamic requirements of their own, one row each, for millions of them (numba, extra `fast`).

All numbers equal those of the path in numpy (`history`, `declarations`, `view`, `schedules`); the tests compare them. A
row takes some 450 bytes at a span of 120 slots and one publication in ten. A person who requires something fixed leaves
the individual rows with their past (`budgets.pasts`).

Modules: `rows` (the rows and the life of a slot), `offers`, `past`, `irregular`, `certificates`; in `kernels` the loops
that numba compiles: `arrays` (the structs that they take), `reading`, `certifying`, `offering`, `writing`.

Two kinds of arrays
    The **past** is exact. It holds every declaration and spend that a window can still reach. `charge` and `write`
    write declarations and change budgets, `settle` writes publish budgets. Room, borders and the check of a charge read
    the past alone, in O(window) per row.

    **Certificates** mirror the past. They make an offer O(1) for nearly every row: each holds a number about the
    declarations before the next slot, and the last slot in which that number is proven. A charge that equals the offer
    is not checked again, so the promise rests on certificates too. Any other charge is checked against the room. An
    offer is dropped as soon as a row, a declaration or the span changes.

When the mirror is in step
    `settle` closes slot t - 1 and leaves it out of the certificates. Nothing else takes them out of step, and never by
    more than one slot: `IndividualRows._closed` holds the publish budgets of that slot, `closed_level` its levels,
    until `_sync` takes them in. Every method that reads or changes certificates, rings or rows calls `_sync` first:
    `open_rows`, `free_row`, `extend`, `offer`, `offer_paced`, `charge`, `write`, `state`, and every change of the width
    of codes. `declare`, `resize` and `hold` need none: certificates know nothing about the slot to come.

What is exact, and what expires
    left, later_left  exact: the least EF/2 - U(τ) over the declarations before t (paced: EF - U(τ)), the least once
                      that one expires, and so on; values and last slots both ascend. A declaration above
                      `greatest_left` that lasts longer is not listed. When the list runs out, the past is scanned.
    share             exact: the least a_τ (paced: EF / ceil(wF/k)), and the last slot of a declaration with that share.
    amount            a lower bound: one declaration saved so much. It expires with that declaration.
    sums              an upper bound: what was spent in the last span - 1 slots covers every backward window.
    NOT_RESTING       proven until the next publication: what is saved only grows until then.
    IRREGULAR         never expires: the row may have spent more than the least share as change budget. The bounds on
                      its forward side do not hold, and its room is scanned in every slot.
    Certificates are of one interval. When a schedule offers at another one, all expire at once.

Arrays (units: 10⁻⁹ of epsilon; a code is one byte, more once there are 255 levels; ring: axes (block of 8 rows, slot
modulo span, row in block), so that writing a slot touches few cache lines and scanning a row stays local)

struct        name              shape           type    meaning                                         written by
Levels        backward, half, forward, share
                                level           int64   EB, EF/2, EF, a_τ in units; level 0: none       LevelTable
              *_window          level           int64   wB, wF in slots                                 LevelTable
Past          declared          ring            code    declared levels                                 write
              change_codes      ring            code    level whose share was spent as change budget;   write
                                                        0: nothing, the greatest code: irregular
              irregular_rows    entry           int32   rows that spent an irregular change budget      write
              irregular_values  entry           int64   that budget in units                            write
              irregular_index   2, slot % span  int64   first entry of a slot, and how many             write
              published         place           int64   slots of the publications                       settle
              publish_spends    row, place      int64   publish budgets in units                        settle
Row           sizes             row             int64   1 with its person, 0 without                    resize
              born              row             int64   the slot in which the row was opened            open_rows
              flags             row             uint8   NOT_RESTING, IRREGULAR                     offer, write, _sync
              declared_level    row             code    what is declared for the next slot              declare, resize
              closed_level      row             code    what was declared in the last closed slot       settle
Certificate   left, left_until  row             int64   units; last slot                                _sync
              later_*           row, LATER      int64   units; last slots; `later_count` (uint8) valid  _sync
              greatest_left     row             int64   the largest of left and later_left in units     _sync
              share, share_until
                                row             int64   units; last slot                                _sync
              share_level       row             code    the level of that share                         _sync
Saved         amount            row             int64   (1 - τ)·a_τ - U(τ) in units                     offer, _sync
              level, until      row             code, int64     of that declaration                     offer, _sync
(none)        sums              row, 2          int64   change and publish budgets in units             offer, _sync
Offer         change_budget, publish_budget
                                row             int64   units                                           offer
              change_codes      row             code    as in Past                                      offer
              marked            row             bool    rows that need a closer look                    offer
"""
