"""The reference of the command line holds every command and option of the application.

`python -m tests.cli.test_reference` writes the part of the page below the marker again.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from wevent.cli import exits
from wevent.cli.app import NAME, app

PAGE = Path(__file__).parents[2] / "docs/reference/command-line.md"
MARKER = "<!-- made by `python -m tests.cli.test_reference` -->\n"


def leaves(command: Any, path: str = NAME) -> Iterator[tuple[str, Any]]:
    """Every command with its words, in the order of the help."""
    for name, child in getattr(command, "commands", {}).items():
        words = f"{path} {name}"
        yield from leaves(child, words) if hasattr(child, "commands") else [(words, child)]


def in_order() -> list[tuple[str, Any]]:
    root = get_command(app)
    order = root.list_commands(None)  # type: ignore[attr-defined]
    return sorted(leaves(root), key=lambda found: order.index(found[0].split()[1]))


def describe(parameter: Any, context: Any) -> str:
    """One line of the table of options."""
    is_flag = getattr(parameter, "is_flag", False)
    kind = "" if is_flag else parameter.metavar or parameter.display_type(context).strip("<>")
    names = ", ".join(parameter.opts) if parameter.param_type_name == "option" else ""
    text = parameter.help
    if parameter.envvar:
        text += f" Environment: `{parameter.envvar}`."
    if parameter.required:
        text += " Required."
    if parameter.default not in (None, False, ""):
        text += f" Default: `{parameter.default}`."
    shown = f"{names} {kind}".strip().replace("|", "\\|")
    return f"| `{shown}` | {text.replace('|', chr(92) + '|')} |"


def generated() -> str:
    """The part of the page that follows from the application."""
    root = get_command(app)
    context = root.make_context(NAME, ["simulate"])
    parts = ["## Options of every command\n", "| option | meaning |", "|---|---|"]
    parts += [describe(parameter, context) for parameter in root.params]
    for words, command in in_order():
        text, _, example = command.help.partition("\n\nExample: ")
        parts += [f"\n## `{words}`\n", " ".join(text.split()), f"\n    {' '.join(example.split())}\n"]
        parts += ["| option | meaning |", "|---|---|"]
        parts += [describe(parameter, context) for parameter in command.params]
    return "\n".join(parts) + "\n"


def test_the_page_is_that_of_the_application() -> None:
    """Every command and every option stands on the page with the words of its help."""
    assert PAGE.read_text("utf-8").partition(MARKER)[2] == generated()


def test_exit_codes_are_listed() -> None:
    """The table of exit codes has the codes of the program and no others; 129 is the end of a terminal."""
    codes = {exits.FINE, exits.BROKEN, exits.WRONG, exits.STORE, exits.UNEXPECTED, exits.STOPPED, 129}
    listed = re.findall(r"^\| (\d+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [int(code) for code in listed] == sorted(codes)


@pytest.mark.parametrize(("words", "command"), in_order(), ids=[words for words, _ in in_order()])
def test_examples_parse(words: str, command: Any) -> None:
    """The help of every command ends with an example that the command accepts."""
    example = shlex.split(command.help.partition("Example: ")[2])
    path = words.split()
    assert example[: len(path)] == path
    command.make_context(words, example[len(path) :])


if __name__ == "__main__":
    kept = PAGE.read_text("utf-8").partition(MARKER)[0]
    PAGE.write_text(kept + MARKER + generated(), "utf-8")
