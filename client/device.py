"""`deniable-device`: what a person can see and decide about the reports of their own device.

Works on stores alone: no survey, no network, and no app needs to run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from deniable.protocol.errors import DeniableError, StoreError

from .pacing import Clock, utc_now
from .person.commands import COMMANDS, LOOKS
from .person.stores import every_store
from .person.terminal import complain, say
from .places import default_folder

EPILOG = """\
A store is one file, made by one app. Without --store, every store in the default folder is meant.
An app that is running obeys with its next answer or request, or when it next starts.
"""

_ON = """\
What is recorded from now on may be sent, each report at its time. What was recorded before the yes
is thrown away. A store that fell silent because it was made on another machine is this machine's
from now on.
"""
_ERASE = """\
Destroys the secret that ties reports to answers, whatever waits, and the journal. What was spent
stays spent: no question answered so far is ever answered again. What was sent stays sent, and as
deniable as before. It also says no; `on` would begin anew, for new questions only.
"""
_JOURNAL = """\
The journal notes which question was answered in which period, and what became of the report. With
`keep` it also holds, from now on, the responses that are sent, for `show` to print. Whoever has
them and the store can often compute the answers. `forget` erases them.
"""
_PREVIEW = """\
Shows every request that waits: how many bytes its body has, from when to when it may leave, and
the body as it travels. The headers are the same on every device of the app.
"""
_PERIODS = 14


class _Parser(argparse.ArgumentParser):
    """Reports mistakes as the other programs do."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"Error: {message}\n")


class _Version(argparse.Action):
    """Prints the version; looked up only if it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        say(f"{parser.prog} {version('deniable')}")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command."""
    parser = _Parser(
        prog="deniable-device",
        description="See what apps report about this device, and decide about it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _format(_command(commands, "status", "say in a line whether reports are sent, and why not"))
    show = _command(commands, "show", "show what was asked, answered, spent and sent")
    _format(show)
    show.add_argument(
        "--journal",
        metavar="N",
        type=_periods,
        default=_PERIODS,
        help="how many periods of the journal to show (default: %(default)s; JSON has all)",
    )
    _format(_command(commands, "preview", "show exactly what would be sent next", _PREVIEW))
    explain = _command(commands, "explain", "say what is protected, how far, and what is not")
    explain.add_argument(
        "question", metavar="QUESTION", nargs="?", help="only this one, as `show` names it"
    )
    _command(commands, "off", "say no: erase what waits, record and send nothing from now on")
    _command(commands, "on", "say yes: what is recorded from now on may be sent", _ON)
    journal = _command(commands, "journal", "keep what is sent, to look at it, or not", _JOURNAL)
    journal.add_argument("act", metavar="keep|forget", choices=("keep", "forget"), help="which")
    erase = _command(commands, "erase", "destroy the secret that ties reports to answers", _ERASE)
    erase.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    return parser


def main(argv: Sequence[str] | None = None, *, _clock: Clock = utc_now) -> int:
    """Run the command; return its exit status."""
    for stream in (sys.stdout, sys.stderr):  # a question may be in any script
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        options = build_parser().parse_args(argv)
        options.now = _clock()
        return COMMANDS[options.command](_meant(options), options)
    except DeniableError as exc:
        return complain(str(exc))
    except KeyboardInterrupt:
        return complain("interrupted; nothing more was done")
    except BrokenPipeError:
        return 1


def _command(
    commands: argparse._SubParsersAction[_Parser],
    name: str,
    short: str,
    long: str = "",
) -> argparse.ArgumentParser:
    text = long or f"{short[0].upper()}{short[1:]}."
    parser = commands.add_parser(name, help=short, description=text)
    parser.add_argument(
        "--store",
        metavar="PATH",
        type=Path,
        action="append",
        default=[],
        help="the store of an app; may be repeated (default: all in the default folder)",
    )
    return parser


def _format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="how to print it"
    )


def _periods(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError("must be a whole number, such as 14, or 0 for none")
    return int(text)


def _meant(options: argparse.Namespace) -> list[Path]:
    """Return the stores that are meant, each once."""
    paths = list(dict.fromkeys(options.store)) or every_store()
    if not paths and options.command not in LOOKS:
        raise StoreError(f"there are no stores in {default_folder()}; name one with --store")
    return paths
