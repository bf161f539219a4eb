"""Publishes in every slot in which the schedule offers a budget, whatever the data are."""

from __future__ import annotations

from wevent.decisions.change import DecisionInput, Trigger, Verdict


class ScheduledTrigger(Trigger):
    """Publishes every slot that has a budget on offer; measures nothing and spends nothing on deciding."""

    def decide(self, given: DecisionInput) -> Verdict:
        """Publish if anything is on offer."""
        return Verdict(publish=given.selection.threshold > 0)
