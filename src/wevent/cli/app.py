"""Builds the Typer application out of the files in `commands`, and calls the command that is named."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from wevent.cli.commands.audit import audit
from wevent.cli.commands.check import check
from wevent.cli.commands.demo import demo
from wevent.cli.commands.init import init
from wevent.cli.commands.plot import plot
from wevent.cli.commands.publish import publish
from wevent.cli.commands.releases import releases
from wevent.cli.commands.requirements import requirements
from wevent.cli.commands.simulate import simulate
from wevent.cli.commands.smooth import smooth
from wevent.cli.commands.status import status
from wevent.cli.commands.study import study
from wevent.cli.options import Volume
from wevent.errors import InvalidSetting

NAME, COMPLETE = "wevent", "_WEVENT_COMPLETE"
"""The command, and the environment variable by which a shell requests completions."""

PANELS: dict[str, dict[str, Any]] = {
    "Try it": {"simulate": simulate, "demo": demo},
    "Publish": {"init": init, "check": check, "publish": publish},
    "People": {"requirements": requirements},
    "Read": {"releases": releases, "plot": plot, "smooth": smooth, "status": status},
    "Prove": {"audit": audit},
    "Research": {"study": study},
}
"""Commands, and groups of commands, by the panel of the help that shows them."""


class _Commands(TyperGroup):
    """The commands in the order of their panels; the global options may stand anywhere."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for commands in PANELS.values() for name in commands]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        front = [word for word in args[:end] if word in ("--quiet", "-q", "--verbose", "-v")]
        return super().parse_args(ctx, front + [word for word in args[:end] if word not in front] + args[end:])


app = typer.Typer(cls=_Commands, no_args_is_help=True, pretty_exceptions_enable=False)
for panel, commands in PANELS.items():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        from wevent import __version__

        typer.echo(f"{NAME} {__version__}")
        raise typer.Exit


@app.callback()
def global_options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, metavar="", help="Show the version.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", metavar="", help="Show results, warnings and errors alone.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", metavar="", help="Say which file is read and which slot is released.")
    ] = False,
) -> None:
    """Publish private counts from endless event streams; each person chooses an epsilon and a window.

    Example: wevent demo --folder city
    """
    context.obj = Volume(quiet=quiet, verbose=verbose)


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Call the command that the words name; return its exit code.

    Guarantees:
        Words that name no command, or options that it does not take, raise `InvalidSetting`.
    """
    root = get_command(app)
    if COMPLETE in os.environ:
        root(prog_name=NAME)  # answers the shell and ends
    try:
        with root.make_context(NAME, list(sys.argv[1:] if arguments is None else arguments)) as context:
            return int(root.invoke(context) or 0)
    except typer.Exit as end:
        return end.exit_code
    except typer.TyperException as error:
        words = error.format_message().strip()
        if not words:  # the help was shown instead
            return error.exit_code
        where = getattr(error, "ctx", None)
        path = NAME if where is None else where.command_path
        words = words[0].lower() + words[1:].replace("Value error, ", "")  # pydantic's prefix
        stop = "" if words.endswith((".", "?")) else "."
        raise InvalidSetting(f"{words}{stop} See `{path} --help`") from None
