"""Writes the page on what of the paper is reproduced, from result files alone.

The prose stands in `templates/reproduction.md`. Every number, and every word that depends on one, comes from the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from wevent.errors import InvalidSetting
from wevent.study.reporting import labels
from wevent.study.reporting import reproduction_tables as tables
from wevent.study.reporting.comparisons import USUAL, ComparedValue, ProtocolRuns, read_runs
from wevent.study.reporting.prose import fill
from wevent.study.reporting.prose import say as say_on
from wevent.study.reporting.reproduction_tables import CLOSE, FAR, LEVEL, fullest, name_value, percent, verdict

PRINTED = ("printed_by_epsilon", "printed_by_window")
HONEST = ("error_by_epsilon", "error_by_window")
LITERATURE = "literature"
"""The experiments whose results the page is made of; the last one may be missing."""

_HARDLY = 1.1

say = partial(say_on, "reproduction")


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
    usual, every = printed.compared([USUAL]), printed.compared()
    if not usual:
        raise InvalidSetting(f"the runs of {PRINTED[0]} have no value of the paper at E = {USUAL[0]}, w = {USUAL[1]}")
    simplest = ""
    if (results_folder / f"{LITERATURE}.csv").exists():
        simplest = tables.simplest(honest, read_runs(results_folder, "honest", (LITERATURE,)))
    far = max(every, key=lambda value: value.factor)
    worst = fullest(printed)
    epsilon_table, window_table = tables.both_tables(printed)
    tests_of_ba, tests_of_ba_verdict = tables.tests_of_ba(honest)
    page = fill(
        "reproduction.md",
        facts=tables.facts({"printed": printed, "honest": honest}),
        epsilon=f"{USUAL[0]:g}",
        window=USUAL[1],
        close=f"{CLOSE:g}",
        far=f"{FAR:g}",
        level=f"{100 * LEVEL:.0f}",
        unsteady=_unsteady(every),
        usual_close=_share(usual, CLOSE),
        usual_far=_share(usual, FAR),
        all_close=_share(every, CLOSE),
        all_far=_share(every, FAR),
        farthest=name_value(far),
        farthest_mean=labels.times(far.ours.mean / far.paper),
        farthest_median=labels.times(far.ours.median / far.paper),
        farthest_baselines="\n".join(_farthest(every, name) for name in ("plbu", "spas")).strip(),
        kept=_kept(honest),
        overspent=_overspent(worst),
        compared="\n".join(
            _compared(honest, *pair) for pair in (("pbd", "bd"), ("pba", "ba"), ("pba", "ba_deviation"))
        ),
        usual_table=tables.at_usual(usual),
        usual_outside=tables.outside(usual),
        epsilon_table=epsilon_table,
        window_table=window_table,
        all_outside=tables.outside(every),
        side_by_side=tables.side_by_side(printed, honest),
        tests_of_ba=tests_of_ba,
        tests_of_ba_verdict=tests_of_ba_verdict,
        orders=tables.orders(printed, honest),
        windows=tables.windows(worst, fullest(honest)),
        simplest=simplest,
        publishing=_publishing(printed, honest, "bd"),
        absorbing=", ".join(
            f"{labels.mechanism(name)} {worst[name]:,.1f}" for name in ("ba", "pba", "dpba") if name in worst
        ),
        gain=_gain(printed, honest),
        bias=_bias(every),
        unbiased=_unbiased(printed, honest),
        spas=say("spas", worst=f"{worst['spas']:,.1f}") if "spas" in worst else "",
    )
    return page.replace("\n\n\n\n", "\n\n")  # a section without results leaves an empty paragraph


def _unsteady(every: Sequence[ComparedValue]) -> str:
    """How far a single round strays from the mean of its value."""
    value = max(every, key=lambda value: value.ours.greatest / value.ours.mean)
    return say("unsteady", value=name_value(value), times=labels.number(value.ours.greatest / value.ours.mean))


def _share(values: Sequence[ComparedValue], factor: float) -> str:
    within = sum(value.factor <= factor for value in values)
    return say("all_values" if within == len(values) else "some_values", within=within, of=len(values))


def _farthest(every: Sequence[ComparedValue], name: str) -> str:
    factors = [value.factor for value in every if value.mechanism == name]
    if not factors:
        return ""
    return say("farthest", mechanism=labels.mechanism(name), factor=labels.number(max(factors)))


def _kept(honest: ProtocolRuns) -> str:
    worst = max(fullest(honest).values())
    return say("broken", worst=f"{worst:.6f}") if worst > 1 else say("kept", worst=f"{worst:.3f}")


def _overspent(worst: dict[str, float]) -> str:
    broken = {name: held for name, held in worst.items() if held > labels.OVERSPENT}
    if not broken:
        return say("none_overspent")
    fullest_of = max(broken, key=lambda name: broken[name])
    return say(
        "one_overspent" if len(broken) == 1 else "some_overspent",
        names=labels.listing([labels.mechanism(name) for name in broken]),
        mechanism=labels.mechanism(fullest_of),
        worst=f"{broken[fullest_of]:,.1f}",
    )


def _compared(honest: ProtocolRuns, first: str, second: str) -> str:
    ratios = [
        f"{data} {labels.times(a.mean / b.mean)} ({verdict(a.mean / b.mean)})"
        for data in honest.data()
        if (a := honest.errors(data, first)) is not None and (b := honest.errors(data, second)) is not None
    ]
    names = {"first": labels.mechanism(first), "second": labels.mechanism(second)}
    return say("compared", **names, ratios=", ".join(ratios))


def _publishing(printed: ProtocolRuns, honest: ProtocolRuns, name: str) -> str:
    shares = [
        say("share", data=data, printed=percent(first), honest=percent(second))
        for data in printed.data()
        if (first := printed.published(data, name)) is not None and (second := honest.published(data, name)) is not None
    ]
    return say("publishing", mechanism=labels.mechanism(name), shares=", ".join(shares))


def _ratios(printed: ProtocolRuns, honest: ProtocolRuns, *names: str) -> list[tuple[str, float]]:
    """Data sets with the mean under `honest` over that under `printed`."""
    return [
        (data, b.mean / a.mean)
        for data in printed.data()
        for name in names
        if (a := printed.errors(data, name)) is not None and (b := honest.errors(data, name)) is not None
    ]


def _gain(printed: ProtocolRuns, honest: ProtocolRuns) -> str:
    """What absorption gains by it, in words."""
    ratios = [1 / ratio for _, ratio in _ratios(printed, honest, "ba", "pba", "dpba")]
    if not ratios:
        return ""
    return say("gain", least=labels.times(min(ratios)), greatest=labels.times(max(ratios)))


def _bias(every: Sequence[ComparedValue]) -> str:
    """How much the error of the biased PLBU depends on epsilon and window."""
    means: dict[str, list[float]] = {}
    for value in every:
        if value.mechanism == "plbu":
            means.setdefault(value.data, []).append(value.ours.mean)
    if not means:
        return ""
    most = max(max(found) / min(found) for found in means.values())
    return say("little_bias" if most < _HARDLY else "bias", most=f"{100 * (most - 1):.1f}")


def _unbiased(printed: ProtocolRuns, honest: ProtocolRuns) -> str:
    ratios = _ratios(printed, honest, "plbu")
    return say("unbiased", ratios=", ".join(f"{data} {labels.times(ratio)}" for data, ratio in ratios))
