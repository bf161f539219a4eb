"""Tries what `wevent publish` would accept and release, without doing it.

Nothing is released, charged or stored, and no store is made. Sources that earlier runs have read are read again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from wevent.cli.confirmation import check_until, confirm_many
from wevent.cli.output import print_json, say
from wevent.cli.restore import plan
from wevent.cli.run_options import RunOptions
from wevent.cli.summary import RunEnd, as_dict, say_summary
from wevent.config.model import Config
from wevent.config.requirement_files import read_requirement_file
from wevent.errors import EmptyRegister, StoreUnavailable, StreamUnknown
from wevent.events.files import GroupedFiles
from wevent.events.formats import line_reader
from wevent.events.lines import Lines
from wevent.events.timeline import LATEST, show_instant
from wevent.events.validation import AcceptanceWindow, EventValidator, refuse_unfinished
from wevent.store.due_slots import last_due, nobody_served
from wevent.store.effect import slot_of_clock
from wevent.store.opening import open_store, system_clock, witness_of
from wevent.store.reconciling import check_new_stream
from wevent.store.requirements import first_registered, last_charged, read_people
from wevent.store.streams import check_settings, find_stream
from wevent.store.totals import RunTotals


def check_sources(options: RunOptions) -> None:
    """Say what publishing would do; raise the error that it would end with."""
    config, moment = options.config, system_clock()
    check_until(config, options.until, moment)
    people, next_slot, from_slot = _known(config, options.requirements)
    if not people and config.people.group is None:
        raise EmptyRegister("nobody is registered; name a file of requirements (`--requirements FILE`)")
    totals, closing = RunTotals(), config.slots.closing
    last = last_due(config, next_slot, options.until, moment)
    due = max(0, last - next_slot + 1)
    _read(options, people, next_slot, last, totals)
    end = RunEnd(next_slot, moment, due)
    if not options.volume.quiet:
        say_summary(config, totals, end)
    if options.events and not options.allow_empty:
        if closing != "arrival":
            totals.check_acceptable(due)
        elif totals.refused:  # a live source may be empty; one of which everything is refused is not right
            totals.check_acceptable(0)
        if due and closing != "arrival" and from_slot > last and config.people.group is None:
            raise nobody_served(config, next_slot, last, from_slot)
    if not options.yes:
        confirm_many(config, next_slot, last, totals.seen, until=options.until, asking=False)
    if options.as_json:
        print_json(as_dict(config, totals, end))
    else:
        sys.stdout.write(f"stream {config.stream.name}: {_verdict(config, next_slot, due)}; nothing was released\n")


def _verdict(config: Config, next_slot: int, due: int) -> str:
    if due or config.slots.closing == "arrival":
        return "this can be published"
    over = show_instant(config.slots.timeline.end(next_slot))
    return f"no slot is due, so nothing would be released; slot {next_slot:,} ends at {over}"


def _known(config: Config, requirements: Path | None) -> tuple[dict[str, int], int, int]:
    """Everybody who is listed, in the store or in the file to import; the next slot; the first slot with people."""
    people: dict[str, int] = {}
    next_slot, from_slot = 0, None
    if "://" in config.store.url or Path(config.store.url).exists():
        try:
            with open_store(config, read_only=True) as database:
                stream, _ = find_stream(database, config.stream.name)
                check_settings(database, config.stream.name, config.fixed(), witness_of(config))
                opening = plan(config, database, None)
                with database.read() as connection:
                    people = read_people(connection, stream.id)
                    next_slot = max(last_charged(connection, stream.id), opening.last) + 1
                    from_slot = first_registered(connection, stream.id)
        except (StoreUnavailable, StreamUnknown) as error:
            say(f"as if nothing was published yet: {error}")
    if next_slot == 0:
        check_new_stream(config.stream.name, witness_of(config).read(), None)
        next_slot = 1
    if requirements is not None:
        for change in read_requirement_file(requirements, config):
            people.setdefault(str(change.user), len(people))
    if from_slot is None:  # people who are imported now are registered after the slots that have begun
        from_slot = 1 if config.slots.closing == "files" else slot_of_clock(config, system_clock()) + 1
    return people, next_slot, from_slot


def _read(options: RunOptions, people: dict[str, int], next_slot: int, last: int, totals: RunTotals) -> None:
    """Sort every event of the sources, as publishing would."""
    config = options.config
    timeline, cells = config.slots.timeline, config.cells.declared()
    validator = EventValidator(timeline, cells, people, config.people.group is not None)
    until = timeline.end(last) if config.slots.closing == "files" else system_clock() + config.slots.ahead + 1
    if config.slots.closing == "files" and last < next_slot:
        until = LATEST + 1  # nothing is due: say what could be accepted later
    acceptance_window, columns = AcceptanceWindow(next_slot, until), config.columns
    if options.files:
        policy, memory = config.people.one_cell, config.sources.memory
        with GroupedFiles(options.files, validator, acceptance_window, policy, columns, memory=memory) as grouped:
            totals.add_tallies(grouped.tallies, grouped.seen, grouped.unusable)
    if options.piped:
        lines, reader = Lines(sys.stdin.buffer), None
        for batch in lines.read():
            content = batch.lines
            if reader is None:
                reader = line_reader(options.format, columns, content[0], "standard input")
                content = content[1:] if options.format == "csv" else content
            totals.add_events(validator.validate_lines(content, reader, acceptance_window))
        if lines.rest:
            totals.add_events(refuse_unfinished())
