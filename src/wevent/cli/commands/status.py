"""`wevent status`: says where a stream stands, for the operator."""

from __future__ import annotations

import sys
from dataclasses import asdict

from wevent.cli.options import CONFIG, ConfigFile, Json
from wevent.cli.output import print_json

_WHAT_CLOSES = {
    "files": "run `wevent publish` again with all files once it is over",
    "arrival": "the clock closes it",
    "operator": "close it with `wevent publish --until`",
}


def status(config: ConfigFile = CONFIG, as_json: Json = False) -> None:
    """Say where a stream stands: what comes next, what became of events, why nothing is published.

    Example: wevent status --json
    """
    from wevent.cli.summary import refused_lines
    from wevent.config.read import read_config
    from wevent.events.names import show_name
    from wevent.events.staging import ACCEPTED
    from wevent.reports.combined_loss import read_combined_losses
    from wevent.reports.history import read_history
    from wevent.reports.status import stream_status
    from wevent.reports.times import SlotTimes
    from wevent.store.accounting import read_account, read_tallies
    from wevent.store.opening import open_store
    from wevent.store.streams import find_stream
    from wevent.store.witnessed_changes import count_lost_changes
    from wevent.units import show

    settings = read_config(config)
    with open_store(settings, read_only=True) as database:
        stream, _ = find_stream(database, settings.stream.name)
        past = read_history(database, stream.name)
        with database.read() as connection:
            tallies, account = read_tallies(connection, stream.id), read_account(connection, stream.id)
            lost_changes = count_lost_changes(connection, stream.id)
        losses = read_combined_losses(database)
        together = [loss for loss in losses if stream.name in [part.stream for part in loss.parts]]
    current, times, closing = stream_status(past), SlotTimes(past.settings), settings.slots.closing
    coming = current.slots + 1
    if as_json:
        by_reason = {kind: number for kind, number in tallies.items() if kind != ACCEPTED}
        document = {"stream": stream.name, "next_slot": coming, "over_at": times.end(coming), **asdict(current)}
        document |= {"least": show(current.least), "typical": show(current.typical), "events": asdict(account)}
        document |= {"refused": by_reason, "lost_requirement_changes": lost_changes}
        document["together"] = [loss.as_dict() for loss in together]
        print_json(document)
        return
    out = [f"stream {show_name(stream.name)}: {current.slots:,} slots, {len(past.listed):,} people ever listed"]
    out.append(f"  next is slot {times.slot(coming)}, over at {times.end(coming)}; {_WHAT_CLOSES[closing]}")
    if current.held_until:
        out.append(f"  {current.held_back(times)}")
    if current.worth_saying:
        out += [f"  {current}", *(f"    {line}" for line in current.advice)]
    out.append(
        f"  events accepted: {account.accepted:,}, of which released with their slot: {account.released:,}, waiting "
        f"for it: {account.waiting:,}, lost with it: {account.lost:,}"
    )
    if account.lost:
        out.append("  (a lost slot shows the counts before it; its events are in no release)")
    if lost_changes:
        out.append(f"  requirement changes that were given up after a restore (--requirements-lost): {lost_changes:,}")
    if refused := refused_lines(tallies, closing):
        out.append(f"  events refused {'in the last run' if closing == 'files' else 'so far'}, by reason:")
        out += [f"    {line}" for line in refused]
    out += [f"  {show_name(str(line))}" for line in together]
    sys.stdout.write("\n".join(out) + "\n")
