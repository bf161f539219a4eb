"""Computes every bound and proposal of the specification from what one user required and spent.

Slow and obvious on purpose: nothing is kept but the complete history, and every number is computed anew from
it, in whole nano-epsilon. It shares no line with the package, so that the two can check each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

DIGITS = 60


@dataclass(frozen=True)
class FixedReq:
    """At most `epsilon` in every `window` consecutive slots."""

    epsilon: int
    window: int

    @property
    def share(self) -> int:
        return self.epsilon // (2 * self.window)  # SPEC §5: a = E/(2w), §7: floored


@dataclass(frozen=True)
class DynamicReq:
    """At most `back_epsilon` up to this slot and at most `forward_epsilon` from this slot on."""

    back_epsilon: int
    back_window: int
    forward_epsilon: int
    forward_window: int

    @property
    def share(self) -> int:
        return self.forward_epsilon // (2 * self.forward_window)  # SPEC §6: a = EF/(2 wF), §7: floored


class Version(NamedTuple):
    """A fixed requirement and the slots first … last in which it was in force."""

    first: int
    last: int
    requirement: FixedReq


class Declaration(NamedTuple):
    """A dynamic requirement, as declared in one slot."""

    slot: int
    requirement: DynamicReq


class Window(NamedTuple):
    """One window of the promise: what it holds, what it may hold, and whether the promise excuses it."""

    name: str
    spent: int
    allowed: int
    excused: bool


class OracleUser:
    """Everything one user ever required and spent; slots count from 1."""

    def __init__(self) -> None:
        self._required: dict[int, FixedReq | DynamicReq | None] = {}  # slot -> what holds from it on; None: left
        self._change_budgets: dict[int, int] = {}
        self._publish_budgets: dict[int, int] = {}

    def require(self, slot: int, requirement: FixedReq | DynamicReq) -> None:
        """Put a requirement in force from `slot` on; it replaces whatever was set for that very slot."""
        self._check_open(slot)
        if requirement.share < 1:  # SPEC §7
            raise ValueError(f"a share must be at least one unit, got {requirement}")
        self._required[slot] = requirement

    def leave(self, slot: int) -> None:
        """Not registered from `slot` on; old requirements live until their windows close."""
        self._check_open(slot)
        self._required[slot] = None

    def registered(self, slot: int) -> bool:
        return self._in_force(slot) is not None

    def record(self, slot: int, change_budget: int, publish_budget: int) -> None:
        """Note what was spent in the slot; a second record of a slot settles the first."""
        if slot < 1 or change_budget < 0 or publish_budget < 0:
            raise ValueError(f"slots count from 1 and spends from 0, got {slot}, {change_budget}, {publish_budget}")
        self._change_budgets[slot] = change_budget
        self._publish_budgets[slot] = publish_budget

    def room(self, slot: int) -> int | None:
        """The least bound on everything spent in the slot; None if nothing binds."""
        bounds = []
        for version in self._live(slot):  # SPEC §2, fixed: E_v - (spent in t-w_v+1 … t-1)
            E, w = version.requirement.epsilon, version.requirement.window
            bounds.append(E - self._spent(slot - w + 1, slot - 1))
        for tau, requirement in self._active(slot):  # SPEC §2, forward: EF - (spent since tau)
            bounds.append(requirement.forward_epsilon - self._spent(tau, slot - 1))
        back = self._in_force(slot)
        if isinstance(back, DynamicReq):  # SPEC §2, backward, in slot tau alone
            bounds.append(back.back_epsilon - self._spent(slot - back.back_window + 1, slot - 1))
        return max(0, min(bounds)) if bounds else None

    def change_budget(self, slot: int) -> int:
        """The change budget of the slot: the proposal, cut to room; 0 for who is away."""
        if not self.registered(slot):
            return 0
        # SPEC §5: the least live share; SPEC §6: min over A of a_tau
        proposals = [version.requirement.share for version in self._live(slot)]
        proposals += [declaration.requirement.share for declaration in self._active(slot)]
        back = self._in_force(slot)
        if isinstance(back, DynamicReq):  # SPEC §6: EB/2 - S1
            S1 = self._spent_1(slot - back.back_window + 1, slot - 1)
            proposals.append(back.back_epsilon // 2 - S1)
        return self._cut(min(proposals), self.room(slot))

    def offer_distribution(self, slot: int) -> int:
        """The publish budget under PBD and DPBD: the proposal, cut to what the change budget leaves."""
        if not self.registered(slot):
            return 0
        proposals = []
        for version in self._live(slot):  # SPEC §5, PBD: (E/2 - part-2 spends in t-w+1 … t-1) / 2
            E, w = version.requirement.epsilon, version.requirement.window
            proposals.append((E // 2 - self._spent_2(slot - w + 1, slot - 1)) // 2)
        active = self._active(slot)
        if active:  # SPEC §6, DPBD: half of min over A of (EF/2 - U)
            proposals.append(min(self._unused(slot, declaration) for declaration in active) // 2)
        return self._cut_publish_budget(slot, min(proposals))

    def rests(self, slot: int, last: int) -> bool:
        """Whether this user makes absorption rest; `last` is the slot of the last publication, 0 if none."""
        if not self.registered(slot):
            return False
        fixed = last > 0 and slot - last <= self._rest(slot, last)  # SPEC §5, PBA: t - l <= N
        # SPEC §6, DPBA: t <= b(tau) for some active tau, that is (t - tau + 1) a - U <= 0
        dynamic = any(self._absorbed(slot, declaration) <= 0 for declaration in self._active(slot))
        return fixed or dynamic

    def border(self, slot: int) -> Fraction | None:
        """The largest border over the active declarations; None without one."""
        borders = [  # SPEC §6, DPBA: b(tau) = U(tau)/a_tau + tau - 1
            Fraction(self._spent_2(tau, slot - 1), requirement.share) + tau - 1
            for tau, requirement in self._active(slot)
        ]
        return max(borders) if borders else None

    def offer_absorption(self, slot: int, last: int) -> int:
        """The publish budget of the slot under PBA and DPBA, if the stream does not rest."""
        if not self.registered(slot):
            return 0
        proposals = []
        live = self._live(slot)
        if live:  # SPEC §5, PBA: a * min(max(t - l - N, 0), w), with a the least live share
            a = min(version.requirement.share for version in live)
            saved = max(slot - last - self._rest(slot, last), 0)
            proposals.append(min(a * min(saved, version.requirement.window) for version in live))
        active = self._active(slot)
        if active:  # SPEC §6, DPBA: min(AF, UF)
            AF = max(self._absorbed(slot, declaration) for declaration in active)
            UF = min(self._unused(slot, declaration) for declaration in active)
            proposals.append(min(AF, UF))
        return self._cut_publish_budget(slot, min(proposals))

    def part(self, slot: int, interval: int) -> int:
        """The least E / ceil(w/k) over everything that binds in the slot, k = `interval`."""
        sides = [(version.requirement.epsilon, version.requirement.window) for version in self._live(slot)]
        sides += [(required.forward_epsilon, required.forward_window) for _, required in self._active(slot)]
        back = self._in_force(slot)
        if isinstance(back, DynamicReq):
            sides.append((back.back_epsilon, back.back_window))
        return min(E // len(range(0, w, interval)) for E, w in sides)

    def offer_paced(self, slot: int, interval: int) -> int:
        """What a paced schedule may spend in a slot in which it is due."""
        return self._cut(self.part(slot, interval), self.room(slot)) if self.registered(slot) else 0

    def offer_watched(self, slot: int, interval: int) -> tuple[int, int]:
        """What watching spends: a tenth of the least E/w, and then at most nine tenths of the part."""
        if not self.registered(slot):
            return 0, 0
        room, part = self.room(slot), self.part(slot, interval)
        change_budget = self._cut(self.part(slot, 1) // 10, room)
        return change_budget, self._cut(part - -(-part // 10), None if room is None else room - change_budget)

    def least_feasible(self, slot: int) -> int:
        """The least feasible EB in this slot: what its backward window holds; 0 without one."""
        back = self._in_force(slot)
        if not isinstance(back, DynamicReq):
            return 0
        return self._spent(slot - back.back_window + 1, slot - 1)  # SPEC §2, infeasible backward requirement

    def violations(self) -> list[str]:
        """The windows that break the promise on the complete history, in words; empty if it was kept."""
        return [
            f"{window.name} holds {window.spent}, allowed are {window.allowed}"
            for window in self._promised()
            if not window.excused and window.spent > window.allowed
        ]

    def worst(self) -> Fraction:
        """The largest spent/allowed over the windows of the promise; excused windows do not count."""
        counted = [window for window in self._promised() if not window.excused and window.spent > 0]
        return max((Fraction(window.spent, window.allowed) for window in counted), default=Fraction(0))

    def _promised(self) -> Iterator[Window]:
        """Every window of SPEC §2, Promise, that can hold a recorded spend."""
        end = max(self._change_budgets, default=0)
        for s, e, fixed in self._versions(end):
            # Every window of w slots that touches s … e. One that begins before slot 1 holds no more than the
            # one that begins at slot 1, which touches the same version.
            for k in range(max(1, s - fixed.window + 1), e + 1):
                until = k + fixed.window - 1
                yield Window(
                    f"fixed {fixed} in force {s}..{e}, window {k}..{until}",
                    spent=self._spent(k, until),
                    allowed=fixed.epsilon,
                    excused=self._spent(max(k, s), until) == 0,  # it only holds what it already held before s
                )
        for tau, dynamic in self._declarations(end):
            until = tau + dynamic.forward_window - 1
            yield Window(
                f"forward {dynamic} declared at {tau}, window {tau}..{until}",
                spent=self._spent(tau, until),
                allowed=dynamic.forward_epsilon,
                excused=False,
            )
            since = tau - dynamic.back_window + 1
            yield Window(
                f"backward {dynamic} declared at {tau}, window {since}..{tau}",
                spent=self._spent(since, tau),
                allowed=dynamic.back_epsilon,
                excused=self._spent(tau, tau) == 0,  # the slot added nothing
            )

    def _check_open(self, slot: int) -> None:
        """SPEC §2: a change takes effect in the first slot that begins after it is stored."""
        if slot < 1 or slot <= max(self._change_budgets, default=0):
            raise ValueError(f"slot {slot} has begun; a requirement holds from a later slot on")

    def _forces(self, slot: int) -> list[tuple[int, int, FixedReq | DynamicReq]]:
        """All (first, last, requirement) up to `slot`; what is in force there is shown as ending there."""
        forces = []
        for first in sorted(start for start in self._required if start <= slot):
            requirement = self._required[first]
            last = min((start - 1 for start in self._required if first < start <= slot), default=slot)
            if requirement is not None:
                forces.append((first, last, requirement))
        return forces

    def _in_force(self, slot: int) -> FixedReq | DynamicReq | None:
        for first, last, requirement in self._forces(slot):
            if first <= slot <= last:
                return requirement
        return None

    def _versions(self, slot: int) -> list[Version]:
        return [Version(s, e, fixed) for s, e, fixed in self._forces(slot) if isinstance(fixed, FixedReq)]

    def _declarations(self, slot: int) -> list[Declaration]:
        """SPEC §2: declared at tau, and again in each slot until changed."""
        return [
            Declaration(tau, dynamic)
            for first, last, dynamic in self._forces(slot)
            if isinstance(dynamic, DynamicReq)
            for tau in range(first, last + 1)
        ]

    def _live(self, slot: int) -> list[Version]:
        """SPEC §2: the fixed versions with s_v <= t <= e_v + w_v - 1."""
        return [v for v in self._versions(slot) if v.first <= slot <= v.last + v.requirement.window - 1]

    def _active(self, slot: int) -> list[Declaration]:
        """SPEC §6: the declarations with tau <= t <= tau + wF - 1."""
        return [
            Declaration(tau, dynamic)
            for tau, dynamic in self._declarations(slot)
            if tau <= slot <= tau + dynamic.forward_window - 1
        ]

    def _rest(self, slot: int, last: int) -> int:
        """SPEC §5, PBA: N = max(0, eps2_l / a - 1) rounded up, a the least live share; 0 without one."""
        shares = [version.requirement.share for version in self._live(slot)]
        if not shares:
            return 0
        spent_shares = -(-self._spent_2(last, last) // min(shares))
        return max(0, spent_shares - 1)

    def _absorbed(self, slot: int, declaration: Declaration) -> int:
        """SPEC §6, DPBA: (t - b(tau)) a_tau = (t - tau + 1) a_tau - U(tau)."""
        tau, requirement = declaration
        return (slot - tau + 1) * requirement.share - self._spent_2(tau, slot - 1)

    def _unused(self, slot: int, declaration: Declaration) -> int:
        """SPEC §6: EF_tau/2 - U(tau)."""
        tau, requirement = declaration
        return requirement.forward_epsilon // 2 - self._spent_2(tau, slot - 1)

    def _cut_publish_budget(self, slot: int, proposal: int) -> int:
        """SPEC §6: EB/2 - S2 where there is a backward requirement; SPEC §2: room - change budget."""
        back = self._in_force(slot)
        if isinstance(back, DynamicReq):
            S2 = self._spent_2(slot - back.back_window + 1, slot - 1)
            proposal = min(proposal, back.back_epsilon // 2 - S2)
        room = self.room(slot)
        return self._cut(proposal, None if room is None else room - self.change_budget(slot))

    @staticmethod
    def _cut(proposal: int, bound: int | None) -> int:
        """SPEC §2: every schedule only proposes; never a negative budget."""
        return max(0, proposal if bound is None else min(proposal, bound))

    def _spent_1(self, first: int, last: int) -> int:
        return sum(units for slot, units in self._change_budgets.items() if first <= slot <= last)

    def _spent_2(self, first: int, last: int) -> int:
        return sum(units for slot, units in self._publish_budgets.items() if first <= slot <= last)

    def _spent(self, first: int, last: int) -> int:
        return self._spent_1(first, last) + self._spent_2(first, last)


class ObsChoice(NamedTuple):
    """The threshold of least error and the three parts of that error."""

    threshold_units: int
    variance: Fraction
    squared_bias: Fraction
    noise: Fraction

    @property
    def error(self) -> Fraction:
        return self.variance + self.squared_bias + self.noise


def oracle_obs(budgets: list[tuple[int, int]], sensitivity: int) -> ObsChoice | None:
    """Choose the threshold from (units on offer, number of users) pairs; None if no budget is positive."""
    # A budget that nobody has is no candidate.
    thresholds = sorted({units for units, users in budgets if units > 0 and users > 0})
    best: ObsChoice | None = None
    for theta in thresholds:
        choice = oracle_error(theta, budgets, sensitivity)
        if best is None or choice.error < best.error:  # SPEC §3: the least error, the smallest on a tie
            best = choice
    return best


def oracle_error(theta: int, budgets: list[tuple[int, int]], sensitivity: int) -> ObsChoice:
    """The three parts of the error at threshold `theta`, in units."""
    with localcontext() as context:
        context.prec = DIGITS
        variance = lost = Decimal(0)
        for e, n in budgets:
            if e < theta:  # SPEC §3: p = expm1(e)/expm1(theta); budget 0 gives p = 0
                p = (_epsilon(e).exp() - 1) / (_epsilon(theta).exp() - 1)
                variance += n * p * (1 - p)
                lost += n * (1 - p)
        noise = 2 * Fraction(sensitivity) ** 2 / Fraction(theta, 10**9) ** 2  # SPEC §3: 2 s²/theta²
        return ObsChoice(theta, Fraction(variance), Fraction(lost * lost), noise)


def exact_probability(e_units: int, t_units: int) -> tuple[Fraction, Fraction]:
    """Bounds, low and high, on the probability that SM keeps a user with budget e at threshold t."""
    if t_units < 1 or e_units < 0:
        raise ValueError(f"a threshold must be positive and a budget not negative, got {t_units}, {e_units}")
    if e_units >= t_units:  # SPEC §4: kept for certain
        return Fraction(1), Fraction(1)
    if e_units == 0:  # SPEC §3: counts as lost
        return Fraction(0), Fraction(0)
    e_low, e_high = _expm1_bounds(e_units)
    t_low, t_high = _expm1_bounds(t_units)
    return e_low / t_high, e_high / t_low  # SPEC §4: expm1(e)/expm1(theta)


def _epsilon(units: int) -> Decimal:
    """SPEC §7: budgets are whole nano-epsilon."""
    return Decimal(units).scaleb(-9)


def _expm1_bounds(units: int) -> tuple[Fraction, Fraction]:
    """`Decimal.exp` is off by at most half a last digit, so one last digit each way encloses the truth."""
    with localcontext() as context:
        context.prec = DIGITS
        power = _epsilon(units).exp()
        return Fraction(power.next_minus()) - 1, Fraction(power.next_plus()) - 1
