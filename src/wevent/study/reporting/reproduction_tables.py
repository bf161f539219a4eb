"""The tables of the page on reproduction: runs come in, sections of Markdown go out."""

from __future__ import annotations

from collections.abc import Sequence

from wevent.study.reporting import labels
from wevent.study.reporting.comparisons import (
    EPSILONS,
    MECHANISMS,
    USUAL,
    WINDOWS,
    ComparedValue,
    OrderClaim,
    ProtocolRuns,
    paper_claim,
)
from wevent.study.reporting.summary import Stat

CLOSE, FAR = 1.5, 2.0
"""Factors within which a value counts as reproduced, and beyond which it does not at all."""

LEVEL = 0.05
"""Means that differ by no more than this share are called level."""

_PAIRS = (("pbd", "bd"), ("pba", "ba"), ("pba", "ba_deviation"), ("dpbd", "pbd"), ("dpba", "pba"))
_SIX = MECHANISMS[:6]
_MOST_LISTED = 12


def at_usual(printed: ProtocolRuns) -> str:
    """Every printed value of the usual setting with mean, median and spread of `printed`."""
    found = printed.beside([USUAL])
    rows = [
        [
            one.data,
            labels.mechanism(one.mechanism),
            labels.number(one.paper),
            *_mean_median(one.ours),
            f"{labels.number(one.ours.least)} – {labels.number(one.ours.greatest)}",
            labels.times(one.ours.mean / one.paper),
            labels.times(one.ours.median / one.paper),
        ]
        for one in found
    ]
    head = ["data", "mechanism", "paper", "mean", "median", "least – greatest round", "mean / paper", "median / paper"]
    return f"""## `printed` at E = {USUAL[0]:g} and w = {USUAL[1]} (not private)

{table(head, rows, 2)}

{_outside(found)}"""


def both_tables(printed: ProtocolRuns) -> str:
    """Ours over the paper's for every printed value."""
    found = {(one.data, one.mechanism, one.setting): one for one in printed.beside()}
    pieces = ["## Both tables under `printed` (not private)\n\nOur mean divided by the paper's."]
    for letter, settings, values in (
        ("E", [(e, USUAL[1]) for e in EPSILONS], EPSILONS),
        ("w", [(USUAL[0], w) for w in WINDOWS], WINDOWS),
    ):
        head = ["data", "mechanism", *(f"{letter} = {value:g}" for value in values)]
        rows = [
            [data, labels.mechanism(name), *(_ratio(found.get((data, name, one))) for one in settings)]
            for data in printed.data()
            for name in MECHANISMS
            if any((data, name, one) in found for one in settings)
        ]
        pieces.append(f"**{letter} varied**\n\n{table(head, rows, 2)}")
    return "\n\n".join([*pieces, _outside(list(found.values()))])


def side_by_side(printed: ProtocolRuns, honest: ProtocolRuns) -> str:
    """Paper, `printed` and `honest` at the usual setting."""
    papers = {(one.data, one.mechanism): one.paper for one in honest.beside([USUAL])}
    rows = []
    for data in honest.data():
        for name in ("bd", "ba", "ba_deviation", *MECHANISMS[2:], "plbu_sum", "lbu"):
            ours, theirs, paper = honest.errors(data, name), printed.errors(data, name), papers.get((data, name))
            if ours is None:
                continue
            rows.append(
                [
                    data,
                    labels.mechanism(name),
                    "" if paper is None else labels.number(paper),
                    "" if theirs is None else labels.number(theirs.mean),
                    *_mean_median(ours),
                    "" if paper is None else labels.times(ours.mean / paper),
                    percent(printed.published(data, name)),
                    percent(honest.published(data, name)),
                ]
            )
    head = ["data", "mechanism", "paper", "printed", "honest mean", "honest median", "honest / paper"]
    return f"""## What `honest` gives beside it, at E = {USUAL[0]:g} and w = {USUAL[1]}

The last two columns are shares of slots that were published. SPAS is *accounted, not proven*: its budgets are
counted and never exceeded, but one threshold for an endless stream serves more than its proof allows.

{table([*head, "published (printed)", "published (honest)"], rows, 2)}"""


def tests_of_ba(honest: ProtocolRuns) -> str:
    """BA with either test beside PBA."""
    rows, words = [], []
    for data in honest.data():
        scale, deviation, pba = (honest.errors(data, name) for name in ("ba", "ba_deviation", "pba"))
        if scale is None or deviation is None or pba is None:
            continue
        first, second = pba.mean / scale.mean, pba.mean / deviation.mean
        means = [*_mean_median(scale), *_mean_median(deviation), *_mean_median(pba)]
        rows.append([data, *means, labels.times(first), labels.times(second)])
        words.append(f"on {data} PBA is {word(first)} BA with the scale, {word(second)} BA with the deviation")
    head = ["data", "BA, scale", "median", "BA, deviation", "median", "PBA", "median", "PBA / scale", "PBA / deviation"]
    return f"""## BA hinges on its test

BA publishes if the measured change exceeds the error that it expects of a publication. [Kellaris14] takes the *scale*
of the noise for that error, 1/ε; PBA takes its standard *deviation*, √2/ε. So whoever compares PBA with BA also
compares two tests. Both under `honest`, means, each with its median:

{table(head, rows, 1)}

In the mean, {"; ".join(words)}. (Level: they differ by at most {100 * LEVEL:.0f} %.)"""


def orders(printed: ProtocolRuns, honest: ProtocolRuns) -> str:
    """Which mechanism is better than which, in the paper and in our runs."""
    rows = []
    for first, second in _PAIRS:
        for data in honest.data():
            ours = honest.claim(data, first, second)
            if ours is not None:
                theirs = [paper_claim(data, first, second), printed.claim(data, first, second)]
                name = f"{labels.mechanism(first)} below {labels.mechanism(second)}"
                rows.append([name, data, *(_held(one) for one in (*theirs, ours))])
    return f"""## Which orders survive

In how many settings of the two tables the first mean is below the second, and the geometric mean of their ratios:

{table(["claim", "data", "paper", "printed", "honest"], rows, 2)}"""


def windows(printed: ProtocolRuns, honest: ProtocolRuns) -> str:
    """The fullest windows."""
    theirs, ours = fullest(printed), fullest(honest)
    rows = [
        [labels.mechanism(name), *(f"{one[name]:,.3f}" if name in one else "" for one in (theirs, ours))]
        for name in dict.fromkeys([*theirs, *ours])
    ]
    return f"""## The fullest window

What was spent in it, divided by what was allowed, over all data sets, settings, rounds and users. Above 1 the promise
is broken.

{table(["mechanism", "printed", "honest"], rows, 1)}"""


def simplest(honest: ProtocolRuns, literature: ProtocolRuns) -> str:
    """Uniform and Sample beside the best mechanism of the paper."""
    names = ("uniform", "sample")
    rows, words = [], []
    for data in literature.data():
        simple = {name: one for name in names if (one := literature.errors(data, name)) is not None}
        others = {name: one for name in _SIX if (one := honest.errors(data, name)) is not None}
        if len(simple) < len(names) or not others:
            continue
        best, base = (min(some, key=lambda name: some[name].mean) for some in (others, simple))
        means = [labels.number(simple[name].mean) for name in names]
        rows.append([data, *means, labels.number(others[best].mean), labels.mechanism(best)])
        verdict = word(others[best].mean / simple[base].mean)
        words.append(f"on {data} the best of the six, {labels.mechanism(best)}, is {verdict} {labels.mechanism(base)}")
    return f"""## Against the simplest publishers

Uniform spends the same in every slot, Sample everything in one slot of each window; neither looks at the data to decide
when. The paper does not run them. At E = {USUAL[0]:g} and w = {USUAL[1]}, `honest`, means, beside the best of
{labels.listing([labels.mechanism(name) for name in _SIX])}:

{table(["data", "Uniform", "Sample", "best of the six", "which"], rows, 1)}

In the mean, {"; ".join(words)}."""


# --- words ---------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
    """A Markdown table whose first columns hold words and whose others hold numbers."""
    rule = ["---" if k < words else "---:" for k in range(len(head))]
    return "\n".join("| " + " | ".join(one.replace("|", "/") for one in line) + " |" for line in (head, rule, *rows))


def word(ratio: float) -> str:
    """How one number lies to another."""
    if abs(ratio - 1) <= LEVEL:
        return "level with"
    return "below" if ratio < 1 else "above"


def fullest(runs: ProtocolRuns) -> dict[str, float]:
    """The fullest window of every mechanism, those of the paper first."""
    there = dict.fromkeys(name for _, name, _ in runs.rows)
    names = [name for name in MECHANISMS if name in there] + [name for name in there if name not in MECHANISMS]
    return {name: worst for name in names if (worst := runs.worst_window(name)) is not None}


def where(one: ComparedValue) -> str:
    """Which value of the paper this is."""
    return f"{labels.mechanism(one.mechanism)} on {one.data} (E = {one.setting[0]:g}, w = {one.setting[1]})"


def percent(share: float | None) -> str:
    """A share in per cent; nothing of None."""
    return "" if share is None else f"{100 * share:.1f} %"


def _outside(found: Sequence[ComparedValue]) -> str:
    outside = sorted((one for one in found if one.factor > CLOSE), key=lambda one: -one.factor)
    if not outside:
        return f"In every case mean or median lie within a factor of {CLOSE:g}."
    listed = [f"{where(one)} {labels.times(one.ours.mean / one.paper)}" for one in outside[:_MOST_LISTED]]
    if len(outside) > _MOST_LISTED:
        listed.append(f"and {labels.many(len(outside) - _MOST_LISTED, 'other')}")
    return f"Neither mean nor median lie within a factor of {CLOSE:g}, and the means are: {'; '.join(listed)}."


def _held(claim: OrderClaim | None) -> str:
    return "" if claim is None else f"{claim.below} of {claim.of} ({labels.times(claim.ratio)})"


def _ratio(one: ComparedValue | None) -> str:
    return "" if one is None else labels.times(one.ours.mean / one.paper)


def _mean_median(one: Stat) -> tuple[str, str]:
    return labels.number(one.mean), labels.number(one.median)
