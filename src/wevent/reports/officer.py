"""One page for a privacy officer: an audit and settings come in, HTML without any outside reference goes out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from wevent.releases.empirical import EmpiricalLoss
from wevent.reports.audit import Audit, Line
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


def officer_page(
    audit: Audit, settings: dict[str, Any], loss: EmpiricalLoss | None = None, assumptions: Sequence[str] = ()
) -> str:
    """The audit as a page.

    Args:
        audit: what was found.
        settings: what the stream began with.
        loss: what a run on neighbouring streams showed, if there was one.
        assumptions: what must be true for the counts to be right in the mean.

    Guarantees:
        Everything that came from outside is escaped; no user is named.
    """
    title = f"Privacy report: {escape(audit.stream)}"
    parts = [
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>",
        f"<style>{_STYLE}</style></head>",
        f"<body><h1>{title}</h1>",
        _verdict(audit),
        "<h2>What was promised</h2>",
        "<p>Over any window of consecutive slots, publishing costs a person at most the epsilon they asked for: "
        f"{_NEIGHBOURS.get(str(settings.get('privacy.neighbours')), '')}. This was proven anew from the stored "
        f"charges of {audit.slots:,} slots and the requirements of {audit.people:,} people "
        f"({audit.classes:,} different pasts), by a program that shares nothing with the one that decided what to "
        "spend.</p>",
        _table(
            ("promise", "people", "worst window", "spent", "allowed", "ratio"),
            (_line(line) for line in sorted(audit.lines, key=lambda line: str(line.terms))),
        ),
        "<h2>How slots ended</h2>",
        _table(("decision", "slots"), ((escape(kind), f"{n:,}") for kind, n in sorted(audit.decisions.items()))),
        _forfeited(audit),
        _shown(settings, assumptions),
        _tested(loss),
        "<h2>What the stream began with</h2>",
        "<p>These settings are kept in the store; the program refuses to publish under others.</p>",
        _table(("setting", "value"), ((escape(key), escape(_short(value))) for key, value in sorted(settings.items()))),
        "<h2>What this does not cover</h2><ul>"
        "<li>Requirements themselves are not protected, nor habits that last longer than a window.</li>"
        "<li>A second stream over the same people spends a second budget.</li>"
        "<li>Who runs the store sees raw events until their slot is released.</li>"
        "<li>An empirical test can refute a promise and never prove it.</li></ul></body></html>",
    ]
    return "\n".join(part for part in parts if part)


def _verdict(audit: Audit) -> str:
    if audit.kept:
        return (
            "<p class='kept'><strong>Every promise was kept.</strong> No window of anybody holds more than was "
            "promised.</p>"
        )
    items = "".join(
        f"<li>slot {violation.slot}: {escape(violation.what)} ({violation.people:,} people)</li>"
        for violation in audit.violations
    )
    return f"<div class='broken'><strong>A promise was broken.</strong><ul>{items}</ul></div>"


def _line(line: Line) -> tuple[str, ...]:
    if line.worst is None:
        return escape(str(line.terms)), f"{line.people:,}", "nothing was spent", "0", show(line.terms.epsilon), "0"
    use = line.worst
    window = f"slots {max(1, use.first)} to {use.last}"
    ratio = f"{float(use.ratio):.3f}"
    return escape(str(line.terms)), f"{line.people:,}", window, show(use.spent), show(use.allowed), ratio


def _forfeited(audit: Audit) -> str:
    if not audit.forfeited:
        return ""
    first, last = audit.forfeited[0], audit.forfeited[-1]
    return (
        f"<p>The store was restored from an older copy: {len(audit.forfeited):,} slots from {first} to {last} were "
        "given up, and nobody spent anything until their windows had passed them.</p>"
    )


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


def _short(value: Any) -> str:
    words = str(value)
    return words if len(words) <= 300 else f"{words[:297]}…"
