"""The one form of a text: composed (NFC), so that two ways to write it are one."""

from __future__ import annotations


def nfc(text: str) -> str:
    """Return the composed form in which texts are compared, hashed and stored."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", text)
