"""What is printed, and where: results on standard output, mistakes in one line on the other.

Either may be closed, full, or a reader that went away.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from deniable.protocol.errors import DeniableError

from .asked import printable


class NoOutput(DeniableError):
    """Standard output takes nothing."""


def say(text: str) -> None:
    """Print a result; at once, so that it is noticed if it reaches nobody.

    Raises
    ------
    NoOutput
        If it does not, such as on a full disk.
    BrokenPipeError
        If whoever read it went away.
    """
    if sys.stdout is None:
        raise NoOutput("standard output is closed; let it go somewhere")
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError as exc:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the last flush
        if isinstance(exc, BrokenPipeError):
            raise
        raise NoOutput(f"standard output cannot be written: {exc.strerror}") from exc


def complain(text: str) -> int:
    """Print a mistake, if that can be; return the exit status."""
    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(f"Error: {printable(text)}\n")
            sys.stderr.flush()
    return 1
