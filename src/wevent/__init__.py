"""Private counts from endless event streams; each person chooses an epsilon and a window.

from wevent import Fixed, Register, Slot, auto

register = Register.from_rows({"ann": Fixed(epsilon=0.6, window=120), "bob": Fixed(1.0, 40)})
publisher = auto(register, cells=["north", "south"])
release = publisher.step(Slot(1, {"ann": "north", "bob": "south"}))
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wevent import errors, mechanisms
    from wevent.cohorts.register import Register
    from wevent.cohorts.requirement import BudgetWindow, Dynamic, Fixed, Levels
    from wevent.cohorts.requirement_change import RequirementChange
    from wevent.events.slot import Slot
    from wevent.facade import Store as Store  # not in __all__: `import *` must not need the extra `store`
    from wevent.mechanisms import RECIPES, PublisherOptions, auto, ba, bd, dpba, dpbd, pba, pbd
    from wevent.mechanisms import sample as sample  # not in __all__: `import *` must not shadow `random.sample`
    from wevent.mechanisms import uniform as uniform  # nor `random.uniform`
    from wevent.releases.publisher import Mechanism, Publisher
    from wevent.releases.release import Decision, ExpectedError, RawCounts, Release, Trace
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

_MODULES = {
    "wevent.cohorts.register": "Register",
    "wevent.cohorts.requirement": "BudgetWindow Dynamic Fixed Levels",
    "wevent.cohorts.requirement_change": "RequirementChange",
    "wevent.events.slot": "Slot",
    "wevent.mechanisms": "RECIPES PublisherOptions auto ba bd dpba dpbd pba pbd sample uniform",
    "wevent.releases.publisher": "Mechanism Publisher",
    "wevent.releases.release": "Decision ExpectedError RawCounts Release Trace",
    "wevent.settings": "Limits Privacy",
    "wevent.facade": "Store",
}
"""The names of the package by the module that holds them; it is imported when a name is first used."""


def __getattr__(name: str) -> Any:
    """Import a name on first use: the command `wevent` starts quickly, and only `Store` needs the extra `store`."""
    from importlib import import_module

    if name in ("errors", "mechanisms"):
        return import_module(f"wevent.{name}")
    for module, names in _MODULES.items():
        if name in names.split():
            try:
                globals()[name] = getattr(import_module(module), name)
            except ModuleNotFoundError as missing:
                if name != "Store":
                    raise
                raise ImportError(f"wevent.Store needs {missing.name}: pip install 'wevent[store]'") from missing
            return globals()[name]
    raise AttributeError(f"module 'wevent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
