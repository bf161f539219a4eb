"""`wevent audit`: proves from a store that every promise was kept; never writes to it.

All streams are judged as one: one table or JSON document, one page, one exit code.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wevent.cli.ending import naming
from wevent.cli.opening import CONFIG, now
from wevent.events.names import show_name

if TYPE_CHECKING:
    from wevent.reports.findings import Audit
    from wevent.reports.neighbours import NeighbourTrial
    from wevent.reports.officer import Judged


def add_auditing(commands: Any) -> None:
    """Add the command to a parser."""
    audit = commands.add_parser("audit", help="prove from the store that every promise was kept")
    audit.add_argument("store", nargs="?", help="path or URL of a store; by default that of the configuration")
    audit.add_argument("--config", type=Path, metavar="FILE", help=f"default: {CONFIG}")
    audit.add_argument("--stream", help="default: all of them")
    audit.add_argument("--json", action="store_true", help="print one JSON document")
    audit.add_argument("--html", type=Path, metavar="FILE", help="also write a page for a privacy officer")
    audit.add_argument("--empirical", action="store_true", help="also run the mechanism on neighbouring streams")
    audit.add_argument("--runs", type=int, default=2_000, help="of --empirical, on each stream")
    audit.set_defaults(command=_audit)


def _audit(given: argparse.Namespace) -> int:
    from wevent import __version__
    from wevent.events.timeline import show_instant
    from wevent.reports.audit import audit
    from wevent.reports.combined_loss import read_combined_losses
    from wevent.reports.history import read_history
    from wevent.reports.officer import Judged, officer_page
    from wevent.store.damage import check_store
    from wevent.store.database import open_database
    from wevent.store.streams import all_streams

    judged: list[Judged] = []
    trials: list[NeighbourTrial | None] = []
    with open_database(_where(given), read_only=True) as database:
        check_store(database, besides_history=given.stream is None)
        names = [given.stream] if given.stream else [stream.name for stream in all_streams(database)]
        for name in names:
            history = read_history(database, name)
            found = audit(history)
            trial = _trial(history.settings, found, given.runs) if given.empirical else None
            trials.append(trial)
            loss = None if trial is None else trial.loss
            judged.append(Judged(found, history.settings, loss, history.assumptions))
        together = read_combined_losses(database)
    broken = any(not each.audit.kept for each in judged) or any(t is not None and t.refuted for t in trials)
    if given.json:
        document = {
            "kept": not broken,
            "streams": [
                {**each.audit.as_dict(), "empirical": None if trial is None else _tried(trial)}
                for each, trial in zip(judged, trials, strict=True)
            ],
            "together": [line.as_dict() for line in together],
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        for each, trial in zip(judged, trials, strict=True):
            _say(each, trial)
        out = [f"{show_name(str(line))}\n" for line in together]
        if not judged:
            out.append("the store holds no stream\n")
        if len(judged) > 1:
            out.append("A PROMISE WAS BROKEN\n" if broken else "every promise of all streams was kept\n")
        sys.stdout.write("".join(out))
    if given.html is not None:
        with naming(given.html):
            made = f"{show_instant(now())} by wevent {__version__}"
            given.html.write_text(officer_page(judged, together, made), "utf-8")
    return 1 if broken else 0


def _where(given: argparse.Namespace) -> str:
    """The store that is meant: named on the command line, or by a configuration."""
    from wevent.config.read import read_config
    from wevent.errors import InvalidSetting

    if given.store is not None and given.config is not None:
        raise InvalidSetting("give the path or URL of a store, or a configuration (`--config FILE`), not both")
    return str(given.store) if given.store is not None else str(read_config(given.config or CONFIG).store.url)


def _say(judged: Judged, trial: NeighbourTrial | None) -> None:
    from wevent.reports.times import SlotTimes
    from wevent.units import show

    found = judged.audit
    out = [
        f"stream {show_name(found.stream)}: {found.slots:,} slots, {found.people:,} people of {found.classes:,} "
        "different pasts"
    ]
    for line in found.promises:
        worst = "nothing was spent"
        if line.worst is not None:
            use = line.worst
            worst = f"worst window: slots {max(1, use.first)} to {use.last}, {show(use.spent)} of {show(use.allowed)}"
        out.append(f"  {line}, {line.people:,} people; {worst}")
    out += [
        f"  VIOLATION in slot {violation.slot}, {violation.people:,} people: {violation.what}"
        for violation in found.violations
    ]
    if given_up := found.given_up(SlotTimes(judged.settings)):
        out.append(f"  {given_up}")
    out.append("  every promise was kept" if found.kept else "  A PROMISE WAS BROKEN")
    if trial is not None:
        verdict = "MORE than" if trial.refuted else "within"
        out.append(
            f"  on neighbouring streams the loss over {trial.window} slots is at least {trial.loss.epsilon:.3f}, "
            f"{verdict} the promised {trial.promise:g}"
        )
    sys.stdout.write("\n".join(out) + "\n")


def _tried(trial: NeighbourTrial) -> dict[str, Any]:
    loss = {"at_least": trial.loss.epsilon, "confidence": trial.loss.confidence}
    return {"window": trial.window, "promised": trial.promise, **loss, "refuted": trial.refuted}


def _trial(settings: dict[str, Any], found: Audit, runs: int) -> NeighbourTrial:
    from wevent.cohorts.requirement import Dynamic, Fixed
    from wevent.reports.neighbours import try_mechanism
    from wevent.settings import Privacy

    privacy = Privacy(
        settings["privacy.neighbours"], infeasible=settings["privacy.infeasible"], rest=settings["privacy.rest"]
    )
    most = max(found.promises, key=lambda promise: promise.people, default=None)
    required = Fixed(1, 2) if most is None else most.requirement
    side = required.forward if isinstance(required, Dynamic) else required
    told = {"estimator": settings["privacy.estimator"]} if "privacy.estimator" in settings else {}
    return try_mechanism(settings["privacy.mechanism"], privacy, side.units, side.window, runs, **told)
