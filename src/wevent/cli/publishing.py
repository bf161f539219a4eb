"""`wevent publish` and `wevent demo`: turn events into kept releases."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wevent.cli.beginning import check_first_files
from wevent.cli.checking import add_checking, check_sources
from wevent.cli.confirming import MANY, check_until, confirm_many
from wevent.cli.opening import add_config, instant, now, open_session, open_store, read
from wevent.cli.restoring import add_restoring, give_up, restored_slot
from wevent.cli.starting import add_starting
from wevent.cli.stopping import Stopping
from wevent.cli.summary import RunEnd, say_summary

if TYPE_CHECKING:
    from wevent.cli.progress import Bar
    from wevent.config.model import Config
    from wevent.releases.release import Release
    from wevent.store.feeding import Confirm, ReleaseCallback
    from wevent.store.session import Session
    from wevent.store.totals import RunTotals

Commands = Any
"""What argparse's `add_subparsers` gives."""


def add_publishing(commands: Commands) -> None:
    """Add the commands to a parser."""
    add_starting(commands)
    publish = commands.add_parser(
        "publish",
        help="turn events into kept releases",
        description="Read events, release every slot that is over, and keep it. Run again to go on where it stopped.",
    )
    add_config(publish)
    publish.add_argument(
        "--events", type=Path, nargs="+", default=[], metavar="FILE", help="CSV, NDJSON or Parquet files, folders, or -"
    )
    publish.add_argument("--requirements", type=Path, metavar="FILE", help="import these first")
    publish.add_argument(
        "--overwrite", action="store_true", help="with --requirements: also change people who have set their own"
    )
    publish.add_argument("--until", type=instant, metavar="TIME", help="release slots that end by then, no others")
    publish.add_argument("--follow", action="store_true", help="go on reading one growing file; closing = arrival")
    publish.add_argument("--format", choices=("csv", "ndjson"), default="ndjson", help="of standard input (-)")
    add_restoring(publish)
    publish.add_argument("--quiet", action="store_true", help="no progress bar")
    publish.add_argument("--yes", action="store_true", help=f"release more than {MANY:,} slots without being asked")
    publish.add_argument(
        "--allow-empty", action="store_true", help="release slots though nothing in the sources can be accepted"
    )
    publish.add_argument("--dry-run", action="store_true", help="as `wevent check`: say what would be done, do nothing")
    publish.set_defaults(command=_publish)
    add_checking(commands)
    demo = commands.add_parser("demo", help="the whole way on a simulated city: events, store, plot, audit")
    demo.add_argument("--folder", type=Path, help="where to work; default: a temporary folder")
    demo.add_argument("--people", type=int, default=2_000)
    demo.add_argument("--slots", type=int, default=96, help="of 15 minutes")
    demo.add_argument("--seed", type=int, default=1, help="of movement and wishes; the noise cannot be seeded")
    demo.set_defaults(command=_demo)


def _demo(given: argparse.Namespace) -> int:
    from wevent.cli.tour import tour

    return tour(given.folder, given.people, given.slots, given.seed, sys.stdout)


def _publish(given: argparse.Namespace) -> int:
    if given.dry_run:
        return check_sources(given)
    with Stopping() as stopping:
        stopping.run(lambda: _publish_until_stopped(given, stopping))
        return stopping.exit_code or 0


def _publish_until_stopped(given: argparse.Namespace, stopping: Stopping) -> None:
    from wevent.cli.asking import describe, import_file
    from wevent.errors import EmptyRegister, WeventError
    from wevent.store.feeding import count_due
    from wevent.store.totals import RunTotals

    config, totals = read(given), RunTotals()
    check_until(config, given.until, now())
    check_first_files(given, config)
    shown = restored_slot(config, given.restored)
    with open_store(config, create=True, shown=shown) as database:
        give_up(config, database, shown, yes=given.yes)
        if given.requirements is not None:
            stored = import_file(config, database, given.requirements, overwrite=given.overwrite)
            sys.stderr.write(f"requirements: {describe(stored)}\n")
        with open_session(config, database, requirements_lost=given.requirements_lost) as session:
            if not session.people and config.people.group is None:
                raise EmptyRegister("nobody is registered; import a file of requirements first (`--requirements FILE`)")
            done = False
            try:
                _run(given, config, session, totals, stopping)
                done = True
            finally:
                stopping.only_note()
                if done or stopping.exit_code is not None or totals.tallies or totals.decisions:
                    with nullcontext() if done else suppress(WeventError):  # the first error is the one to hear of
                        stopped = not done and stopping.exit_code is not None
                        left = 0 if done else count_due(session, given.until)
                        waiting = session.intake.count() if done or stopped else 0
                        end = RunEnd(session.next_slot, now(), left=left, waiting=waiting, stopped=stopped)
                        _say_end(config, totals, end)


def _say_end(config: Config, totals: RunTotals, end: RunEnd) -> None:
    """What was done, for everybody who started the command, and for the operator."""
    words = [f"{number:,} {kind}" for kind, number in sorted(totals.decisions.items())]
    if not words:
        words = ["no slot was released" if end.left or end.stopped else "no slot was due"]
    if end.stopped:
        words.append("stopped")
    if end.left:
        words.append(f"{end.left:,} due slots are left")
    sys.stdout.write(f"stream {config.stream.name}: {', '.join(words)}; next is slot {end.next_slot}\n")
    sys.stdout.flush()
    say_summary(config, totals, end)


def _run(given: argparse.Namespace, config: Config, session: Session, totals: RunTotals, stopping: Stopping) -> None:
    """Feed the session, to the end of its sources or until somebody stops it."""
    from wevent.cli.progress import Bar
    from wevent.errors import InvalidSetting
    from wevent.store.clock import GuardedClock
    from wevent.store.feeding import Feed, last_slot, publish_files
    from wevent.store.sources import accept_files, follow, pipe

    piped = [path for path in given.events if str(path) == "-"]
    last = last_slot(session, given.until)
    if config.slots.closing == "files":
        if not given.events:
            raise InvalidSetting("a stream that is closed by files needs them (`--events FILE …`): every event counts")
        if piped or given.follow:
            raise InvalidSetting(
                "a stream that is closed by files reads whole files; use closing = 'arrival' to follow"
            )
        with Bar(given.quiet, max(0, last - session.next_slot + 1)) as bar:
            publish_files(
                session,
                given.events,
                given.until,
                _on_release(totals, bar),
                bar.reading,
                stopping,
                totals=totals,
                allow_empty=given.allow_empty,
                confirm=_confirm(given, config, totals, bar),
            )
        return
    if given.follow and (len(given.events) != 1 or piped or config.slots.closing != "arrival"):
        raise InvalidSetting("--follow takes one file, and a stream whose slots are closed by arrival")
    with Bar(given.quiet, None) as bar:
        feed = Feed(
            session,
            _on_release(totals, bar),
            given.until,
            clock=GuardedClock(session.writer.clock, config.slots.jump_limit),
            warn=bar.warn,
            stops=stopping,
            totals=totals,
        )
        if given.follow:
            from wevent.events.files import check_file
            from wevent.events.formats import format_of

            kind = format_of(given.events[0]) or given.format
            check_file(given.events[0], kind)
            follow(feed, given.events[0], kind)
            return
        accept_files(feed, [path for path in given.events if str(path) != "-"], bar.reading)
        for _ in piped:
            pipe(feed, sys.stdin.buffer, given.format)
        if config.slots.closing == "operator":
            feed.close_by_word(
                last_slot(session, given.until),
                allow_empty=given.allow_empty or not given.events,
                confirm=_confirm(given, config, totals, bar),
            )
        else:
            feed.close_due()


def _confirm(given: argparse.Namespace, config: Config, totals: RunTotals, bar: Bar) -> Confirm:
    def confirm(first: int, last: int) -> None:
        if not given.yes:
            with bar.hidden():
                confirm_many(config, first, last, totals.seen)

    return confirm


def _on_release(totals: RunTotals, bar: Bar) -> ReleaseCallback:
    def on_release(release: Release) -> None:
        totals.add_release(release)
        bar.advance(release.slot)

    return on_release
