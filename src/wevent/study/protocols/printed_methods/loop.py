"""Runs the loop of the released code over all segments, NOT PRIVATE.

The loop of BD, BA, PBD, PBA, DPBD and DPBA, all segments side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wevent.study.protocols.printed_methods.choice import PrintedChoice, choose, measure_change, publish
from wevent.study.protocols.printed_methods.schedules import PrintedSchedule
from wevent.study.protocols.printed_methods.segments import LENGTH, Array, Flags, Floats


@dataclass(frozen=True, slots=True)
class PrintedRun:
    """What came out of all segments.

    Attributes:
        released: axes segment, slot, cell.
        published: axes segment, slot.
        spent: what the draws really cost each type, whatever the method wrote down: at most the threshold of a
            draw, and nothing for what was offered and not published (axes: segment, slot, type).
    """

    released: Floats
    published: Flags
    spent: Floats


def run_segments(
    schedule: PrintedSchedule,
    counts: Array,
    sizes: Array,
    limit: Callable[[PrintedChoice], Floats],
    random: np.random.Generator,
) -> PrintedRun:
    """Run a schedule over all segments.

    Args:
        schedule: what is offered; fresh.
        counts: true ones (axes: segment, slot, type, cell).
        sizes: registered people (axes: type).
        limit: what change must exceed to be published.
        random: draws everything.
    """
    segments, _, types, cells = counts.shape
    shown = np.zeros((segments, cells))
    released = np.zeros((segments, LENGTH, cells))
    published = np.zeros((segments, LENGTH), bool)
    spent = np.zeros((segments, LENGTH, types))
    for slot in range(LENGTH):
        slot_counts = counts[:, slot]
        offer = schedule.offer(slot)
        measured = choose(offer.change_budget, sizes).threshold
        change = measure_change(random, slot_counts, offer.change_budget, measured, shown)
        choice = choose(offer.publish_budget, sizes)
        fresh = change > limit(choice)
        shown[fresh] = publish(random, slot_counts[fresh], offer.publish_budget[fresh], choice.threshold[fresh])
        schedule.record(slot, offer, fresh)
        released[:, slot], published[:, slot] = shown, fresh
        spent[:, slot] = np.minimum(offer.change_budget, measured[:, None])
        spent[fresh, slot] += np.minimum(offer.publish_budget, choice.threshold[:, None])[fresh]
    return PrintedRun(released, published, spent)
