"""The door of the collector: its commands, or one line that says what they need."""

from __future__ import annotations

import sys

try:
    from .commands import main
except ModuleNotFoundError as exc:
    absent = (exc.name or "deniable").partition(".")[0]
    if absent == "deniable":
        raise
    sys.exit(f"Error: {absent} is not installed; pip install 'deniable[collector]'")

__all__ = ["main"]
