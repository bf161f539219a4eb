"""`wevent check` and `wevent publish --dry-run`: what would be accepted and released, without doing it.

Nothing is released, charged or stored, and no store is made. What was read in earlier runs is looked at again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wevent.cli.confirming import check_until, confirm_many
from wevent.cli.ending import say
from wevent.cli.opening import add_config, instant, now, open_store, read, witness_of
from wevent.cli.restoring import plan
from wevent.cli.summary import RunEnd, say_summary

if TYPE_CHECKING:
    from wevent.config.model import Config
    from wevent.store.totals import RunTotals


def add_checking(commands: Any) -> None:
    """Add the command to a parser."""
    check = commands.add_parser(
        "check",
        help="what `publish` would accept and release; nothing is released",
        description="Read the configuration and events, and say what would be accepted, refused and released.",
    )
    add_config(check)
    check.add_argument("--events", type=Path, nargs="+", default=[], metavar="FILE", help="files, folders, or -")
    check.add_argument("--requirements", type=Path, metavar="FILE", help="as if these were imported first")
    check.add_argument("--until", type=instant, metavar="TIME", help="as if slots that end by then were released")
    check.add_argument("--format", choices=("csv", "ndjson"), default="ndjson", help="of standard input (-)")
    check.add_argument("--yes", action="store_true", help="as with `publish`: very many slots are meant")
    check.add_argument("--allow-empty", action="store_true", help="as with `publish`: slots may be empty")
    check.set_defaults(command=check_sources)


def check_sources(given: argparse.Namespace) -> int:
    """Try what `publish` would do; 0 if it would go through, else the error that it would end with."""
    from wevent.errors import EmptyRegister
    from wevent.store.feeding import last_due, nobody_served
    from wevent.store.totals import RunTotals

    config, moment = read(given), now()
    check_until(config, given.until, moment)
    people, next_slot, from_slot = _known(config, given.requirements)
    if not people and config.people.group is None:
        raise EmptyRegister("nobody is registered; name a file of requirements (`--requirements FILE`)")
    totals, closing = RunTotals(), config.slots.closing
    last = last_due(config, next_slot, given.until, moment)
    due = max(0, last - next_slot + 1)
    _read(given, config, people, next_slot, last, totals)
    say_summary(config, totals, RunEnd(next_slot, moment, due))
    if given.events and not given.allow_empty:
        if closing != "arrival":
            totals.check_acceptable(due)
        elif totals.refused:  # a live source may be empty; one of which everything is refused is not right
            totals.check_acceptable(0)
        if due and closing != "arrival" and from_slot > last and config.people.group is None:
            raise nobody_served(config, next_slot, last, from_slot)
    if not given.yes:
        confirm_many(config, next_slot, last, totals.seen, ask=False)
    sys.stdout.write(f"stream {config.stream.name}: {_verdict(config, next_slot, due)}; nothing was released\n")
    return 0


def _verdict(config: Config, next_slot: int, due: int) -> str:
    from wevent.events.timeline import show_instant

    if due or config.slots.closing == "arrival":
        return "this can be published"
    over = show_instant(config.slots.timeline.end(next_slot))
    return f"no slot is due, so nothing would be released; slot {next_slot:,} ends at {over}"


def _known(config: Config, requirements: Path | None) -> tuple[dict[str, int], int, int]:
    """Everybody who is listed, in the store or in a file that would be imported; the next slot; the first of theirs."""
    from wevent.config.requirement_files import read_requirement_file
    from wevent.errors import StoreUnavailable, StreamUnknown
    from wevent.store.effect import slot_of_clock
    from wevent.store.reconciling import check_new_stream
    from wevent.store.requirements import first_registered, last_charged, read_people
    from wevent.store.streams import check_settings, find_stream

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
    if from_slot is None:  # whoever is imported now is registered after the slots that have begun
        from_slot = 1 if config.slots.closing == "files" else slot_of_clock(config, now()) + 1
    return people, next_slot, from_slot


def _read(
    given: argparse.Namespace, config: Config, people: dict[str, int], next_slot: int, last: int, totals: RunTotals
) -> None:
    """Sort every event of the sources, as publishing would."""
    from wevent.events.files import GroupedFiles
    from wevent.events.formats import line_reader
    from wevent.events.lines import Lines
    from wevent.events.timeline import LATEST
    from wevent.events.validation import AcceptanceWindow, EventValidator, refuse_unfinished

    timeline, cells = config.slots.timeline, config.cells.declared()
    validator = EventValidator(timeline, cells, people, config.people.group is not None)
    until = timeline.end(last) if config.slots.closing == "files" else now() + config.slots.ahead + 1
    if config.slots.closing == "files" and last < next_slot:
        until = LATEST + 1  # nothing is due: say what could be accepted later
    acceptance_window, columns = AcceptanceWindow(next_slot, until), config.columns
    files = [path for path in given.events if str(path) != "-"]
    if files:
        memory = config.sources.memory
        with GroupedFiles(
            files, validator, acceptance_window, config.people.one_cell, columns, memory=memory
        ) as grouped:
            totals.add_tallies(grouped.tallies, grouped.seen, grouped.unusable)
    if len(files) < len(given.events):
        lines, reader = Lines(sys.stdin.buffer), None
        for batch in lines.read():
            content = batch.lines
            if reader is None:
                reader = line_reader(given.format, columns, content[0], "standard input")
                content = content[1:] if given.format == "csv" else content
            totals.add_events(validator.validate_lines(content, reader, acceptance_window))
        if lines.rest:
            totals.add_events(refuse_unfinished())
