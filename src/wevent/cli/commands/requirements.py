"""`wevent requirements`: stores what people require, and shows what the store keeps of it."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wevent.cli.options import CONFIG, ConfigFile, Json, flag
from wevent.cli.output import agrees, print_json

if TYPE_CHECKING:
    from wevent.cohorts.requirement import Requirement

COLUMNS = ("user", "from_slot", "epsilon", "window", "backward_epsilon", "backward_window", "status", "source")

WINDOW_KEYS = ("requirement", "first", "last", "allowed", "spent", "left")

requirements = typer.Typer(no_args_is_help=True, help="Store and show what people require: set, import, list, show.")

User = Annotated[str, typer.Argument(metavar="USER", help="The person, letter for letter as in events.")]


def _terms_option(text: str) -> typer.models.OptionInfo:
    return typer.Option(metavar="NUMBER|LEVEL", help=text, show_default=False)


@requirements.command("set")
def set_requirement(
    user: User,
    epsilon: Annotated[str, _terms_option("A number, or the name of a level.")] = "",
    window: Annotated[str, _terms_option("A number of slots, or the name of a level.")] = "",
    backward_epsilon: Annotated[str, _terms_option("The backward side, for dynamic requirements.")] = "",
    backward_window: Annotated[str, _terms_option("The backward side, for dynamic requirements.")] = "",
    leave: Annotated[bool, flag("--leave", "End the registration.")] = False,
    config: ConfigFile = CONFIG,
) -> None:
    """Store what one person requires, or let them leave.

    Example: wevent requirements set ann --epsilon 0.5 --window 24
    """
    from wevent.cli.requirement_file import store_requirements
    from wevent.cohorts.requirement_change import RequirementChange
    from wevent.config.people import LEAVE
    from wevent.config.read import read_config
    from wevent.config.requirement_files import parse_requirement
    from wevent.errors import InvalidRequirement, UnknownUser
    from wevent.store.opening import open_store
    from wevent.store.planning import ChangePolicy
    from wevent.store.streams import find_stream

    settings = read_config(config)
    if leave and (epsilon or window or backward_epsilon or backward_window):
        raise InvalidRequirement("--leave goes with no epsilon and no window; nothing was stored")
    required = parse_requirement(settings, LEAVE if leave else epsilon, window, backward_epsilon, backward_window)
    with open_store(settings, create=required is not None) as database:
        if required is None:
            find_stream(database, settings.stream.name)  # nobody leaves a stream that does not exist
        stored = store_requirements(settings, database, [RequirementChange(user, required)], ChangePolicy())
    if stored.unknown:
        raise UnknownUser("nobody of this name is listed in this stream, so nobody left; names count letter for letter")
    kinds = {"stored for a new person": stored.joined, "changed": stored.changed, "returned": stored.returned}
    outcome = next((words for words, number in kinds.items() if number), "left")
    holds = f"{outcome}; it holds from slot {stored.from_slot} on"
    sys.stdout.write(f"{holds if stored.total else 'nothing changed: this is required already'}\n")


@requirements.command("import")
def import_requirements(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV file with the columns user, epsilon, window.")],
    returning: Annotated[bool, flag("--return", "Bring back people who left; without it they stay away.")] = False,
    overwrite: Annotated[bool, flag("--overwrite", "Also change people who have set their own requirement.")] = False,
    sync: Annotated[bool, flag("--sync", "Let people who are not in the file leave, after a preview.")] = False,
    yes: Annotated[bool, flag("--yes", "With --sync: store it without a question.")] = False,
    config: ConfigFile = CONFIG,
) -> None:
    """Store what many people require, from a CSV file.

    Example: wevent requirements import people.csv
    """
    from wevent.cli.requirement_file import describe, import_file
    from wevent.config.read import read_config
    from wevent.errors import InvalidSetting
    from wevent.store.opening import open_store

    settings = read_config(config)
    how = {"returning": returning, "overwrite": overwrite, "sync": sync}
    with open_store(settings, create=True) as database:
        if sync:
            preview = import_file(settings, database, file, **how, preview=True)
            sys.stdout.write(f"would be stored: {describe(preview)}\n")
            sys.stdout.flush()
            if not yes and not agrees("store it?"):
                raise InvalidSetting("nothing was stored; run it again with --yes to store this")
        stored = import_file(settings, database, file, **how)
    sys.stdout.write(f"{describe(stored)}\n")


@requirements.command("list")
def list_requirements(
    history: Annotated[bool, flag("--history", "Everything, and not only what is in force and pending.")] = False,
    as_json: Json = False,
    config: ConfigFile = CONFIG,
) -> None:
    """List what is in force and pending, as CSV.

    Example: wevent requirements list --history
    """
    from wevent.config.read import read_config
    from wevent.events.names import show_name
    from wevent.store.effect import current_slot
    from wevent.store.opening import open_store, system_clock
    from wevent.store.requirements import change_statuses, group_by_person, read_changes, read_people
    from wevent.store.streams import find_stream

    settings = read_config(config)
    written = show_name if sys.stdout.isatty() else str  # exact for programs, harmless for terminals
    with open_store(settings, read_only=True) as database:
        stream, _ = find_stream(database, settings.stream.name)
        with database.read() as connection:
            names = {person: written(name) for name, person in read_people(connection, stream.id).items()}
            changes = list(read_changes(connection, stream.id))
            slot = current_slot(connection, settings, stream.id, system_clock())
    rows = []
    for own in group_by_person(changes):
        words = change_statuses(own, slot)
        registered = any(
            word == "in force" and change.requirement is not None for change, word in zip(own, words, strict=True)
        )
        for change, status in zip(own, words, strict=True):
            current = status in ("in force", "pending") or (status == "refused" and change is own[-1])
            leaves = change.requirement is None
            if history or (current and not (leaves and (status == "in force" or not registered))):
                terms = _terms(change.requirement)
                rows.append((change.number, names[change.person], change.from_slot, *terms, status, change.source))
    table = [row[1:] for row in (sorted(rows) if history else rows)]
    if as_json:
        print_json([dict(zip(COLUMNS, row, strict=True)) for row in table])
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(table)


@requirements.command("show")
def show_requirements(user: User, as_json: Json = False, config: ConfigFile = CONFIG) -> None:
    """Show everything that the store keeps of one person's requirements, and what was spent.

    Example: wevent requirements show ann
    """
    from wevent.config.read import read_config
    from wevent.errors import UnknownUser
    from wevent.events.names import show_name, to_name
    from wevent.events.timeline import show_instant
    from wevent.reports.person_report import read_person_report
    from wevent.store.opening import open_store
    from wevent.units import show

    settings = read_config(config)
    with open_store(settings, read_only=True) as database:
        report = read_person_report(database, settings, to_name(user))
    if report is None:
        raise UnknownUser("nobody of this name was ever listed in this stream; names count letter for letter")
    times, charged = report.times, report.charged
    if as_json:
        rows = [
            (c.from_slot, *_terms(c.requirement), word, c.source, show_instant(c.stored)) for c, word in report.changes
        ]
        windows = [(w.what, w.first, w.last, show(w.units), show(w.spent), show(w.left)) for w in report.windows]
        document = {"user": user, "stream": settings.stream.name, "charged": charged, "listed": report.listed}
        document["spent"] = show(report.total)
        document["windows"] = [dict(zip(WINDOW_KEYS, window, strict=True)) for window in windows]
        document["changes"] = [dict(zip((*COLUMNS[1:], "stored"), row, strict=True)) for row in rows]
        print_json(document)
        return
    newest = f"newest charged slot {times.slot(charged)}" if charged else "no slot was charged yet"
    lines = [f"{show_name(user)} in stream {settings.stream.name}, {newest}"]
    for change, status in report.changes:
        if status in ("in force", "pending"):
            lines.append(f"{status}: {_sentence(change.requirement)}, from slot {times.slot(change.from_slot)} on")
    lines += [window.sentence(times) for window in report.windows]
    lines.append(f"spent in all since first listed, from slot {times.slot(report.listed)} on: {show(report.total)}")
    lines.append("history:")
    for change, status in report.changes:
        since = f"from slot {times.slot(change.from_slot)} on"
        stored = f"{show_instant(change.stored)}, {change.source}"
        lines.append(f"  {stored}: {_sentence(change.requirement)}, {since}: {status}")
    sys.stdout.write("\n".join(lines) + "\n")


def _sentence(requirement: Requirement | None) -> str:
    if requirement is None:
        return "leaves"
    epsilon, window, backward_epsilon, backward_window = _terms(requirement)
    words = f"epsilon {epsilon} over {window} slots"
    return f"{words}, backward {backward_epsilon} over {backward_window} slots" if backward_window else words


def _terms(requirement: Requirement | None) -> tuple[object, ...]:
    from wevent.cohorts.requirement import Fixed
    from wevent.units import show

    if requirement is None:
        return "leave", "", "", ""
    if isinstance(requirement, Fixed):
        return show(requirement.units), requirement.window, "", ""
    ahead, back = requirement.forward, requirement.backward
    return show(ahead.units), ahead.window, show(back.units), back.window
