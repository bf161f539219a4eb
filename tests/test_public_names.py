"""The names that `import wevent` offers, and the types by which an editor completes them."""

from __future__ import annotations

import doctest
import inspect
import random
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, get_args, get_type_hints

import wevent
from wevent import RECIPES, Publisher, mechanisms
from wevent.cohorts import register, requirement
from wevent.mechanisms import ESTIMATORS, EstimatorName, PublisherOptions
from wevent.releases import publisher

SCRIPT = """
from wevent import Fixed, Limits, Privacy, Publisher, Register, Release, Store, auto, mechanisms, sample

register = Register.from_rows({"ann": Fixed(1, 2)})
publishers: list[Publisher] = [
    auto(register, cells=4, estimator="pooled", privacy=Privacy(limits=Limits(window=8)), fast=False),
    mechanisms.pbd(register, ["north", "south"], history_slots=3),
    sample(register, 2),
]
with Store.open("wevent.toml") as store:
    store.require("ann", Fixed(1, 2))
    released: list[Release] = store.release_due(until="2024-05-01")
"""


def test_every_name_is_there() -> None:
    """All exported names exist; every recipe is a name of the package and of its namespace `mechanisms`."""
    assert all(hasattr(wevent, name) for name in wevent.__all__)
    for name, recipe in RECIPES.items():
        assert getattr(wevent, name) is getattr(mechanisms, name) is recipe


def test_nothing_of_the_standard_library_is_shadowed() -> None:
    """`import *` leaves `sample` and `uniform` of `random` alone; both are importable by name."""
    names: dict[str, Any] = {}
    exec("from random import sample, uniform\nfrom wevent import *", names)  # noqa: S102
    assert names["sample"] == random.sample
    assert names["uniform"] == random.uniform
    assert names["auto"] is wevent.auto


def test_options_are_those_of_the_publisher() -> None:
    """`PublisherOptions` has the keyword arguments of `Publisher`, with their types; estimators have one name each."""
    keywords = {
        name: parameter
        for name, parameter in inspect.signature(Publisher.__init__).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    hints = get_type_hints(Publisher.__init__)
    assert get_type_hints(PublisherOptions) == {name: hints[name] for name in keywords}
    assert set(ESTIMATORS) == set(get_args(EstimatorName))


WRONG = {
    "right": ("", "", None),
    "misspelled": ("fast=False", "privcy=1", 'Unexpected keyword argument "privcy" for "auto"'),
    "estimator": ('"pooled"', '"poold"', 'Argument "estimator" to "auto" has incompatible type "Literal[\'poold\']"'),
    "store": ("until=", "untl=", 'Unexpected keyword argument "untl" for "release_due" of "Store"'),
    "type": ("history_slots=3", 'history_slots="3"', 'Argument "history_slots" to "pbd" has incompatible type "str"'),
}
"""By name of a script: what it says, what it should say instead, and the error of mypy."""


def test_mypy_checks_a_script(tmp_path: Path) -> None:
    """Mypy strict passes a right script of a user and refuses options that are misspelled or of another type."""
    for name, (right, wrong, _) in WRONG.items():
        (tmp_path / f"{name}.py").write_text(SCRIPT.replace(right, wrong), "utf-8")
    root = Path(wevent.__file__).parents[1]
    options = [
        "--strict",
        "--follow-imports=silent",
        "--config-file=",
        f"--cache-dir={root.parent}/.mypy_cache/scripts",
    ]
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *sorted(map(str, tmp_path.iterdir()))],
        env={"MYPYPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in found.stdout.splitlines() if ": error: " in line]
    expected = {name: message for name, (_, _, message) in WRONG.items() if message}
    assert len(errors) == len(expected), found.stdout + found.stderr
    for name, message in expected.items():
        assert any(f"{name}.py:" in line and message in line for line in errors), found.stdout


def test_examples_run() -> None:
    """The example of the package's first page, and those in the docstrings of public names, run as printed."""
    assert wevent.__doc__ is not None
    _, example = wevent.__doc__.split("\n\n", 1)
    names: dict[str, object] = {}
    exec(textwrap.dedent(example), names)  # noqa: S102
    assert isinstance(names["release"], wevent.Release)
    for module in (requirement, register, publisher, mechanisms):
        assert doctest.testmod(module).failed == 0


def test_no_function_takes_untyped_settings() -> None:
    """No function of the package takes arbitrary settings: what may be given is typed."""
    source = Path(wevent.__file__).parent
    untyped = [path.name for path in source.rglob("*.py") if "**settings: Any" in path.read_text("utf-8")]
    assert untyped == []
