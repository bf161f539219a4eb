"""Writes a page about all streams of a store for a privacy officer: HTML without any outside reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from wevent.cohorts.requirement import Dynamic
from wevent.config.durations import show_duration
from wevent.releases.empirical import EmpiricalLoss
from wevent.reports.combined_loss import CombinedLoss
from wevent.reports.findings import Audit, AuditedPromise
from wevent.reports.times import SlotTimes
from wevent.reports.wording import settings_in_words
from wevent.units import show

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 } th, td { text-align: left; padding: .3rem .6rem;
border-bottom: 1px solid #ddd; vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
.kept { background: #e6f4ea; padding: .8rem 1rem } .broken { background: #fce8e6; padding: .8rem 1rem }
"""

_NEIGHBOURS = {
    "add_remove": "whether a person was present is hidden at epsilon, where they were at twice that",
    "substitution": "both whether a person was present and where is hidden at epsilon",
}

_EPSILON = (
    "Epsilon bounds what anybody can learn about one person from everything that is released in a window: the odds "
    "that the person was there change at most by the factor e<sup>epsilon</sup>, which is 1.1 for 0.1, 1.6 for 0.5 and "
    "2.7 for 1. The smaller, the better protected."
)
_PAST = (
    "A past is what a person required, from which slots on, and how they were charged; people who share one are judged "
    "together."
)
_RATIO = (
    "The ratio is spent over allowed in the worst window. A ratio of 1.000 is normal: the mechanism may use all of the "
    "budget and never more."
)


@dataclass(frozen=True, slots=True)
class Judged:
    """One stream as a report shows it.

    Attributes:
        audit: what was found.
        settings: what the stream began with.
        loss: what a run on neighbouring streams showed, if there was one.
        assumptions: what must be true for the counts to be right in the mean.
    """

    audit: Audit
    settings: dict[str, Any] = field(repr=False)
    loss: EmpiricalLoss | None = None
    assumptions: Sequence[str] = ()


def officer_page(judged: Sequence[Judged], together: Sequence[CombinedLoss] = (), made: str = "") -> str:
    """All streams of a store as one page, with what they may cost together; `made` says when, and by which program.

    Guarantees:
        Everything that came from outside is escaped; no user is named.
    """
    names = ", ".join(escape(each.audit.stream) for each in judged)
    title = f"Privacy report: {names}"
    several = len(judged) > 1
    parts = [
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>",
        f"<style>{_STYLE}</style></head>",
        f"<body><h1>{title}</h1>",
        f"<p>Written {escape(made)}. Times are in UTC; a slot's time is when it begins.</p>" if made else "",
        _whole_verdict(judged) if several else "",
        _together(together),
        *(_stream(each, several=several) for each in judged),
        "<h2>What this does not cover</h2><ul>"
        "<li>Requirements themselves are not protected, nor habits that last longer than a window.</li>"
        "<li>A second stream over the same people, in another store, spends a second budget.</li>"
        "<li>Who runs the store sees raw events until their slot is released.</li>"
        "<li>An empirical test can refute a promise and never prove it.</li></ul></body></html>",
    ]
    return "\n".join(part for part in parts if part)


def _whole_verdict(judged: Sequence[Judged]) -> str:
    broken = [each.audit.stream for each in judged if not each.audit.kept]
    if not broken:
        return f"<p class='kept'><strong>Every promise of all {len(judged)} streams was kept.</strong></p>"
    return f"<p class='broken'><strong>A promise was broken</strong> in {', '.join(map(escape, broken))}.</p>"


def _together(together: Sequence[CombinedLoss]) -> str:
    if not together:
        return ""
    rows = (
        (
            "; ".join(escape(str(part)) for part in line.parts),
            f"{line.people:,}",
            show_duration(line.longest.length),
            show(line.epsilon),
        )
        for line in together
    )
    return (
        "<h2>What all streams together may cost</h2><p>Each stream spends a budget of its own. People who are in "
        "several may lose, in the longest window of any, as much as all of them spend together.</p>"
        + _table(("streams and promises", "people", "longest window", "epsilon at most"), rows)
    )


def _stream(judged: Judged, *, several: bool) -> str:
    audit, settings = judged.audit, judged.settings
    times = SlotTimes(settings)
    given_up = audit.given_up(times)
    parts = [
        f"<h2>Stream {escape(audit.stream)}</h2>" if several else "",
        _verdict(audit, times),
        "<h2>What was promised</h2>",
        "<p>Over any window of consecutive slots, publishing costs a person at most the epsilon they require: "
        f"{_NEIGHBOURS.get(str(settings.get('privacy.neighbours')), '')}. This was proven anew from the stored "
        f"charges of {audit.slots:,} slots and the requirements of {audit.people:,} people "
        f"({audit.classes:,} different pasts), by a program that shares nothing with the one that decided what to "
        "spend.</p>",
        f"<p>{_EPSILON}</p><p>{_PAST}</p>",
        _table(
            ("promise", "people", "worst window", "spent", "allowed", "ratio"),
            (_promise(promise, times) for promise in audit.promises),
        ),
        f"<p>{_RATIO}</p>",
        "<h2>How slots ended</h2>",
        _table(("decision", "slots"), ((escape(kind), f"{n:,}") for kind, n in sorted(audit.decisions.items()))),
        f"<p>{escape(given_up[0].upper() + given_up[1:])}.</p>" if given_up else "",
        _shown(settings, judged.assumptions),
        _tested(judged.loss),
        "<h2>What the stream began with</h2>",
        "<p>These settings are kept in the store; the program refuses to publish under others.</p>",
        _table(("setting", "value"), _settings(settings)),
    ]
    return "\n".join(part for part in parts if part)


def _settings(settings: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for what, key, value in settings_in_words(settings):
        yield f"{escape(what)}" + (f" <code>{escape(key)}</code>" if what != key else ""), escape(value)


def _verdict(audit: Audit, times: SlotTimes) -> str:
    if audit.kept:
        return (
            "<p class='kept'><strong>Every promise was kept.</strong> No window of anybody holds more than was "
            "promised.</p>"
        )
    items = "".join(
        f"<li>slot {times.slot(violation.slot)}: {escape(violation.what)} ({violation.people:,} people)</li>"
        for violation in audit.violations
    )
    return f"<div class='broken'><strong>A promise was broken.</strong><ul>{items}</ul></div>"


def _promise(promise: AuditedPromise, times: SlotTimes) -> tuple[str, ...]:
    words, people, use = escape(str(promise)), f"{promise.people:,}", promise.worst
    if use is None:
        required = promise.requirement
        forward = required.forward if isinstance(required, Dynamic) else required
        return words, people, "nothing was spent", "0", show(forward.units), "0"
    window = f"slots {times.span(max(1, use.first), use.last)}"
    return words, people, window, show(use.spent), show(use.allowed), f"{float(use.ratio):.3f}"


def _shown(settings: dict[str, Any], assumptions: Sequence[str]) -> str:
    """How a filtered stream's counts come about."""
    if settings.get("privacy.mechanism") != "auto":
        return ""
    right = "".join(f"<p>The counts are right in the mean only if {escape(words)}.</p>" for words in assumptions)
    return (
        "<h2>What is shown</h2><p>Noisy counts are published every so many slots; how many follows from requirements, "
        "charges and what was published before. A filter makes the counts of every slot, with error bars, from these "
        "noisy counts and nothing else, which costs nobody anything. People are counted by the estimator "
        f"<em>{escape(str(settings.get('privacy.estimator')))}</em>.</p>{right}"
    )


def _tested(loss: EmpiricalLoss | None) -> str:
    if loss is None:
        return ""
    return (
        "<h2>Tested on neighbouring streams</h2><p>The configured mechanism ran on two streams that differ in one "
        f"person. With confidence {loss.confidence:g} its loss is at least {loss.epsilon:.3f}.</p>"
    )


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    def cells(row: tuple[str, ...], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=n' if k and len(row) != 2 else ''}>{cell}</{tag}>" for k, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f"<table><thead><tr>{cells(heads, 'th')}</tr></thead><tbody>{body}</tbody></table>"
