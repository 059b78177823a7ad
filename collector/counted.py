"""How many of something, as people say it."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """Return ``1 period``, ``2 periods``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
