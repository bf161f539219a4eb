"""`wevent requirements`: who asks for what since which slot comes in and is kept; its history goes out."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wevent.cli.opening import add_config, now, open_store, read

if TYPE_CHECKING:
    from wevent.config.model import Config
    from wevent.store.database import Database
    from wevent.store.requirements import Wish


def add_asking(commands: Any) -> None:
    """Add the commands to a parser."""
    group = commands.add_parser("requirements", help="who asks for what since when: set, list, import")
    kinds = group.add_subparsers(title="commands", required=True, metavar="command")
    one = kinds.add_parser("set", help="one person asks for something, or leaves")
    add_config(one)
    one.add_argument("user")
    one.add_argument("--budget", default="", help="a number or the name of a level")
    one.add_argument("--window", default="", help="a number of slots or the name of a level")
    one.add_argument("--backward-budget", default="", help="for dynamic mechanisms")
    one.add_argument("--backward-window", default="")
    one.add_argument("--leave", action="store_true", help="end the registration")
    one.set_defaults(command=_set)
    several = kinds.add_parser("import", help="many people, from a CSV file")
    add_config(several)
    several.add_argument("file", type=Path)
    several.set_defaults(command=_import)
    shown = kinds.add_parser("list", help="what is in force, or with --history everything that was ever asked")
    add_config(shown)
    shown.add_argument("--history", action="store_true")
    shown.set_defaults(command=_list)


def import_file(config: Config, database: Database, path: Path) -> int:
    """Keep the wishes of a file; return how many were new."""
    from wevent.config.asking import read_requirements
    from wevent.store.requirements import Wish

    asked = list(read_requirements(path, config))
    return _keep(config, database, (Wish(line.user, line.requirement) for line in asked))


def _set(given: argparse.Namespace) -> int:
    from wevent.config.asking import LEAVE, to_requirement
    from wevent.store.requirements import Wish

    config = read(given)
    budget = LEAVE if given.leave else given.budget
    asked = to_requirement(config, budget, given.window, given.backward_budget, given.backward_window)
    kept = _keep(config, open_store(config, create=True), [Wish(given.user, asked)])
    sys.stdout.write("kept; it holds from the next slot on\n" if kept else "nothing changed\n")
    return 0


def _import(given: argparse.Namespace) -> int:
    config = read(given)
    kept = import_file(config, open_store(config, create=True), given.file)
    sys.stdout.write(f"{kept:,} requirements are new; they hold from the next slot on\n")
    return 0


def _list(given: argparse.Namespace) -> int:
    from wevent.store.requirements import read_people, read_wishes
    from wevent.store.streams import find_stream

    config = read(given)
    database = open_store(config)
    stream, _ = find_stream(database, config.stream.name)
    with database.read() as connection:
        names = {person: name for name, person in read_people(connection, stream.id).items()}
        wishes = list(read_wishes(connection, stream.id))
    if not given.history:
        latest = {wish.person: wish for wish in wishes if not wish.refused}
        wishes = [wish for wish in latest.values() if wish.requirement is not None]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("user", "since", "budget", "window", "backward_budget", "backward_window", "refused"))
    for wish in wishes:
        writer.writerow((names[wish.person], wish.since, *_words(wish.requirement), "yes" if wish.refused else ""))
    return 0


def _words(requirement: Any) -> tuple[object, ...]:
    from wevent.cohorts.requirement import Fixed
    from wevent.units import show

    if requirement is None:
        return "leave", "", "", ""
    if isinstance(requirement, Fixed):
        return show(requirement.units), requirement.window, "", ""
    ahead, back = requirement.forward, requirement.backward
    return show(ahead.units), ahead.window, show(back.units), back.window


def _keep(config: Config, database: Database, wishes: Iterable[Wish]) -> int:
    from wevent.store.requirements import keep_wishes
    from wevent.store.streams import open_stream

    stream = open_stream(database, config.stream.name, config.fixed(), now)
    begun = config.slots.timeline.number(now()) if config.slots.closing == "arrival" else 0
    return keep_wishes(database, stream, wishes, now(), begun)
