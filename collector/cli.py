"""The command ``deniable-collector``: each subcommand is loaded when it is called.

What must never change: exit status 0 if it was done, 1 with one line on standard error if it
could not be, 2 if the command was called wrongly; and never a traceback.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from deniable.protocol.errors import DeniableError

try:
    import click
except ModuleNotFoundError:
    sys.exit("Error: click is not installed; pip install 'deniable[collector]'")

__all__ = ["main"]

COMMANDS = {
    "serve": "serve",
    "release": "release",
    "status": "status",
    "token": "token",
    "app-key": "app_key",
    "backup": "backup",
    "restore": "restore",
    "doctor": "doctor",
}
"""Each command and the module under ``commands`` that holds it, in the order of the help."""


class Program(click.Group):
    """A group that loads its commands late, and ends every failure in one line and status 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        try:
            module = import_module(f".commands.{COMMANDS[cmd_name]}", __package__)
        except ModuleNotFoundError as exc:
            absent = (exc.name or "deniable").partition(".")[0]
            if absent == "deniable":
                raise
            text = f"{absent} is not installed; pip install 'deniable[collector]'"
            raise click.ClickException(text) from None
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except DeniableError as exc:
            raise click.ClickException(" / ".join(str(exc).splitlines())) from exc


@click.command(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="deniable", message="%(prog)s %(version)s")
def main() -> None:
    """Take reports in, keep only counts, and let no small crowd out."""
