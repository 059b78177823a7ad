"""The one form of a text: composed (NFC), so that two ways to write it are one."""

from __future__ import annotations

from .limits import MAX_CHOICE

_LONGEST = 4 * MAX_CHOICE
"""No composed character is more than four in any canonical form of Unicode."""


def nfc(text: str) -> str:
    """Return the composed form in which texts are compared, hashed and stored."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", text)


def choice_form(value: object) -> str | None:
    """Return an answer in the form of choices; None if it is no text, or too long to be one.

    What is too long is not looked at, so it takes no time.
    """
    return nfc(value) if isinstance(value, str) and len(value) <= _LONGEST else None
