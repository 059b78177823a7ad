"""A command-line tool that asks once, on a terminal only, and is never slowed by the network.

::

    python cli_tool.py export report.md pdf
    python cli_tool.py privacy            # what is shared; also: privacy yes, privacy no
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from deniable.client import Client

SURVEY = Path(__file__).with_name("survey.toml")
COLLECTOR = os.environ.get("NOTES_COLLECTOR", "https://telemetry.acme.example")


def main() -> int:
    arguments = parser().parse_args()
    with Client(SURVEY, COLLECTOR) as telemetry:
        if arguments.command == "privacy":
            return privacy(telemetry, arguments.answer)
        ask_once(telemetry)
        print(f"{arguments.note} is exported as {arguments.format}")
        telemetry.record("export", arguments.format)
        telemetry.flush(timeout=1.0)  # what is due from earlier runs; a second at most
    return 0


def ask_once(telemetry: Client) -> None:
    """Ask whoever can answer and has not; somebody who only presses Return has not said yes.

    Ctrl-D is no answer: it is asked again next time.
    """
    if telemetry.status().state != "local" or not sys.stdin.isatty():
        return
    print("May this tool report which formats are used? Each report is randomized first, so that")
    print("nobody can tell what you did. `deniable-device show` shows them, `off` stops them.")
    try:
        answer = input("Send randomized reports? [y/N] ")
    except EOFError:
        print()
        return
    if answer.strip().lower() in ("y", "yes"):
        telemetry.opt_in()
    else:
        telemetry.opt_out()


def privacy(telemetry: Client, answer: str | None) -> int:
    """Store a decision, if there is one, and say what holds."""
    if answer and not (telemetry.opt_in() if answer == "yes" else telemetry.opt_out()):
        print(f"not stored: {telemetry.status().reason}", file=sys.stderr)
        return 1
    status = telemetry.status()
    print(f"reports: {status.state}{f' ({status.reason})' if status.reason else ''}")
    print(f"{status.queued} wait, {status.sent} were sent")
    return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(description="Notes on the command line.")
    commands = top.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export", help="export a note")
    export.add_argument("note")
    export.add_argument("format", choices=["html", "markdown", "pdf"])
    decide = commands.add_parser("privacy", help="what is shared, and whether")
    decide.add_argument("answer", nargs="?", choices=["yes", "no"])
    return top


if __name__ == "__main__":
    sys.exit(main())
