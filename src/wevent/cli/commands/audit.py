"""`wevent audit`: proves from a store that every promise was kept; never writes to it.

All streams are judged as one: one table or JSON document, one page, one exit code.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wevent.cli.exits import BROKEN, FINE
from wevent.cli.options import CONFIG, Json, OtherConfigFile, file_option, flag, named_on_the_command_line, whole_option
from wevent.cli.output import naming, print_json

if TYPE_CHECKING:
    from wevent.reports.findings import Audit
    from wevent.reports.neighbours import NeighbourTrial
    from wevent.reports.officer import Judged


def audit(
    context: typer.Context,
    store: Annotated[
        str | None,
        typer.Argument(
            metavar="STORE", show_default=False, help="Path or URL of a store; default: that of the configuration."
        ),
    ] = None,
    config: OtherConfigFile = None,
    stream: Annotated[
        str | None, typer.Option(metavar="NAME", show_default=False, help="One stream; default: all.")
    ] = None,
    as_json: Json = False,
    html: Annotated[Path | None, file_option("--html", "Also write a page for a privacy officer.")] = None,
    empirical: Annotated[bool, flag("--empirical", "Also run the mechanism on neighbouring streams.")] = False,
    runs: Annotated[int, whole_option(1, 10**9, "How often --empirical runs each of them.")] = 2_000,
) -> int:
    """Prove from the store that every promise was kept; end with exit code 1 if one was broken.

    Example: wevent audit --html privacy-report.html
    """
    from wevent import __version__
    from wevent.events.names import show_name
    from wevent.events.timeline import show_instant
    from wevent.reports.audit import audit as judge
    from wevent.reports.combined_loss import read_combined_losses
    from wevent.reports.history import read_history
    from wevent.reports.officer import Judged, officer_page
    from wevent.store.damage import check_store
    from wevent.store.database import open_database
    from wevent.store.opening import system_clock
    from wevent.store.streams import all_streams

    judged: list[Judged] = []
    trials: list[NeighbourTrial | None] = []
    with open_database(_which_store(context, store, config), read_only=True) as database:
        check_store(database, besides_history=stream is None)
        names = [stream] if stream else [each.name for each in all_streams(database)]
        for name in names:
            history = read_history(database, name)
            found = judge(history)
            trial = _trial(history.settings, found, runs) if empirical else None
            trials.append(trial)
            loss = None if trial is None else trial.loss
            judged.append(Judged(found, history.settings, loss, history.assumptions))
        together = read_combined_losses(database)
    broken = any(not each.audit.kept for each in judged) or any(t is not None and t.refuted for t in trials)
    if as_json:
        document = {
            "kept": not broken,
            "streams": [
                {**each.audit.as_dict(), "empirical": None if trial is None else _as_dict(trial)}
                for each, trial in zip(judged, trials, strict=True)
            ],
            "together": [line.as_dict() for line in together],
        }
        print_json(document)
    else:
        for each, trial in zip(judged, trials, strict=True):
            _print(each, trial)
        out = [f"{show_name(str(line))}\n" for line in together]
        if not judged:
            out.append("the store holds no stream\n")
        if len(judged) > 1:
            out.append("A PROMISE WAS BROKEN\n" if broken else "every promise of all streams was kept\n")
        sys.stdout.write("".join(out))
    if html is not None:
        with naming(html):
            made = f"{show_instant(system_clock())} by wevent {__version__}"
            html.write_text(officer_page(judged, together, made), "utf-8")
    return BROKEN if broken else FINE


def _which_store(context: typer.Context, store: str | None, config: Path | None) -> str:
    """The store that is meant: named on the command line, or by a configuration."""
    from wevent.config.read import read_config
    from wevent.errors import InvalidSetting

    if store is None:
        return str(read_config(config or CONFIG).store.url)
    if named_on_the_command_line(context, "config"):
        raise InvalidSetting("give the path or URL of a store, or a configuration (`--config FILE`), not both")
    return store


def _print(judged: Judged, trial: NeighbourTrial | None) -> None:
    from wevent.events.names import show_name
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


def _as_dict(trial: NeighbourTrial) -> dict[str, Any]:
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
    mechanism, estimator = settings["privacy.mechanism"], settings.get("privacy.estimator")
    return try_mechanism(mechanism, privacy, side.units, side.window, runs, estimator)
