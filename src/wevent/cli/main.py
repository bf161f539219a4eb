"""Runs the command `wevent`: reads its words, calls the command, returns an exit code.

`exits` lists the exit codes. Everything is imported inside `main`, so that Ctrl-C during an import leaves no traceback.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Guarantees:
        Arguments out of range end with exit code 2 and a message that names the limit.
        1 is returned for a broken promise and for nothing else.
    """
    try:
        from wevent.cli import exits
    except KeyboardInterrupt:
        return 130

    def command() -> int:
        from wevent.cli.app import invoke

        return invoke(arguments)

    return exits.run(command)
