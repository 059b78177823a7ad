"""`deniable-device`: what a person can see and decide about the reports of their own device.

Works on stores alone: no survey, no network, and no app needs to run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from deniable.protocol.errors import DeniableError, StoreError

from .aside import silence, stores_aside
from .database import Database
from .places import default_folder
from .portrait import portrait, portrait_text, silent_for_good
from .store import Store

EPILOG = """\
A store is one file, made by one app. Without --store, every store in the default folder is meant.
An app that is running obeys with its next answer or request, or when it next starts.
"""


_ERASE = """\
Destroys the secret that ties reports to answers, whatever waits, and the journal. What was spent
stays spent: no question answered so far is ever answered again. What was sent stays sent, and as
deniable as before. It also says no; `on` would begin anew, for new questions only.
"""


class _Parser(argparse.ArgumentParser):
    """Reports mistakes as the other programs do."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"Error: {message}\n")


class _Version(argparse.Action):
    """Prints the version; looked up only if it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        _print(f"{parser.prog} {version('deniable')}")
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
    show = _command(commands, "show", "show what was answered, spent, sent, and what waits")
    show.add_argument(
        "--format", choices=("table", "json"), default="table", help="how to print it"
    )
    _command(commands, "off", "say no: erase what waits, record and send nothing from now on")
    _command(commands, "on", "say yes: reports may be sent, each at its time")
    erase = _command(commands, "erase", "destroy the secret that ties reports to answers", _ERASE)
    erase.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = build_parser().parse_args(argv)
    try:
        paths = _stores(options.store, needed=options.command != "show")
        return _COMMANDS[options.command](paths, options)
    except DeniableError as exc:
        return _complain(str(exc))
    except KeyboardInterrupt:
        return _complain("interrupted; nothing more was done")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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


def _stores(named: list[Path], *, needed: bool) -> list[Path]:
    """Return the stores that are meant."""
    for path in named:
        if not path.is_file() and not stores_aside(path):
            raise StoreError(f"{path}: there is no such store; check the path")
    if named:
        return named
    folder = default_folder()
    present = set(folder.glob("*.db"))
    present |= {path.with_suffix("") for path in folder.glob("*.db.unreadable")}
    if needed and not present:
        raise StoreError(f"there are no stores in {folder}; name one with --store")
    return sorted(present)


def _show(paths: list[Path], options: argparse.Namespace) -> int:
    portraits: list[dict[str, Any]] = []
    for path in paths:
        try:
            with _open(path, look=True) as database:
                portraits.append(portrait(path, Store(database)))
        except StoreError as exc:
            portraits.append({"store": str(path), "state": "silent", "reason": str(exc)})
    if options.format == "json":
        _print(json.dumps(portraits, indent=1, ensure_ascii=False))
    elif portraits:
        _print("\n\n".join(portrait_text(each) for each in portraits))
    else:
        _print(f"No app has a store in {default_folder()}: nothing was answered, nothing sent.")
    return 1 if any(each["state"] == "silent" for each in portraits) else 0


def _decide(paths: list[Path], options: argparse.Namespace) -> int:
    return _each(paths, _say_yes if options.command == "on" else _say_no)


def _say_yes(store: Store) -> str:
    store.decide("on", datetime.now(UTC))
    erased = sum(line.erased for line in store.ledger())
    said = "yes; reports may be sent, each at its time"
    return f"{said}; {silent_for_good(erased)}" if erased else said


def _say_no(store: Store) -> str:
    store.decide("off", datetime.now(UTC))
    return "no; what waited is erased, nothing will be recorded or sent"


def _erase(paths: list[Path], options: argparse.Namespace) -> int:
    if not options.yes:
        names = ", ".join(str(path) for path in paths)
        sys.stderr.write(f"Erase the secret, the queue and the journal of {names}? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            return _complain("nothing was erased; answer y, or use --yes")
    status = _each(paths, _do_erase)
    for copy in (copy for path in paths if path.exists() for copy in stores_aside(path)):
        status = _complain(f"{copy}: a damaged copy, which may hold the secret; delete it")
    return status


def _do_erase(store: Store) -> str:
    store.erase(datetime.now(UTC))
    return "erased; nothing here links earlier reports to answers, and nothing will be sent"


def _each(paths: list[Path], act: Callable[[Store], str]) -> int:
    """Do one thing to every store, and say it; one that fails does not stop the others."""
    status = 0
    for path in paths:
        try:
            with _open(path) as database:
                done = act(Store(database))
        except StoreError as exc:
            status = _complain(f"{path}: {exc}")
        else:
            _print(f"{path}: {done}")
    return status


def _open(path: Path, *, look: bool = False) -> Database:
    if not path.exists() and (aside := stores_aside(path)):
        raise StoreError(silence(aside))
    return Database(path, look=look)


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _complain(text: str) -> int:
    sys.stderr.write(f"Error: {text}\n")
    return 1


_COMMANDS = {"show": _show, "off": _decide, "on": _decide, "erase": _erase}
