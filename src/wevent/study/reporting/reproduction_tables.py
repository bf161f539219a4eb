"""Makes the tables of the page on reproduction, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from wevent.study.reporting import labels
from wevent.study.reporting.comparisons import MECHANISMS, USUAL, ComparedValue, OrderClaim, ProtocolRuns, paper_claim
from wevent.study.reporting.prose import fill
from wevent.study.reporting.prose import say as say_on
from wevent.study.reporting.summary import Stat
from wevent.study.requirements import EPSILONS, WINDOWS

CLOSE, FAR = 1.5, 2.0
"""Factors within which a value counts as reproduced, and beyond which it does not at all."""

LEVEL = 0.05
"""Means that differ by no more than this share are called level."""

_PAIRS = (("pbd", "bd"), ("pba", "ba"), ("pba", "ba_deviation"), ("dpbd", "pbd"), ("dpba", "pba"))
_SIX = MECHANISMS[:6]
_MOST_LISTED = 12

say = partial(say_on, "reproduction")


def facts(protocols: Mapping[str, ProtocolRuns]) -> str:
    """What the runs of each protocol were made on."""
    rows = []
    for protocol, runs in protocols.items():
        found = runs.facts()
        spans = [_range(*runs.rounds()), *(_range(*_ends(found[name])) for name in ("ran_slots", "ran_users"))]
        commits = [commit or say_on("report", "no_commit") for commit in sorted(found["commit"])]
        rows.append([protocol, *spans, ", ".join(sorted(found["seed"])), ", ".join(commits)])
    return table(["protocol", "rounds", "slots", "users", "seed", "commit"], rows, 6)


def at_usual(values: Sequence[ComparedValue]) -> str:
    """Printed values with mean, median and spread of `printed`."""
    rows = [
        [
            value.data,
            labels.mechanism(value.mechanism),
            labels.number(value.paper),
            *_mean_median(value.ours),
            f"{labels.number(value.ours.least)} – {labels.number(value.ours.greatest)}",
            labels.times(value.ours.mean / value.paper),
            labels.times(value.ours.median / value.paper),
        ]
        for value in values
    ]
    head = ["data", "mechanism", "paper", "mean", "median", "least – greatest round", "mean / paper", "median / paper"]
    return table(head, rows, 2)


def both_tables(printed: ProtocolRuns) -> list[str]:
    """Ours over the paper's for every printed value: E varied, then w varied."""
    found = {(value.data, value.mechanism, value.setting): value for value in printed.compared()}
    made = []
    for letter, settings, values in (
        ("E", [(e, USUAL[1]) for e in EPSILONS], EPSILONS),
        ("w", [(USUAL[0], w) for w in WINDOWS], WINDOWS),
    ):
        head = ["data", "mechanism", *(f"{letter} = {value:g}" for value in values)]
        rows = [
            [data, labels.mechanism(name), *(_ratio(found.get((data, name, setting))) for setting in settings)]
            for data in printed.data()
            for name in MECHANISMS
            if any((data, name, setting) in found for setting in settings)
        ]
        made.append(table(head, rows, 2))
    return made


def side_by_side(printed: ProtocolRuns, honest: ProtocolRuns) -> str:
    """Paper, `printed` and `honest` at the usual setting."""
    papers = {(value.data, value.mechanism): value.paper for value in honest.compared([USUAL])}
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
    return table([*head, "published (printed)", "published (honest)"], rows, 2)


def tests_of_ba(honest: ProtocolRuns) -> tuple[str, str]:
    """BA with either test beside PBA: the table, and what it says in words."""
    rows, words = [], []
    for data in honest.data():
        scale, deviation, pba = (honest.errors(data, name) for name in ("ba", "ba_deviation", "pba"))
        if scale is None or deviation is None or pba is None:
            continue
        first, second = pba.mean / scale.mean, pba.mean / deviation.mean
        means = [*_mean_median(scale), *_mean_median(deviation), *_mean_median(pba)]
        rows.append([data, *means, labels.times(first), labels.times(second)])
        words.append(say("test_of_ba", data=data, scale=verdict(first), deviation=verdict(second)))
    head = ["data", "BA, scale", "median", "BA, deviation", "median", "PBA", "median", "PBA / scale", "PBA / deviation"]
    return table(head, rows, 1), "; ".join(words)


def orders(printed: ProtocolRuns, honest: ProtocolRuns) -> str:
    """Which mechanism is better than which, in the paper and in our runs."""
    rows = []
    for first, second in _PAIRS:
        for data in honest.data():
            ours = honest.claim(data, first, second)
            if ours is not None:
                theirs = [paper_claim(data, first, second), printed.claim(data, first, second)]
                order = say("order", first=labels.mechanism(first), second=labels.mechanism(second))
                rows.append([order, data, *(_held(claim) for claim in (*theirs, ours))])
    return table(["claim", "data", "paper", "printed", "honest"], rows, 2)


def windows(printed: Mapping[str, float], honest: Mapping[str, float]) -> str:
    """The fullest windows."""
    rows = [
        [labels.mechanism(name), *(f"{worst[name]:,.3f}" if name in worst else "" for worst in (printed, honest))]
        for name in dict.fromkeys([*printed, *honest])
    ]
    return table(["mechanism", "printed", "honest"], rows, 1)


def simplest(honest: ProtocolRuns, literature: ProtocolRuns) -> str:
    """The section on Uniform and Sample beside the best mechanism of the paper."""
    names = ("uniform", "sample")
    rows, words = [], []
    for data in literature.data():
        simple = {name: found for name in names if (found := literature.errors(data, name)) is not None}
        others = {name: found for name in _SIX if (found := honest.errors(data, name)) is not None}
        if len(simple) < len(names) or not others:
            continue
        best, base = (min(means, key=lambda name: means[name].mean) for means in (others, simple))
        means = [labels.number(simple[name].mean) for name in names]
        rows.append([data, *means, labels.number(others[best].mean), labels.mechanism(best)])
        names_of = {"best": labels.mechanism(best), "simple": labels.mechanism(base)}
        words.append(say("simplest", data=data, verdict=verdict(others[best].mean / simple[base].mean), **names_of))
    return fill(
        "reproduction_simplest.md",
        epsilon=f"{USUAL[0]:g}",
        window=USUAL[1],
        six=labels.listing([labels.mechanism(name) for name in _SIX]),
        table=table(["data", "Uniform", "Sample", "best of the six", "which"], rows, 1),
        verdict="; ".join(words),
    ).strip()


def outside(values: Sequence[ComparedValue]) -> str:
    """Which values are not reproduced, in words."""
    far = sorted((value for value in values if value.factor > CLOSE), key=lambda value: -value.factor)
    if not far:
        return say("within", close=f"{CLOSE:g}")
    listed = [f"{name_value(value)} {_ratio(value)}" for value in far[:_MOST_LISTED]]
    if len(far) > _MOST_LISTED:
        listed.append(say("more_outside", others=labels.many(len(far) - _MOST_LISTED, "other")))
    return say("outside", close=f"{CLOSE:g}", values="; ".join(listed))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
    """A Markdown table whose first columns hold words and whose others hold numbers."""
    rule = ["---" if k < words else "---:" for k in range(len(head))]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in (head, rule, *rows))


def verdict(ratio: float) -> str:
    """How one number lies to another."""
    if abs(ratio - 1) <= LEVEL:
        return say("level")
    return say("below" if ratio < 1 else "above")


def fullest(runs: ProtocolRuns) -> dict[str, float]:
    """The fullest window of every mechanism, those of the paper first."""
    found = dict.fromkeys(name for _, name, _ in runs.rows)
    names = [name for name in MECHANISMS if name in found] + [name for name in found if name not in MECHANISMS]
    return {name: worst for name in names if (worst := runs.worst_window(name)) is not None}


def name_value(value: ComparedValue) -> str:
    """Which value of the paper this is."""
    epsilon, window = value.setting
    mechanism = labels.mechanism(value.mechanism)
    return say("value", mechanism=mechanism, data=value.data, epsilon=f"{epsilon:g}", window=window)


def percent(share: float | None) -> str:
    """A share in per cent; nothing of None."""
    return "" if share is None else f"{100 * share:.1f} %"


def _range(least: int, most: int) -> str:
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"


def _ends(numbers: set[str]) -> tuple[int, int]:
    return min(map(int, numbers)), max(map(int, numbers))


def _held(claim: OrderClaim | None) -> str:
    return "" if claim is None else say("held", below=claim.below, of=claim.of, ratio=labels.times(claim.ratio))


def _ratio(value: ComparedValue | None) -> str:
    return "" if value is None else labels.times(value.ours.mean / value.paper)


def _mean_median(found: Stat) -> tuple[str, str]:
    return labels.number(found.mean), labels.number(found.median)
