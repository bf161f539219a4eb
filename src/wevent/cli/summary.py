"""Reports at the end of `publish` and `check` what was accepted, refused and released, and what comes next.

It is the operator's: numbers of events must not be published.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wevent.config.model import Config
from wevent.events.names import show_name
from wevent.events.refusals import advise
from wevent.events.staging import ACCEPTED
from wevent.events.timeline import show_instant
from wevent.store.totals import RunTotals


@dataclass(frozen=True, slots=True)
class RunEnd:
    """Where a run ended.

    Attributes:
        next_slot: the slot that is released next.
        now: the time.
        due: for a run that only tries, how many slots would be released; None for one that did release.
        left: how many slots are due and were not released, because the run was stopped or failed.
        waiting: how many accepted events wait for their slots.
        stopped: whether a signal stopped it.
    """

    next_slot: int
    now: int
    due: int | None = None
    left: int = 0
    waiting: int = 0
    stopped: bool = False


def say_summary(config: Config, totals: RunTotals, end: RunEnd) -> None:
    """Write the summary of a run."""
    sys.stderr.write("\n".join(summary(config, totals, end)) + "\n")
    sys.stderr.flush()


def summary(config: Config, totals: RunTotals, end: RunEnd) -> Iterator[str]:
    """The lines of a summary."""
    timeline, closing = config.slots.timeline, config.slots.closing
    yield f"events  {_events(config, totals, end)}"
    for line in refused_lines(totals.tallies, closing):
        yield f"        {line}"
    if totals.unusable and totals.accepted:
        names = ", ".join(show_name(path) for path in totals.unusable[:5])
        more = f" and {len(totals.unusable) - 5:,} more" if len(totals.unusable) > 5 else ""
        yield f"        nothing could be accepted from {names}{more}"
    if totals.seen.first is not None and totals.seen.last is not None:
        yield f"times   first {show_instant(totals.seen.first)}, last {show_instant(totals.seen.last)}"
    elif totals.tallies.total():
        yield "times   none could be read"
    if end.due is not None:
        released = f"{end.due:,} would be released"
        first, last = end.next_slot, end.next_slot + end.due - 1
    else:
        decisions = ", ".join(f"{number:,} {kind}" for kind, number in sorted(totals.decisions.items()))
        released = f"{totals.decisions.total():,} released" + (f" ({decisions})" if decisions else "")
        first, last = totals.first, totals.last
    if 0 < first <= last:
        released += f", {show_instant(timeline.start(first))} to {show_instant(timeline.end(last))}"
    yield f"slots   {released}"
    if end.left or end.stopped:
        yield f"        {'stopped: ' if end.stopped else ''}{end.left:,} slots that are due were not released"
    if totals.decisions["lost"]:
        yield "        a lost slot shows no fresh counts: nobody was registered in it, or it could not be finished"
    if end.waiting:
        yield f"waiting {end.waiting:,} accepted events wait for slots that are not released yet"
    coming = end.next_slot + (end.due or 0)
    yield (
        f"next    slot {coming:,}, {show_instant(timeline.start(coming))} to {show_instant(timeline.end(coming))}; "
        f"{_when(config, end, coming)}"
    )


def as_dict(config: Config, totals: RunTotals, end: RunEnd) -> dict[str, Any]:
    """The same for programs; `due` is what a run that only tries would release."""
    first, last = (None if time is None else show_instant(time) for time in (totals.seen.first, totals.seen.last))
    refused = {kind: number for kind, number in totals.tallies.items() if kind != ACCEPTED}
    document = {"stream": config.stream.name, **asdict(end), "now": show_instant(end.now), "first_time": first}
    document |= {"last_time": last, "accepted": totals.accepted, "refused": refused}
    return document | {"decisions": dict(totals.decisions), "unusable_files": list(map(str, totals.unusable))}


def refused_lines(tallies: Mapping[str, int], closing: str) -> list[str]:
    """Refused events by reason, with what to do about each."""
    return [_in_files(line) if closing == "files" else line for line in advise(tallies)]


def _events(config: Config, totals: RunTotals, end: RunEnd) -> str:
    if totals.read:
        return f"{totals.accepted:,} accepted, {totals.refused:,} refused"
    if end.stopped:
        return "none were counted: stopped before the sources were read"
    if config.slots.closing != "files" or end.left:
        return "nothing was read"
    over = config.slots.timeline.end(end.next_slot)
    if over > end.now:
        return f"nothing was read: no slot is due, slot {end.next_slot:,} is over at {show_instant(over)}"
    return f"nothing was read: no slot is due by --until, slot {end.next_slot:,} was over at {show_instant(over)}"


def _when(config: Config, end: RunEnd, coming: int) -> str:
    if config.slots.closing != "files":
        return {"arrival": "the clock closes it", "operator": "close it with `--until`"}[config.slots.closing]
    if config.slots.timeline.end(coming) > end.now:
        return "run it again with all files once it is over"
    return f"it is over: run it again with all files{'' if end.left else ' and a later `--until`'}"


def _in_files(line: str) -> str:
    """In files nothing is late: what is not released now was released before, or will be."""
    number, _, rest = line.partition(" ")
    if rest.startswith("late:"):
        return f"{number} in slots that were released before: they are not counted again"
    if rest.startswith("in the future:"):
        return f"{number} in slots that are not due, or behind --until: they count when their slots are released"
    return line
