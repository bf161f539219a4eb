"""What of the paper is reproduced, written down: result files come in, a page of Markdown goes out.

The prose stands here and in `reproduction_tables`; every number, and every word that depends on one, comes from the
files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wevent.errors import InvalidSetting
from wevent.study.reporting import labels
from wevent.study.reporting import reproduction_tables as tables
from wevent.study.reporting.comparisons import USUAL, ComparedValue, ProtocolRuns, read_runs
from wevent.study.reporting.reproduction_tables import CLOSE, FAR, fullest, percent, where, word

PRINTED = ("printed_by_epsilon", "printed_by_window")
HONEST = ("error_by_epsilon", "error_by_window")
LITERATURE = "literature"
"""The experiments whose results the page is made of; the last one may be missing."""

_HARDLY = 1.1


def write_reproduction(results_folder: Path, path: Path) -> Path:
    """Write the page; returns its path.

    Guarantees:
        The same result files give the same page.
        A missing file of results raises `InvalidSetting` that says how to make it, and nothing is written.
    """
    text = reproduction(results_folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def reproduction(results_folder: Path) -> str:
    """The page as text."""
    printed, honest = read_runs(results_folder, "printed", PRINTED), read_runs(results_folder, "honest", HONEST)
    if not printed.beside([USUAL]):
        raise InvalidSetting(f"the runs of {PRINTED[0]} have no value of the paper at E = {USUAL[0]}, w = {USUAL[1]}")
    sections = [
        _opening(printed, honest),
        _in_short(printed, honest),
        tables.at_usual(printed),
        tables.both_tables(printed),
        tables.side_by_side(printed, honest),
        tables.tests_of_ba(honest),
        tables.orders(printed, honest),
        tables.windows(printed, honest),
    ]
    if (results_folder / f"{LITERATURE}.csv").exists():
        sections.append(tables.simplest(honest, read_runs(results_folder, "honest", (LITERATURE,))))
    return "\n\n".join([*sections, _reasons(printed, honest)]) + "\n"


def _opening(printed: ProtocolRuns, honest: ProtocolRuns) -> str:
    return f"""# What of the paper is reproduced

This page is made from the files in `experiments/results` by `wevent study report --reproduction FILE`. No number in it
was typed by hand, and a test compares it with the files.

[Du25] prints two tables of numbers: the error AMRE while the budget E of the strictest user varies, and while the
window w does. In spite of its name the error is not relative: it is the mean squared error of a cell. Everything else
in the paper is drawn, so there are no numbers to hold ours against. Here the tables stand beside two ways to run the
same mechanisms:

* `printed` repeats what the authors' released code did. **It is not private**, and exists to explain the figures.
* `honest` runs the algorithms: slots in the order of time, one run over the whole stream, every window enforced.

| protocol | rounds | slots | users | seed | commit |
| --- | --- | --- | --- | --- | --- |
{_facts("printed", printed)}
{_facts("honest", honest)}

Factors are ours divided by the paper's. A value counts as reproduced if its mean or its median over rounds lies within
a factor of {CLOSE:g}. The paper prints means of ten rounds. {_steady(printed)}"""


def _in_short(printed: ProtocolRuns, honest: ProtocolRuns) -> str:
    usual, every = printed.beside([USUAL]), printed.beside()
    far = max(every, key=lambda one: one.factor)
    mean, median = (labels.times(ours / far.paper) for ours in (far.ours.mean, far.ours.median))
    lines = [
        f"Under `printed`, at E = {USUAL[0]:g} and w = {USUAL[1]}, {_share(usual, CLOSE)} lie within a factor of "
        f"{CLOSE:g} and {_share(usual, FAR)} within {FAR:g}.",
        f"Over both tables {_share(every, CLOSE)} lie within {CLOSE:g} and {_share(every, FAR)} within {FAR:g}. "
        f"The farthest is {where(far)}: {mean} in the mean, {median} in the median.",
        *(_farthest(every, name) for name in ("plbu", "spas") if any(one.mechanism == name for one in every)),
        f"{_kept(honest)} {_overspent(printed)}",
        *(_compared(honest, *pair) for pair in (("pbd", "bd"), ("pba", "ba"), ("pba", "ba_deviation"))),
    ]
    return "## In short\n\n" + "\n".join(f"* {line}" for line in lines)


def _reasons(printed: ProtocolRuns, honest: ProtocolRuns) -> str:
    worst = fullest(printed)
    absorbing = [f"{labels.mechanism(name)} {worst[name]:,.1f}" for name in ("ba", "pba", "dpba") if name in worst]
    spas = f" Its fullest window holds {worst['spas']:,.1f} budgets." if "spas" in worst else ""
    return f"""## Why they differ

What the released code does otherwise than the algorithms of the paper:

* **Slots in random order.** Slots that follow each other are then far apart in time, and what changed slowly jumps.
  Distribution halves what is left with each publication. {_publishing(printed, honest, "bd")}
* **A fresh start every 250 slots**, with the full budget and a release of 0.
* **Absorption never records a publication.** BA and PBA offer E/(2w)·min(t, w), t counted from the start, and never
  rest; DPBA records nothing either. Fullest windows, in budgets: {", ".join(absorbing)}. {_gain(printed, honest)}
* **DPBD charges skipped slots** as if they had been published, and the dynamic requirements of all slots between two
  starts are those of the first two.
* **BD and PBD look back over w slots** instead of w - 1.
* **PLBU** reports with the least E/w of all users and does not remove the bias of randomised response. {_bias(printed)}
  `honest` removes it, and what is left is noise. {_means(printed, honest, "plbu")}
* **SPAS** pays for its warm-up outside of the budget, assumes a sensitivity of 1, and hands back what it spent on the
  threshold without booking it.{spas}
* **Data and noise.** Probabilities of the synthetic streams are rounded to two decimals, noise is continuous.

These are differences between a paper and the program that printed its tables. Where the paper itself is wrong or
silent, the source says so on the line; [known weaknesses](known-weaknesses.md) lists what is left on our side."""


# --- words that depend on numbers ----------------------------------------------------------------


def _facts(protocol: str, runs: ProtocolRuns) -> str:
    facts = runs.facts()
    numbers = [_range(*runs.rounds())]
    for name in ("ran_slots", "ran_users"):
        found = [int(one) for one in facts[name]]
        numbers.append(_range(min(found), max(found)))
    commits = [one or "outside a repository" for one in sorted(facts["commit"])]
    return "| " + " | ".join([protocol, *numbers, ", ".join(sorted(facts["seed"])), ", ".join(commits)]) + " |"


def _range(least: int, most: int) -> str:
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"


def _steady(printed: ProtocolRuns) -> str:
    """How far a single round strays from the mean of its value."""
    one = max(printed.beside(), key=lambda one: one.ours.greatest / one.ours.mean)
    times = labels.number(one.ours.greatest / one.ours.mean)
    return f"Such a mean is not always steady: one round of {where(one)} is {times} times the mean."


def _share(found: Sequence[ComparedValue], factor: float) -> str:
    within = sum(one.factor <= factor for one in found)
    return f"all {len(found)} values" if within == len(found) else f"{within} of {len(found)} values"


def _farthest(every: Sequence[ComparedValue], name: str) -> str:
    far = max((one for one in every if one.mechanism == name), key=lambda one: one.factor)
    return f"{labels.mechanism(name)} lies within a factor of {labels.number(far.factor)} everywhere, mean or median."


def _kept(honest: ProtocolRuns) -> str:
    worst = max(fullest(honest).values())
    if worst > 1:
        return f"**Under `honest` a window was overspent**: it held {worst:.6f} of its budget."
    return f"Under `honest` every window was kept; the fullest of any mechanism held {worst:.3f} of its budget."


def _overspent(printed: ProtocolRuns) -> str:
    broken = {name: worst for name, worst in fullest(printed).items() if worst > labels.OVERSPENT}
    if not broken:
        return "Under `printed` none was overspent either."
    worst = max(broken, key=lambda name: broken[name])
    names = labels.listing([labels.mechanism(name) for name in broken])
    verb = "overspends its own" if len(broken) == 1 else "overspend theirs"
    return (
        f"Under `printed` {names} {verb}; the fullest, of {labels.mechanism(worst)}, held {broken[worst]:,.1f} budgets."
    )


def _compared(honest: ProtocolRuns, first: str, second: str) -> str:
    pairs = [
        f"{data} {labels.times(a.mean / b.mean)} ({word(a.mean / b.mean)})"
        for data in honest.data()
        if (a := honest.errors(data, first)) is not None and (b := honest.errors(data, second)) is not None
    ]
    return (
        f"`honest`, the mean of {labels.mechanism(first)} over that of {labels.mechanism(second)}: {', '.join(pairs)}."
    )


def _publishing(printed: ProtocolRuns, honest: ProtocolRuns, name: str) -> str:
    shares = [
        f"{data} {percent(first)} against {percent(second)}"
        for data in printed.data()
        if (first := printed.published(data, name)) is not None and (second := honest.published(data, name)) is not None
    ]
    return f"Slots that {labels.mechanism(name)} publishes, `printed` against `honest`: {', '.join(shares)}."


def _gain(printed: ProtocolRuns, honest: ProtocolRuns) -> str:
    """What absorption gains by it, in words."""
    ratios = [
        a.mean / b.mean
        for data in printed.data()
        for name in ("ba", "pba", "dpba")
        if (a := printed.errors(data, name)) is not None and (b := honest.errors(data, name)) is not None
    ]
    if not ratios:
        return ""
    low, high = labels.times(min(ratios)), labels.times(max(ratios))
    return f"Their errors are {low} to {high} of those under `honest`."


def _bias(printed: ProtocolRuns) -> str:
    """How much the error of the biased PLBU depends on budget and window."""
    spans = []
    for data in printed.data():
        means = [one.ours.mean for one in printed.beside() if (one.data, one.mechanism) == (data, "plbu")]
        if means:
            spans.append(max(means) / min(means))
    if not spans:
        return ""
    how = "hardly depends" if max(spans) < _HARDLY else "depends"
    return f"Its error {how} on E and w: over all of them, means differ by at most {100 * (max(spans) - 1):.1f} %."


def _means(printed: ProtocolRuns, honest: ProtocolRuns, name: str) -> str:
    pairs = [
        f"{data} {labels.times(b.mean / a.mean)}"
        for data in printed.data()
        if (a := printed.errors(data, name)) is not None and (b := honest.errors(data, name)) is not None
    ]
    return f"Means, `honest` over `printed`: {', '.join(pairs)}."
