"""Private counts from endless event streams; each person chooses an epsilon and a window.

from wevent import Fixed, Register, Slot, auto

register = Register.from_rows({"ann": Fixed(epsilon=0.6, window=120), "bob": Fixed(1.0, 40)})
publisher = auto(register, cells=["north", "south"])
release = publisher.step(Slot(1, {"ann": "north", "bob": "south"}))
"""

from typing import TYPE_CHECKING, Any

from wevent import errors, mechanisms
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import BudgetWindow, Dynamic, Fixed, Levels
from wevent.cohorts.requirement_change import RequirementChange
from wevent.events.slot import Slot
from wevent.mechanisms import RECIPES, PublisherOptions, auto, ba, bd, dpba, dpbd, pba, pbd
from wevent.mechanisms import sample as sample  # not in __all__: `import *` must not shadow `random.sample`
from wevent.mechanisms import uniform as uniform  # nor `random.uniform`
from wevent.releases.publisher import Mechanism, Publisher
from wevent.releases.release import Decision, ExpectedError, RawCounts, Release, Trace
from wevent.settings import Limits, Privacy

if TYPE_CHECKING:
    from wevent.facade import Store as Store  # not in __all__: `import *` must not need the extra `store`

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
    "PublisherOptions",
    "RawCounts",
    "Register",
    "Release",
    "RequirementChange",
    "Slot",
    "Trace",
    "auto",
    "ba",
    "bd",
    "dpba",
    "dpbd",
    "errors",
    "mechanisms",
    "pba",
    "pbd",
]


def __getattr__(name: str) -> Any:
    """Load `Store`, which needs the extra `store`, when it is first used."""
    if name != "Store":
        raise AttributeError(f"module 'wevent' has no attribute {name!r}")
    from importlib import import_module

    try:
        return import_module("wevent.facade").Store
    except ModuleNotFoundError as missing:
        raise ImportError(f"wevent.Store needs {missing.name}: pip install 'wevent[store]'") from missing
