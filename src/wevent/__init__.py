"""Private counts from endless event streams; each person chooses a budget and a window.

from wevent import Fixed, Register, Slot, pbd

register = Register.from_rows({"ann": Fixed(epsilon=0.6, window=120), "bob": Fixed(1.0, 40)})
publisher = pbd(register, cells=["north", "south"])
release = publisher.step(Slot(1, {"ann": "north", "bob": "south"}))
"""

from wevent.cohorts.register import Register
from wevent.cohorts.requirement import BudgetWindow, Dynamic, Fixed, Levels
from wevent.events.slot import Slot
from wevent.recipes import RECIPES, auto, ba, bd, dpba, dpbd, pba, pbd, sample, uniform
from wevent.releases.publisher import Mechanism, Publisher
from wevent.releases.release import Decision, ExpectedError, Raw, Release, Trace
from wevent.settings import Limits, Privacy

__version__ = "0.1.0"

__all__ = [
    "RECIPES",
    "BudgetWindow",
    "Decision",
    "Dynamic",
    "ExpectedError",
    "Fixed",
    "Levels",
    "Limits",
    "Mechanism",
    "Privacy",
    "Publisher",
    "Raw",
    "Register",
    "Release",
    "Slot",
    "Trace",
    "auto",
    "ba",
    "bd",
    "dpba",
    "dpbd",
    "pba",
    "pbd",
    "sample",
    "uniform",
]
