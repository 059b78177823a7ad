"""What every key store refuses: names that could mean a place of their own, and odd keys."""

from __future__ import annotations

import re

from deniable.protocol.errors import ParameterError

KEY_BYTES = 32

# The W is that of a week, as in acme-editor.2026-W49; no two names differ by case alone.
_NAME = re.compile(r"[a-z0-9_][a-z0-9_.W-]{0,199}")


def valid_name(name: str) -> bool:
    """Return whether a key may be called so."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> None:
    """Refuse a name that no key may have.

    Raises
    ------
    ParameterError
    """
    if not valid_name(name):
        text = "must be 1 to 200 of a-z, 0-9, W and _.-, and begin with a letter, digit or _"
        raise ParameterError(f"key name {text}: {name[:80]!r}")


def check_key(key: bytes) -> None:
    """Refuse a key of the wrong length.

    Raises
    ------
    ParameterError
    """
    if len(key) != KEY_BYTES:
        raise ParameterError(f"a key must be {KEY_BYTES} bytes; this one has {len(key)}")
