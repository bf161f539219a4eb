"""`wevent requirements`: stores what people require, and shows what is kept of it."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wevent.cli.opening import add_config, now, open_store, read, witness_of

if TYPE_CHECKING:
    from wevent.cohorts.requirement_change import RequirementChange
    from wevent.config.model import Config
    from wevent.store.database import Database
    from wevent.store.planning import ChangeCounts, ChangePolicy

COLUMNS = ("user", "from_slot", "epsilon", "window", "backward_epsilon", "backward_window", "status", "source")


def add_asking(commands: Any) -> None:
    """Add the commands to a parser."""
    group = commands.add_parser("requirements", help="who requires what since when: set, import, list, show")
    kinds = group.add_subparsers(title="commands", required=True, metavar="command")
    one = kinds.add_parser("set", help="one person requires something, or leaves")
    add_config(one)
    one.add_argument("user")
    one.add_argument("--epsilon", default="", help="a number or the name of a level")
    one.add_argument("--window", default="", help="a number of slots or the name of a level")
    one.add_argument("--backward-epsilon", default="", help="for dynamic mechanisms")
    one.add_argument("--backward-window", default="")
    one.add_argument("--leave", action="store_true", help="end the registration")
    one.set_defaults(command=_set)
    several = kinds.add_parser("import", help="many people, from a CSV file")
    add_config(several)
    several.add_argument("file", type=Path)
    several.add_argument(
        "--return", dest="returning", action="store_true", help="bring back people who left; without it they stay away"
    )
    several.add_argument(
        "--overwrite", action="store_true", help="also change people who have set their own requirement (`set`)"
    )
    several.add_argument("--sync", action="store_true", help="whoever is not in the file leaves; shows a preview first")
    several.add_argument("--yes", action="store_true", help="with --sync: do it without asking")
    several.set_defaults(command=_import)
    shown = kinds.add_parser("list", help="what is in force and pending, or with --history everything")
    add_config(shown)
    shown.add_argument("--history", action="store_true")
    shown.set_defaults(command=_list)
    subject = kinds.add_parser("show", help="everything that is kept of one person's requirements, and what was spent")
    add_config(subject)
    subject.add_argument("user")
    subject.set_defaults(command=_show)


def import_file(
    config: Config,
    database: Database,
    path: Path,
    *,
    returning: bool = False,
    overwrite: bool = False,
    sync: bool = False,
    preview: bool = False,
) -> ChangeCounts:
    """Store the requirement changes of a file; people who left stay away, and who set their own keep it."""
    from wevent.config.requirement_files import read_requirement_file
    from wevent.errors import Unreadable
    from wevent.store.planning import ChangePolicy
    from wevent.store.requirements import IMPORT

    changes = list(read_requirement_file(path, config))
    if sync and not changes:
        raise Unreadable(f"{path}: an empty file would let everybody leave; nothing was stored", file=str(path))
    how = ChangePolicy(IMPORT, returning=returning, overwrite=overwrite)
    return _store(config, database, changes, how, sync=sync, preview=preview)


def describe(stored: ChangeCounts) -> str:
    """What became of changes, in words."""
    parts = [
        f"{number:,} {word}"
        for word in ("joined", "changed", "left", "returned", "unchanged")
        if (number := getattr(stored, word)) or word == "joined"
    ]
    words = ", ".join(parts)
    if stored.total:
        words += f"; changes hold from slot {stored.from_slot} on"
    if stored.away:
        words += f"; {stored.away:,} left before and stay away, --return brings them back"
    if stored.own:
        have = "person has" if stored.own == 1 else "people have"
        stay = "they stay as they are unless --overwrite"
        words += f"; {stored.own:,} {have} set their own requirement since; {stay}"
    if stored.unknown:
        words += f"; {stored.unknown:,} were to leave and were never listed"
    return words


def _set(given: argparse.Namespace) -> int:
    from wevent.cohorts.requirement_change import RequirementChange
    from wevent.config.people import LEAVE
    from wevent.config.requirement_files import parse_requirement
    from wevent.errors import InvalidRequirement, UnknownUser
    from wevent.store.planning import ChangePolicy
    from wevent.store.streams import find_stream

    config = read(given)
    if given.leave and (given.epsilon or given.window or given.backward_epsilon or given.backward_window):
        raise InvalidRequirement("--leave goes with no epsilon and no window; nothing was stored")
    epsilon = LEAVE if given.leave else given.epsilon
    required = parse_requirement(config, epsilon, given.window, given.backward_epsilon, given.backward_window)
    with open_store(config, create=required is not None) as database:
        if required is None:
            find_stream(database, config.stream.name)  # nobody leaves a stream that is not there
        stored = _store(config, database, [RequirementChange(given.user, required)], ChangePolicy())
    if stored.unknown:
        raise UnknownUser("nobody of this name is listed in this stream, so nobody left; names count letter for letter")
    what = "changed" if stored.changed else "returned" if stored.returned else "left"
    what = "stored for a new person" if stored.joined else what
    holds = f"{what}; it holds from slot {stored.from_slot} on"
    sys.stdout.write(f"{holds if stored.total else 'nothing changed: this is required already'}\n")
    return 0


def _import(given: argparse.Namespace) -> int:
    from wevent.errors import InvalidSetting

    config = read(given)
    how = {"returning": given.returning, "overwrite": given.overwrite, "sync": given.sync}
    with open_store(config, create=True) as database:
        if given.sync:
            preview = import_file(config, database, given.file, **how, preview=True)
            sys.stdout.write(f"would be stored: {describe(preview)}\n")
            if not given.yes and not _agreed():
                raise InvalidSetting("nothing was stored; run it again with --yes to store this")
        stored = import_file(config, database, given.file, **how)
    sys.stdout.write(f"{describe(stored)}\n")
    return 0


def _agreed() -> bool:
    if not sys.stdin.isatty():
        return False
    sys.stdout.write("store it? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _list(given: argparse.Namespace) -> int:
    from wevent.events.names import show_name
    from wevent.store.effect import current_slot
    from wevent.store.requirements import change_statuses, group_by_person, read_changes, read_people
    from wevent.store.streams import find_stream

    config = read(given)
    shown = show_name if sys.stdout.isatty() else str  # exact for programs, harmless for terminals
    with open_store(config, read_only=True) as database:
        stream, _ = find_stream(database, config.stream.name)
        with database.read() as connection:
            names = {person: shown(name) for name, person in read_people(connection, stream.id).items()}
            changes = list(read_changes(connection, stream.id))
            slot = current_slot(connection, config, stream.id, now())
    rows = []
    for own in group_by_person(changes):
        words = change_statuses(own, slot)
        here = any(
            word == "in force" and change.requirement is not None for change, word in zip(own, words, strict=True)
        )
        for change, status in zip(own, words, strict=True):
            current = status in ("in force", "pending") or (status == "refused" and change is own[-1])
            leaves = change.requirement is None
            if given.history or (current and not (leaves and (status == "in force" or not here))):
                terms = _words(change.requirement)
                rows.append((change.number, names[change.person], change.from_slot, *terms, status, change.source))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(row[1:] for row in (sorted(rows) if given.history else rows))
    return 0


def _show(given: argparse.Namespace) -> int:
    from wevent.errors import UnknownUser
    from wevent.events.names import show_name, to_name
    from wevent.events.timeline import show_instant
    from wevent.reports.person_report import read_person_report
    from wevent.units import show

    config = read(given)
    with open_store(config, read_only=True) as database:
        subject = read_person_report(database, config, to_name(given.user))
    if subject is None:
        raise UnknownUser("nobody of this name was ever listed in this stream; names count letter for letter")
    say = sys.stdout.write
    times, charged = subject.times, subject.charged
    newest = f"newest charged slot {times.slot(charged)}" if charged else "no slot was charged yet"
    say(f"{show_name(given.user)} in stream {config.stream.name}, {newest}\n")
    for change, status in subject.changes:
        if status in ("in force", "pending"):
            say(f"{status}: {_sentence(change.requirement)}, from slot {times.slot(change.from_slot)} on\n")
    for window in subject.windows:
        say(f"{window.sentence(times)}\n")
    say(f"spent in all since first listed, from slot {times.slot(subject.listed)} on: {show(subject.total)}\n")
    say("history:\n")
    for change, status in subject.changes:
        required = f"{_sentence(change.requirement)}, from slot {times.slot(change.from_slot)} on"
        say(f"  {show_instant(change.stored)}, {change.source}: {required}: {status}\n")
    return 0


def _sentence(requirement: Any) -> str:
    epsilon, window, backward_epsilon, backward_window = _words(requirement)
    if requirement is None:
        return "leaves"
    words = f"epsilon {epsilon} over {window} slots"
    return f"{words}, backward {backward_epsilon} over {backward_window} slots" if backward_window else words


def _words(requirement: Any) -> tuple[object, ...]:
    from wevent.cohorts.requirement import Fixed
    from wevent.units import show

    if requirement is None:
        return "leave", "", "", ""
    if isinstance(requirement, Fixed):
        return show(requirement.units), requirement.window, "", ""
    ahead, back = requirement.forward, requirement.backward
    return show(ahead.units), ahead.window, show(back.units), back.window


def _store(
    config: Config, database: Database, changes: Iterable[RequirementChange], how: ChangePolicy, **more: bool
) -> ChangeCounts:
    from wevent.store.changes import store_changes
    from wevent.store.streams import open_stream

    stream = open_stream(database, config.stream.name, config.fixed(), now, witness_of(config))
    return store_changes(database, config, stream, changes, now, how, **more)
