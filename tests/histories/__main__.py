"""Searches from the command line: `python -m tests.histories merges --seconds 60 --seed 1`."""

from __future__ import annotations

import argparse
import sys
import time

from tests.histories.profiles import PROFILES
from tests.histories.reached import Reached
from tests.histories.run import promises
from tests.histories.search import same_spends, search


def main() -> int:
    """Search, print what was reached and what fails; 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profile", choices=list(PROFILES))
    parser.add_argument("--seed", default="0")
    parser.add_argument("--histories", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--like", default="", help="only failures that say this")
    parser.add_argument("--both", action="store_true", help="compare numpy with numba")
    wanted = parser.parse_args()
    reached, begun = Reached(), time.perf_counter()
    check = same_spends if wanted.both else promises
    how = {"check": check, "seconds": wanted.seconds, "like": wanted.like}
    found = search(PROFILES[wanted.profile], wanted.seed, wanted.histories, reached, **how)
    print(reached)
    print(f"{reached.histories / (time.perf_counter() - begun):.0f} histories per second")
    print("nothing failed" if found is None else found)
    return 0 if found is None else 1


if __name__ == "__main__":
    sys.exit(main())
