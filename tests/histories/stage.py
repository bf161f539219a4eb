"""Builds real publishers for histories: recipes whose decisions, draws and charges follow a script."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from tests.histories.events import GROUP, Ending, History, Req
from tests.oracle import FixedReq

from wevent.budgets.ledger import Offer
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Dynamic, Fixed
from wevent.decisions.change import DecisionInput, Trigger, Verdict
from wevent.mechanisms import publisher_of
from wevent.noise import StudyNoise
from wevent.releases.journal import Charge, MemoryJournal, Outcome
from wevent.releases.publisher import Mechanism, Publisher
from wevent.releases.release import Release
from wevent.settings import Privacy

CELLS = 2


class ChargeFailed(Exception):
    """The journal could not keep a charge."""


class DrawFailed(Exception):
    """The draw failed after the charge."""


class Script:
    """What is to happen in the slot that comes next."""

    def __init__(self) -> None:
        self.ending = Ending.PUBLISH
        self.charge_fails = False


class ScriptedJournal(MemoryJournal):
    """Keeps the last charge that it took, and refuses one where the script says so."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self._script = script
        self.charged: Offer | None = None
        self.released: Release | None = None

    def charge(self, charge: Charge) -> None:
        """Keep a charge, or fail once."""
        if self._script.charge_fails:
            self._script.charge_fails = False
            raise ChargeFailed
        self.charged = charge.offer

    def settle(self, outcome: Outcome) -> Release:
        """Keep a release."""
        self.released = super().settle(outcome)
        return self.released


class ScriptedNoise(StudyNoise):
    """Seeded noise whose draw fails where the script says so."""

    def __init__(self, script: Script) -> None:
        super().__init__(0)
        self._script = script

    def rekey(self) -> None:
        """Called right after the charge."""
        if self._script.ending is Ending.LOSE:
            raise DrawFailed
        super().rekey()


class _Scripted(Trigger):
    """Publishes or skips as the script says, and asks the recipe's own trigger where it leaves the choice."""

    def __init__(self, script: Script, own: Trigger) -> None:
        self._script, self._own = script, own

    def decide(self, given: DecisionInput) -> Verdict:
        """The verdict of the script; a trigger that learns does so in every slot."""
        natural, verdict = self._script.ending is Ending.NATURAL, Verdict(publish=False)
        if natural or self._own.state():
            verdict = self._own.decide(given)
        if natural:
            return verdict
        return replace(verdict, publish=self._script.ending is Ending.PUBLISH and given.selection.threshold > 0)

    def state(self) -> dict[str, Any]:
        """What the recipe's own trigger has learned."""
        return self._own.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._own.restore(state)


def build(history: History, script: Script, mechanism: Mechanism | None = None) -> tuple[Publisher, ScriptedJournal]:
    """The publisher of a history as it was founded, and its journal; with a mechanism that others use too, if given."""
    register = Register.from_rows({user: package(required) for user, required in history.founders})
    if history.group is not None:
        register.with_group(GROUP, package(history.group), 3)
    journal = ScriptedJournal(script)
    settings: dict[str, Any] = {
        "privacy": Privacy(infeasible=history.infeasible, rest=history.rest),  # type: ignore[arg-type]
        "noise": ScriptedNoise(script),
        "journal": journal,
        "history_slots": history.history_slots,
        "fast": history.fast,
    }
    if mechanism is not None:
        publisher = Publisher(register, CELLS, mechanism, **settings)
    else:
        estimator = history.estimator if history.recipe == "auto" else None
        publisher = publisher_of(history.recipe, register, CELLS, estimator, **settings)
    publisher.trigger = _Scripted(script, publisher.trigger)
    return publisher, journal


def mechanism_of(history: History) -> Mechanism:
    """The mechanism of a history's recipe, as a library's user would hand it to several publishers."""
    register = Register.from_rows({user: package(required) for user, required in history.founders})
    estimator = history.estimator if history.recipe == "auto" else None
    return publisher_of(history.recipe, register, CELLS, estimator).mechanism


@cache
def package(requirement: Req) -> Fixed | Dynamic:
    """A requirement in the package's words."""
    if isinstance(requirement, FixedReq):
        return Fixed(f"{requirement.epsilon}e-9", requirement.window)
    forward = (f"{requirement.forward_epsilon}e-9", requirement.forward_window)
    return Dynamic(forward, (f"{requirement.back_epsilon}e-9", requirement.back_window))
