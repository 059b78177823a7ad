"""What each command does with the stores that are meant; they return their exit status.

What must never change: whatever is wrong with one store, the others are shown or decided about.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from deniable.protocol.errors import ParameterError, StoreError

from ..aside import stores_aside
from ..environment import veto
from ..places import default_folder
from ..store import Store
from . import decisions
from .asked import printable
from .explanation import explanation, matching, seen_by_others
from .forecast import forecast, forecast_text
from .portrait import portrait, summarized
from .stores import look, opened
from .terminal import complain, say
from .words import show_text, status_text

Command = Callable[[Sequence[Path], argparse.Namespace], int]
Decision = Callable[[Store, datetime], str]


def status(paths: Sequence[Path], options: argparse.Namespace) -> int:
    """Say in a line or two whether reports are sent."""
    return _tell([look(path, summarized) for path in paths], options, status_text, "\n")


def show(paths: Sequence[Path], options: argparse.Namespace) -> int:
    """Show everything."""
    found = [look(path, portrait) for path in paths]
    return _tell(found, options, lambda each: show_text(each, options.journal))


def preview(paths: Sequence[Path], options: argparse.Namespace) -> int:
    """Show what would be sent next."""
    found = [look(path, forecast) for path in paths]
    return _tell(found, options, lambda each: forecast_text(each, options.now))


def explain(paths: Sequence[Path], options: argparse.Namespace) -> int:
    """Say what randomization means for each question."""
    found = [look(path, portrait) for path in paths]
    asked = [matching(each.get("questions", ()), options.question) for each in found]
    if options.question is not None and not any(asked):
        raise ParameterError(
            "QUESTION: nothing of that name was answered here; `deniable-device show` has the names"
        )
    texts: list[str] = []
    for each, questions in zip(found, asked, strict=True):
        if questions:
            texts += [printable(each["store"]), *map(explanation, questions)]
        elif "consent" not in each:
            texts.append(status_text(each))
    if any(asked):
        texts.append(seen_by_others())
    say("\n\n".join(texts) or "Nothing was answered, so nothing was sent.")
    return _verdict(found)


def decide(paths: Sequence[Path], options: argparse.Namespace) -> int:
    """Say yes or no."""
    if options.command == "off":
        return _each(paths, options, decisions.say_no)
    done = _each(paths, options, decisions.say_yes)
    _warn()
    return done


def journal(paths: Sequence[Path], options: argparse.Namespace) -> int:
    """Keep what is sent, or not."""
    return _each(paths, options, decisions.keep if options.act == "keep" else decisions.forget)


def erase(paths: Sequence[Path], options: argparse.Namespace) -> int:
    """Ask first, unless told not to."""
    present = [path for path in paths if os.path.isfile(path)]  # noqa: PTH113 - never raises
    if present and not options.yes and not _agreed(present):
        return complain("nothing was erased; answer y, or use --yes")
    done = _each(paths, options, decisions.erase)
    for copy in (copy for path in present for copy in stores_aside(path)):
        done = complain(f"{copy}: a damaged copy, which may hold the secret; delete it")
    return done


def _agreed(paths: Sequence[Path]) -> bool:
    """Ask whoever is there."""
    if sys.stdin is None or sys.stderr is None:
        return False
    names = ", ".join(map(printable, paths))
    sys.stderr.write(f"Erase the secret, the queue and the journal of {names}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _tell(
    found: Sequence[Mapping[str, Any]],
    options: argparse.Namespace,
    in_words: Callable[[Mapping[str, Any]], str],
    between: str = "\n\n",
) -> int:
    """Print what stores tell, as JSON or in words."""
    if options.format == "json":
        environment = veto(os.environ) or None
        say(json.dumps([{**each, "environment": environment} for each in found], indent=1))
    elif found:
        say(between.join(map(in_words, found)))
        _warn()
    else:
        say(f"No app has a store in {default_folder()}: nothing was answered, nothing sent.")
    return _verdict(found)


def _warn() -> None:
    """Say what holds for apps that are started from here."""
    if reason := veto(os.environ):
        say(f"{reason}: apps that are started from here record and send nothing.")


def _verdict(found: Sequence[Mapping[str, Any]]) -> int:
    return 1 if any(each["state"] in ("silent", "unknown") for each in found) else 0


def _each(paths: Sequence[Path], options: argparse.Namespace, act: Decision) -> int:
    """Do one thing to every store, and say it then; one that fails does not stop the others."""
    done, lines = 0, list[str]()
    for path in paths:
        try:
            with opened(path) as database:
                said = act(Store(database), options.now)
        except StoreError as exc:
            done = complain(f"{path}: {exc}")
        else:
            lines.append(f"{printable(path)}: {said}")
    if lines:
        say("\n".join(lines))
    return done


LOOKS: Mapping[str, Command] = {
    "status": status,
    "show": show,
    "preview": preview,
    "explain": explain,
}
COMMANDS: Mapping[str, Command] = {
    **LOOKS,
    "off": decide,
    "on": decide,
    "journal": journal,
    "erase": erase,
}
