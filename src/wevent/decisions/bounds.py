"""Bounds the expected error per slot of each mechanism from above, given the requirements of cohorts (SPEC §9).

What is bounded. A published slot: the mean square error of any one cell. A skipped slot: the squared mean
absolute difference between the counts and the repeated release, which decides about skipping. A nullified
slot: the cost that the caller gives. Lost slots do not count, rounding of budgets to units (SPEC §7) is
left out, no person joins or leaves, and one who rests makes all rest.

Why lower bounds on offers suffice. If a group of users is offered at least θ, OBS may choose the least offer
of the group: it keeps them all, loses at most the others, and its noise is at most that of θ.

Arguments, with the paper's letters; arrays hold one number per cohort:

    sizes, cells, sensitivity       users; d, cells of the domain; s
    epsilons, windows               E and w (in slots) of fixed requirements
    publications                    s̃, ŝ: most publications in any window of the **largest** (forward) size
    skipped, nullified              α, ρ_sk and ρ_nu: such slots per publication, on average
    nullified_error                 mean error of a nullified slot; it depends on the stream
    budgets, shares                 E_L^(F)(i), ε_FL(i): least forward budget, least forward budget/(2·window)
    backward_least, backward_most   ε_L^(B,M)(i), ε_R^(B,M)(i): least that the backward requirement leaves to
                                    either half in any slot, most that it leaves to publishing; may be infinite
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wevent.errors import InvalidSetting

Floats = npt.NDArray[np.float64]
Column = npt.ArrayLike
_TINY, _HUGE = math.ulp(0), math.nextafter(math.inf, 0)


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """An upper bound on the mean error per slot, in two parts."""

    change: float
    """Mean square error of the measured dissimilarity (change budgets)."""
    publication: float
    """Mean over the slots of the OBS error of the publish budgets on offer."""

    @property
    def total(self) -> float:
        """Both parts together, (√change + √publication)².

        The paper adds the parts, without the cross term of a skip decided by a noisy measurement
        (dissimilarity ≤ √publication + its error); a stream just above the threshold exceeds the sum.
        """
        root = math.sqrt(self.change) + math.sqrt(self.publication)
        return root * root


def sampling_bound(budgets: Column, sizes: Column, sensitivity: float = 1) -> float:
    """Sampling with OBS: `min(2s²/min², Z + 2s²/max²)`, `Z = (n-n_A)(n-n_A+1/4)`, n_A users at the largest.

    Guarantees:
        The OBS error of these budgets (ε), and of any that are nowhere lower, is at most the result.
    """
    n = _integers("sizes", sizes)
    return _two_ends(_column("budgets", budgets, n), n, _noise(sensitivity))


def distribution_bound(
    epsilons: Column, windows: Column, sizes: Column, *, cells: int, publications: int, sensitivity: float = 1
) -> ErrorBound:
    """PBD: `min(32 s²(4^s̃-1)/(3 s̃ eL²), Z + 32 s²(4^s̃-1)/(3 s̃ eR²))`, eL and eR the least and greatest E/w.

    The paper counts s̃ in windows of the smallest size; only the largest size bounds the spends of all people.

    Guarantees:
        With at most `publications` in any window of the largest size, every slot keeps the bound, not only
        the average: after j publications the offer is at least E/2^(j+2), and E/w leaves room for that.
    """
    n = _integers("sizes", sizes)
    average = _column("epsilons", epsilons, n) / _integers("windows", windows, n)
    count = int(_integers("publications", [publications])[0])
    steps = ((4.0**count if count < 512 else math.inf) - 1) / (3 * count)
    publication = _two_ends(average, n, 16 * _noise(sensitivity) * steps)  # [Du25] App. 8.6.1
    return ErrorBound(_change(average / 2, n, cells, sensitivity), publication)


def absorption_bound(
    epsilons: Column,
    windows: Column,
    sizes: Column,
    *,
    cells: int,
    skipped: float,
    nullified_error: float,
    nullified: float | None = None,
    sensitivity: float = 1,
) -> ErrorBound:
    """PBA, averaged over whole cycles of skipped slots, one publication and nullified slots.

    In the k-th slot of a cycle the offer is at least min(k, w)·E/(2w). The paper's proof has k·E/w (noise too
    small by 4) also for k = w+1, takes for all slots after w the largest budget of the last one, and counts α
    nullified slots: with the same α before every publication they are min(α, largest w - 1), the default.

    Guarantees:
        Over whole cycles with these average lengths, the mean error is at most the bound.
    """
    n = _integers("sizes", sizes)
    w = _integers("windows", windows, n)
    share = _column("epsilons", epsilons, n) / (2 * w)
    if nullified is None:
        nullified = float(min(_integers("skipped without nullified", [skipped], low=0)[0], w.max() - 1))
    free = np.full(n.shape, math.inf)
    parts = {"skipped": skipped, "nullified": nullified, "nullified_error": nullified_error}
    return dynamic_absorption_bound(share, w, free, free, n, cells=cells, **parts, sensitivity=sensitivity)


def dynamic_distribution_bound(
    budgets: Column,
    shares: Column,
    backward_least: Column,
    backward_most: Column,
    sizes: Column,
    *,
    cells: int,
    publications: int,
    sensitivity: float = 1,
) -> ErrorBound:
    """DPBD: the lemma for the deepest offer, min(backward_least, R/2) with R what a forward window has left.

    R begins at budget/2; a publication takes at most R/2 and at most `backward_most`. The paper averages over
    one decline of R, but users decline at different times; and where it takes the slowest decline (γ_R) or
    the largest budgets (ε_BR, ε_FLR), a bound needs the opposite. So the deepest offer stands for every slot.

    Guarantees:
        With at most `publications` in any window of the largest forward size (not: in any period), every slot
        keeps the bound; requirements need not be periodic.
    """
    n = _integers("sizes", sizes)
    share, left = _column("shares", shares, n), _column("budgets", budgets, n) / 2
    least = _column("backward_least", backward_least, n, high=math.inf)
    most = _column("backward_most", backward_most, n, high=math.inf)
    if (most < least).any():
        raise InvalidSetting("backward_most must be at least backward_least in every cohort")
    for _ in range(int(_integers("publications", [publications])[0])):
        left = np.maximum(left / 2, left - most)  # [Du25] App. 8.6.3, the fastest decline
    publication = _any_threshold(np.minimum(least, left / 2), n, _noise(sensitivity))
    return ErrorBound(_change(np.minimum(share, least), n, cells, sensitivity), publication)


def dynamic_absorption_bound(
    shares: Column,
    windows: Column,
    backward_least: Column,
    forward_least: Column,
    sizes: Column,
    *,
    cells: int,
    skipped: float,
    nullified: float,
    nullified_error: float,
    sensitivity: float = 1,
) -> ErrorBound:
    """DPBA, averaged over whole cycles of skipped slots, one publication and nullified slots.

    In the k-th slot of a cycle a user has absorbed at least min(k, w) shares, w the least forward window in
    any slot (`windows`), and the forward windows leave at least min(k-1, w) shares. The paper forgets what
    they leave, in the first slot perhaps almost nothing; and its largest budgets (ε_BR, k·ε_FLR, H² begun
    anew in case 3) and λ (2 times too large) are no lower bounds.

    `forward_least`: the least that the active forward windows leave to publishing in a slot not nullified; 0 if
    unknown, infinity if the forward requirement never changes and the backward one never binds.

    Guarantees:
        Over whole cycles with these average lengths, the mean error is at most the bound.
    """
    n = _integers("sizes", sizes)
    share, w = _column("shares", shares, n), _integers("windows", windows, n)
    least = _column("backward_least", backward_least, n, high=math.inf)
    forward = _column("forward_least", forward_least, n, low=0, high=math.inf)
    noise = _noise(sensitivity)

    def error(k: int) -> float:
        absorbed, left = np.minimum(k, w) * share, np.maximum(np.minimum(k - 1, w) * share, forward)
        return _any_threshold(np.minimum(least, np.minimum(absorbed, left)), n, noise)

    publication = _cycle(error, int(w.max()) + 1, skipped, nullified, nullified_error)
    return ErrorBound(_change(np.minimum(share, least), n, cells, sensitivity), publication)


def _two_ends(budgets: Floats, sizes: Floats, noise: float) -> float:
    """[Du25] Lemma 1: keep all people, or only those at the top (equal but for rounding)."""
    top = budgets >= budgets.max() * (1 - 1e-12)
    lost, kept = [0.0, float(sizes[~top].sum())], [budgets.min(), budgets[top].min()]
    return _best(np.array(lost), np.array(kept), noise)


def _any_threshold(budgets: Floats, sizes: Floats, noise: float) -> float:
    """[Du25] Lemma 1 with the thresholds between the two ends as well; falls when any budget rises."""
    order = np.argsort(-budgets)
    return _best(sizes.sum() - np.cumsum(sizes[order]), budgets[order], noise)


def _best(lost: Floats, threshold: Floats, noise: float) -> float:
    with np.errstate(over="ignore", divide="ignore"):
        return float(np.min(lost * (lost + 0.25) + noise / np.square(threshold)))


def _change(budgets: Floats, sizes: Floats, cells: int, sensitivity: float) -> float:
    d = float(_integers("cells", [cells])[0])
    return _two_ends(budgets, sizes, _noise(sensitivity) / (d * d))  # [Du25] App. 8.6.1


def _cycle(error: Callable[[int], float], settled: int, skipped: float, rest: float, cost: float) -> float:
    """Mean over a cycle; error(k) falls until `settled`, so the sum is concave and average lengths serve."""
    slots, rest = 1 + _column("skipped", [skipped], low=0)[0], _column("nullified", [rest], low=0)[0]
    full = min(int(slots), settled)
    total = sum(map(error, range(1, full + 1))) + rest * _column("nullified_error", [cost], low=0)[0]
    if slots > full:
        total += (slots - full) * error(min(full + 1, settled))
    return float(total / (slots + rest))  # [Du25] App. 8.6.2, 8.6.4


def _noise(sensitivity: float) -> float:
    s = float(_column("sensitivity", [sensitivity])[0])
    return 2 * s * s


def _integers(name: str, values: Column, like: Floats | None = None, low: float = 1) -> Floats:
    given = _column(name, values, like, low=low)
    if (given != np.rint(given)).any():
        raise InvalidSetting(f"{name} must be an integer, got {given[given != np.rint(given)][0]}")
    return given


def _column(
    name: str, values: Column, like: Floats | None = None, *, low: float = _TINY, high: float = _HUGE
) -> Floats:
    """Read and check numbers, one per cohort of `like`."""
    try:
        given = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidSetting(f"{name} must be made of numbers") from None
    if given.ndim != 1 or given.size == 0 or (like is not None and given.size != like.size):
        raise InvalidSetting(f"{name} must hold one number per cohort, as sizes; got shape {given.shape}")
    wrong = given[~((given >= low) & (given <= high))]
    if wrong.size:
        rule = "above 0" if low == _TINY else f"at least {low}"
        raise InvalidSetting(f"{name} must be finite and {rule}, got {wrong[0]}", value=float(wrong[0]))
    return given
