"""Seeds of a study."""

from __future__ import annotations

from wevent.study.seeds import seed_for


def test_seeds_are_the_same_everywhere() -> None:
    """A golden value: changing how seeds are made would change every result that was ever checked in."""
    assert seed_for(1, "data", "sin", 1) == 190_992_211_663_947_747


def test_different_names_give_different_seeds() -> None:
    """Nothing that a study draws shares a seed with anything else."""
    names = [(kind, data, number) for kind in ("data", "noise") for data in ("sin", "log") for number in range(1, 500)]
    seeds = {seed_for(seed, *name) for seed in (1, 2) for name in names}
    assert len(seeds) == 2 * len(names)
    assert seed_for(1, "a", "bc") != seed_for(1, "ab", "c")
    assert all(0 <= seed < 2**63 for seed in seeds)
