"""Checks the files of a stream before its first run, because that run fixes the settings for good.

The files are read up to the first event that can be accepted; if there is none, neither the stream nor any requirement
is stored.
"""

from __future__ import annotations

from pathlib import Path

import duckdb  # noqa: F401  (before a signal may interrupt: inside an import it could break what is half done)

from wevent.cli.run_options import RunOptions
from wevent.cli.signals import SignalGuard, Stopped
from wevent.cli.summary import RunEnd, say_summary
from wevent.config.model import Config
from wevent.config.requirement_files import read_requirement_file
from wevent.errors import EmptyRegister, StoreUnavailable, StreamUnknown, Unreadable
from wevent.events.files import GroupedFiles, check_file, find_files, with_readers
from wevent.events.lines import Lines
from wevent.events.names import show_name
from wevent.events.validation import AcceptanceWindow, EventValidator
from wevent.store.due_slots import last_due
from wevent.store.opening import open_store, system_clock, witness_of
from wevent.store.reconciling import check_new_stream
from wevent.store.streams import find_stream
from wevent.store.totals import RunTotals


def check_first_files(options: RunOptions, guard: SignalGuard) -> None:
    """Raise `NoAcceptableEvents` or `EmptyRegister` before a stream begins from which nothing could be released.

    Guarantees:
        Nothing is stored. Streams that have begun, and those that are not closed by files, are not looked at.
        A signal takes effect at once while files are read.
    """
    config = options.config
    if config.slots.closing != "files" or options.allow_empty or options.restored is not None or not options.events:
        return
    if options.follow or options.piped or _has_begun(config):
        return
    check_new_stream(config.stream.name, witness_of(config).read(), None)  # a store that is gone comes first
    changes = [] if options.requirements is None else read_requirement_file(options.requirements, config)
    people = {str(change.user): number for number, change in enumerate(changes)}
    if not people and config.people.group is None:
        raise EmptyRegister("nobody is registered; import a file of requirements first (`--requirements FILE`)")
    due = last_due(config, 1, options.until, system_clock())
    if due < 1:
        return
    totals, timeline = RunTotals(), config.slots.timeline
    validator = EventValidator(timeline, config.cells.declared(), people, config.people.group is not None)
    try:
        with guard.interruptible():
            _read(options.files, config, validator, AcceptanceWindow(1, timeline.end(due)), totals)
    except Stopped:
        say_summary(config, RunTotals(), RunEnd(1, system_clock(), left=due, stopped=True))
        raise
    if not totals.accepted:
        say_summary(config, totals, RunEnd(1, system_clock(), left=due))
        totals.check_acceptable(due)


def _has_begun(config: Config) -> bool:
    if "://" not in config.store.url and not Path(config.store.url).exists():
        return False
    try:
        with open_store(config, read_only=True) as database:
            find_stream(database, config.stream.name)
    except (StoreUnavailable, StreamUnknown):
        return False
    return True


def _read(
    events: list[Path],
    config: Config,
    validator: EventValidator,
    acceptance_window: AcceptanceWindow,
    totals: RunTotals,
) -> None:
    """Read files up to the first batch with an event that can be accepted; Parquet, which is read whole, last."""
    columns, policy, memory = config.columns, config.people.one_cell, config.sources.memory
    for path, kind in sorted(find_files(events), key=lambda found: found[1] == "parquet"):
        if kind == "parquet":
            with GroupedFiles([path], validator, acceptance_window, policy, columns, memory=memory) as grouped:
                totals.add_tallies(grouped.tallies, grouped.seen, grouped.unusable)
        else:
            check_file(path, kind)
            try:
                with path.open("rb") as file:
                    for content, read in with_readers(Lines(file), kind, columns, path):
                        totals.add_events(validator.validate_lines(content, read, acceptance_window))
                        if totals.accepted:
                            return
            except OSError as error:
                raise Unreadable(f"{show_name(path)}: cannot be read ({error.strerror})", file=str(path)) from None
        if totals.accepted:
            return
