"""Profiles: towards which combinations a generator of histories is steered, as stated weights."""

from __future__ import annotations

from dataclasses import dataclass, field

FIXED_ONLY = ("pbd", "pba")
DYNAMIC = ("auto", "dpbd", "dpba")
COMMON = ("bd", "ba", "uniform", "sample")
EVERY_RECIPE = (*DYNAMIC, *DYNAMIC, *FIXED_ONLY, *COMMON)
"""Every recipe; those that serve everything come twice."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What kinds of histories are drawn, and how often what happens in them.

    Attributes:
        recipes: one of them is picked for each history.
        dynamic: share of dynamic requirements, where the recipe serves them.
        group: chance of a history with a group of unlisted people.
        reject: chance of `infeasible = reject`.
        unlisted_again: chance that a person who leaves is counted as unlisted, where there is a group.
        windows: the longest window of a requirement that is not a jump.
        jumps: share of long windows among requirements that are in no script.
        calm: weight of slots in which no requirement changes.
        weights: of single events, by name.
        motifs: of short scripts over several slots, by name; one begins now and then.
        slots: least and greatest length.
    """

    recipes: tuple[str, ...] = EVERY_RECIPE
    dynamic: float = 0.3
    group: float = 0.0
    reject: float = 0.0
    unlisted_again: float = 0.0
    windows: int = 6
    jumps: float = 0.1
    calm: float = 8.0
    weights: dict[str, float] = field(default_factory=lambda: {"require": 4.0, "leave": 1.0})
    motifs: dict[str, float] = field(default_factory=dict)
    slots: tuple[int, int] = (12, 40)


PROFILES: dict[str, Profile] = {
    "merges": Profile(
        recipes=("auto", "pbd", "pba", "dpbd", "dpba"),
        dynamic=0.1,
        jumps=0.01,
        calm=15.0,
        weights={"require": 1.5, "leave": 0.3, "reopen": 0.1},
        motifs={"merge then longer": 4.0, "change at a multiple of the span": 0.3},
        slots=(20, 50),
    ),
    "bulk": Profile(
        recipes=("auto", "auto", "dpbd", "dpba"),
        dynamic=0.9,
        reject=0.9,
        windows=3,
        jumps=0.02,
        weights={"require": 1.0, "leave": 0.3, "declare": 1.0},
        motifs={"declare beyond the span": 1.0},
        slots=(6, 16),
    ),
    "restores": Profile(
        weights={"require": 2.0, "leave": 0.7, "restore": 0.3},
        motifs={
            "restore after a change": 2.0,
            "restore then return": 1.0,
            "restore then join": 1.0,
            "restore then tighter": 1.0,
        },
        slots=(12, 35),
    ),
    "joins lost": Profile(  # everything that was promised in the lost copy is known again, as soon as it is restored
        recipes=DYNAMIC,
        dynamic=0.6,
        weights={"leave": 0.1},
        motifs={"restore then join": 3.0},
        slots=(12, 35),
    ),
    "groups": Profile(
        group=1.0,
        weights={"require": 2.0, "leave": 0.7, "list": 2.0, "group": 0.4},
        motifs={"listed and back": 1.0, "change at a multiple of the span": 0.5},
        slots=(12, 35),
    ),
    "unlisted again": Profile(
        group=1.0,
        unlisted_again=1.0,
        jumps=0.02,
        windows=4,
        weights={"require": 1.5, "leave": 1.5, "list": 1.0, "group": 0.2, "restore": 0.05},
        motifs={"listed and back": 1.0},
        slots=(12, 40),
    ),
    "retries": Profile(
        recipes=("auto", "pbd", "pba", "dpbd", "dpba"),
        dynamic=0.2,
        jumps=0.02,
        calm=12.0,
        weights={"require": 2.0, "leave": 0.5, "fail": 0.6, "reopen": 0.3},
        motifs={"merge then failed charge": 2.0, "merge then longer": 0.5},
        slots=(15, 40),
    ),
    "mixed": Profile(
        group=0.4,
        reject=0.3,
        unlisted_again=0.5,
        jumps=0.03,
        calm=16.0,
        weights={
            "require": 4.0,
            "leave": 1.0,
            "declare": 1.0,
            "list": 0.7,
            "group": 0.2,
            "fail": 0.5,
            "reopen": 0.3,
            "restore": 0.15,
        },
        motifs={
            "merge then longer": 2.5,
            "merge then failed charge": 0.5,
            "change at a multiple of the span": 0.5,
            "declare beyond the span": 0.5,
            "restore after a change": 0.5,
            "restore then return": 0.3,
            "restore then join": 0.3,
            "restore then tighter": 0.3,
            "listed and back": 0.3,
        },
        slots=(15, 45),
    ),
}
"""Every profile by name."""
