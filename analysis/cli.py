"""The command ``deniable``: each subcommand is loaded when it is called, and wraps one function.

What must never change: exit status 0 if it was done, 1 with one line on standard error if it
could not be, 2 if the command was called wrongly; and never a traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from deniable.protocol.errors import DeniableError, SurveyError

try:
    import click
except ModuleNotFoundError:
    sys.exit("Error: click is not installed; pip install 'deniable[analysis]'")

COMMANDS = {
    "estimate": "estimate",
    "crosstab": "crosstab",
    "difference": "difference",
    "trend": "trend",
    "heavy-hitters": "heavy_hitters",
    "periods": "periods",
    "debias": "debias",
    "users-needed": "users_needed",
    "plan": "plan",
    "compare": "compare",
    "total-epsilon": "total_epsilon",
    "shuffle-epsilon": "shuffle_epsilon",
    "explain": "explain",
    "survey": "survey",
    "simulate": "simulate",
    "audit": "audit",
    "sealing-key": "sealing_key",
    "unseal": "unseal",
}
"""Each command and the module under ``commands`` that holds it, in the order of the help."""


class Program(click.Group):
    """A group that loads its commands late and ends every failure in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f".commands.{COMMANDS[cmd_name]}", __package__)
        command: click.Command = module.command
        return command

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line and leave the program with its status."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, **extra)
        _never_fail_to_encode()
        try:
            status = super().main(args, prog_name, complete_var, False, **extra)
        except click.exceptions.NoArgsIsHelpError as exc:
            exc.show()
            sys.exit(exc.exit_code)
        except click.ClickException as exc:
            _fail([" ".join(exc.format_message().split())], exc.exit_code)
        except SurveyError as exc:
            _fail(exc.problems, 1)
        except DeniableError as exc:
            _fail([exc], 1)
        except (click.Abort, KeyboardInterrupt):
            _fail(["interrupted"], 1)
        except OSError as exc:
            _abandon_output()
            _fail([f"the output cannot be written ({exc.strerror})"], 1)
        sys.exit(status if isinstance(status, int) else 0)


@click.command(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="deniable", message="%(prog)s %(version)s")
def main() -> None:
    """Estimates from answers that every user can deny, and what they cost.

    For analysts and authors of surveys. Frequencies come with their standard errors and
    intervals, epsilons with what they protect.
    """


def _never_fail_to_encode() -> None:
    """Write what a terminal cannot show as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


def _complain(mistakes: Iterable[object]) -> None:
    """Say what is wrong on standard error, a line for each mistake whatever it quotes."""
    for mistake in mistakes:
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(mistake))
        click.echo(f"Error: {line}", err=True)


def _fail(mistakes: Iterable[object], status: int) -> NoReturn:
    """Say why and leave."""
    try:
        _complain(mistakes)
    except OSError:
        _abandon_output()
    sys.exit(status)


def _abandon_output() -> None:
    """Nobody reads the output any more: let the interpreter flush it into nothing."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError:
        sys.stdout = None
