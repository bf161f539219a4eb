"""`wevent init`, `wevent publish` and `wevent demo`: events come in, kept releases go out."""

from __future__ import annotations

import argparse
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from wevent.cli.opening import add_config, instant, now, open_session, open_store, read

if TYPE_CHECKING:
    from wevent.config.model import Config
    from wevent.releases.release import Release
    from wevent.store.session import Session

Commands = Any
"""What argparse's `add_subparsers` gives."""


def add_publishing(commands: Commands) -> None:
    """Add the commands to a parser."""
    init = commands.add_parser("init", help="write a commented wevent.toml", description="Write a configuration.")
    init.add_argument("path", type=Path, nargs="?", default=Path("wevent.toml"))
    init.set_defaults(command=_init)
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
    publish.add_argument("--until", type=instant, metavar="TIME", help="release slots that end by then, no others")
    publish.add_argument("--follow", action="store_true", help="go on reading one growing file; closing = arrival")
    publish.add_argument("--format", choices=("csv", "ndjson"), default="ndjson", help="of standard input (-)")
    publish.add_argument(
        "--restored",
        type=int,
        nargs="?",
        const=-1,
        metavar="SLOT",
        help="after a restore, or without the witness: slots up to this one, or the current one, may have been shown",
    )
    publish.add_argument("--quiet", action="store_true", help="no progress bar")
    publish.set_defaults(command=_publish)
    demo = commands.add_parser("demo", help="the whole way on a simulated city: events, store, plot, audit")
    demo.add_argument("--folder", type=Path, help="where to work; default: a temporary folder")
    demo.add_argument("--people", type=int, default=2_000)
    demo.add_argument("--slots", type=int, default=96, help="of 15 minutes")
    demo.add_argument("--seed", type=int, default=1, help="of movement and wishes; the noise cannot be seeded")
    demo.set_defaults(command=_demo)


def _init(given: argparse.Namespace) -> int:
    from wevent.config.read import write_example

    write_example(given.path)
    sys.stdout.write(f"wrote {given.path}; read its comments, then run `wevent publish --config {given.path}`\n")
    return 0


def _demo(given: argparse.Namespace) -> int:
    from wevent.cli.tour import tour

    return tour(given.folder, given.people, given.slots, given.seed, sys.stdout)


def _publish(given: argparse.Namespace) -> int:
    from wevent.cli.asking import import_file
    from wevent.errors import EmptyRegister

    config = read(given)
    database = open_store(config, create=True)
    if given.requirements is not None:
        import_file(config, database, given.requirements)
    shown = None
    if given.restored is not None:
        shown = config.slots.timeline.number(now()) if given.restored < 0 else given.restored
    with open_session(config, database, shown) as session:
        if not session.people and config.people.group is None:
            raise EmptyRegister("nobody is registered; import a file of requirements first (`--requirements FILE`)")
        decisions: Counter[str] = Counter()
        stopped = _run(given, config, session, decisions)
        told = ", ".join(f"{number:,} {kind}" for kind, number in sorted(decisions.items())) or "no slot was due"
        sys.stdout.write(f"stream {config.stream.name}: {told}; next is slot {session.next_slot}\n")
    return 130 if stopped else 0


def _run(given: argparse.Namespace, config: Config, session: Session, decisions: Counter[str]) -> bool:
    """Feed the session; whether somebody stopped it."""
    from wevent.cli.progress import Bar
    from wevent.errors import InvalidSetting
    from wevent.store.feeding import Feed, accept_files, follow, last_slot, pipe, publish_files

    piped = [path for path in given.events if str(path) == "-"]
    if config.slots.closing == "files":
        if not given.events:
            raise InvalidSetting("a stream that is closed by files needs them (`--events FILE …`): every event counts")
        if piped or given.follow:
            raise InvalidSetting(
                "a stream that is closed by files reads whole files; use closing = 'arrival' to follow"
            )
        with Bar(given.quiet, max(0, last_slot(session, given.until) - session.next_slot + 1)) as bar:
            return _stoppable(
                lambda: publish_files(session, given.events, given.until, _tell(decisions, bar), bar.reading)
            )
    if given.follow and (len(given.events) != 1 or piped or config.slots.closing != "arrival"):
        raise InvalidSetting("--follow takes one file, and a stream whose slots are closed by arrival")
    with Bar(given.quiet, None) as bar:
        feed = Feed(session, _tell(decisions, bar), given.until)

        def work() -> None:
            if given.follow:
                from wevent.events.formats import SUFFIXES

                follow(feed, given.events[0], SUFFIXES.get(given.events[0].suffix, given.format))
                return
            accept_files(feed, [path for path in given.events if str(path) != "-"], bar.reading)
            for _ in piped:
                pipe(feed, sys.stdin.buffer, given.format)
            feed.close(last_slot(session, given.until))

        return _stoppable(work)


def _tell(decisions: Counter[str], bar: Any) -> Any:
    def told(release: Release) -> None:
        decisions[release.decision.value] += 1
        bar.advance(release.slot)

    return told


class _Stopped(BaseException):
    """Somebody asked the program to end."""


def _stoppable(work: Any) -> bool:
    """Run until the end, or until SIGTERM or Ctrl-C; both leave the store in order."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise _Stopped

    before = [(kind, signal.signal(kind, stop)) for kind in (signal.SIGINT, signal.SIGTERM)]
    try:
        work()
    except _Stopped:
        return True
    finally:
        for kind, handler in before:
            signal.signal(kind, handler)
    return False
