"""Runs `wevent publish`: opens the stream, feeds it until its sources end or a signal stops it, and reports the end."""

from __future__ import annotations

import sys
from contextlib import nullcontext, suppress

from wevent.cli.confirmation import check_until, confirm_many
from wevent.cli.first_run import check_first_files
from wevent.cli.output import print_json
from wevent.cli.progress import ProgressBar
from wevent.cli.requirement_file import describe, import_file
from wevent.cli.restore import give_up, restored_slot
from wevent.cli.run_options import RunOptions
from wevent.cli.signals import SignalGuard
from wevent.cli.summary import RunEnd, as_dict, say_summary
from wevent.errors import EmptyRegister, InvalidSetting, WeventError
from wevent.events.files import check_file
from wevent.events.formats import format_of
from wevent.releases.release import Release
from wevent.store.clock import GuardedClock
from wevent.store.due_slots import count_due, last_slot
from wevent.store.feeding import Confirm, Feed, ReleaseCallback, publish_files
from wevent.store.opening import open_session, open_store, system_clock
from wevent.store.session import Session
from wevent.store.sources import accept_files, follow, pipe
from wevent.store.totals import RunTotals


def publish_until_stopped(options: RunOptions) -> int:
    """Publish to the end of the sources, or until a signal stops it; return the exit code."""
    with SignalGuard() as guard:
        guard.run(lambda: _publish(options, guard))
        return guard.exit_code or 0


def _publish(options: RunOptions, guard: SignalGuard) -> None:
    config, totals = options.config, RunTotals()
    check_until(config, options.until, system_clock())
    check_first_files(options, guard)
    shown = restored_slot(config, options.restored)
    with open_store(config, create=True, shown=shown) as database:
        give_up(config, database, shown, yes=options.yes)
        if options.requirements is not None:
            stored = import_file(config, database, options.requirements, overwrite=options.overwrite)
            sys.stderr.write(f"requirements: {describe(stored)}\n")
        with open_session(config, database, requirements_lost=options.requirements_lost) as session:
            if not session.people and config.people.group is None:
                raise EmptyRegister("nobody is registered; import a file of requirements first (`--requirements FILE`)")
            done = False
            try:
                _feed(options, session, totals, guard)
                done = True
            finally:
                guard.only_note()
                if done or guard.exit_code is not None or totals.tallies or totals.decisions:
                    with nullcontext() if done else suppress(WeventError):  # the first error is the one to report
                        stopped = not done and guard.exit_code is not None
                        left = 0 if done else count_due(session, options.until)
                        waiting = session.intake.count() if done or stopped else 0
                        end = RunEnd(session.next_slot, system_clock(), left=left, waiting=waiting, stopped=stopped)
                        _report_end(options, totals, end)


def _report_end(options: RunOptions, totals: RunTotals, end: RunEnd) -> None:
    """Say what was done: a line or a JSON document on standard output, and a summary for the operator."""
    if options.as_json:
        print_json(as_dict(options.config, totals, end))
    else:
        sys.stdout.write(f"{_result(options, totals, end)}\n")
    sys.stdout.flush()
    if not options.volume.quiet:
        say_summary(options.config, totals, end)


def _result(options: RunOptions, totals: RunTotals, end: RunEnd) -> str:
    words = [f"{number:,} {kind}" for kind, number in sorted(totals.decisions.items())]
    if not words:
        words = ["no slot was released" if end.left or end.stopped else "no slot was due"]
    if end.stopped:
        words.append("stopped")
    if end.left:
        words.append(f"{end.left:,} due slots are left")
    return f"stream {options.config.stream.name}: {', '.join(words)}; next is slot {end.next_slot}"


def _feed(options: RunOptions, session: Session, totals: RunTotals, guard: SignalGuard) -> None:
    """Feed the session, to the end of its sources or until a signal stops it."""
    config, last = options.config, last_slot(session, options.until)
    if config.slots.closing == "files":
        if not options.events:
            raise InvalidSetting("a stream that is closed by files needs them (`--events FILE …`): every event counts")
        if options.piped or options.follow:
            raise InvalidSetting(
                "a stream that is closed by files reads whole files; use closing = 'arrival' to follow"
            )
        with ProgressBar(options.volume, max(0, last - session.next_slot + 1)) as bar:
            publish_files(
                session,
                options.files,
                options.until,
                _on_release(totals, bar),
                bar.reading,
                guard,
                totals=totals,
                allow_empty=options.allow_empty,
                confirm=_confirm(options, totals, bar),
            )
        return
    if options.follow and (len(options.files) != 1 or options.piped or config.slots.closing != "arrival"):
        raise InvalidSetting("--follow takes one file, and a stream whose slots are closed by arrival")
    with ProgressBar(options.volume, None) as bar:
        feed = Feed(
            session,
            _on_release(totals, bar),
            options.until,
            clock=GuardedClock(session.writer.clock, config.slots.jump_limit),
            warn=bar.warn,
            stops=guard,
            totals=totals,
        )
        if options.follow:
            kind = format_of(options.events[0]) or options.format
            check_file(options.events[0], kind)
            follow(feed, options.events[0], kind)
            return
        accept_files(feed, options.files, bar.reading)
        if options.piped:
            pipe(feed, sys.stdin.buffer, options.format)
        if config.slots.closing == "operator":
            feed.close_by_word(
                last_slot(session, options.until),
                allow_empty=options.allow_empty or not options.events,
                confirm=_confirm(options, totals, bar),
            )
        else:
            feed.close_due()


def _confirm(options: RunOptions, totals: RunTotals, bar: ProgressBar) -> Confirm:
    def confirm(first: int, last: int) -> None:
        if not options.yes:
            with bar.hidden():
                confirm_many(options.config, first, last, totals.seen, until=options.until)

    return confirm


def _on_release(totals: RunTotals, bar: ProgressBar) -> ReleaseCallback:
    def on_release(release: Release) -> None:
        totals.add_release(release)
        bar.advance(release)

    return on_release
