"""What is printed, and where: results on standard output, mistakes in one line on the other."""

from __future__ import annotations

import sys

from .asked import printable


def say(text: str) -> None:
    """Print a result; at once, so that a reader who went away is noticed."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def complain(text: str) -> int:
    """Print a mistake; return the exit status."""
    sys.stderr.write(f"Error: {printable(text)}\n")
    return 1
