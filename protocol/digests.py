"""SHA-256, SHA-512 and HMAC-SHA-512 without OpenSSL.

``hashlib`` and ``hmac`` load OpenSSL, 4 MB in every app, most of them before anything is sent.
These are the interpreter's own functions, which ``hashlib`` falls back on and ``random`` uses for
the same reason; an interpreter that has none takes those of ``hashlib``. What must never change:
the digests are those of FIPS 180-4 and RFC 2104.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

BLOCK = 128
"""Bytes of a block of SHA-512; no key of an :class:`HMAC` may be longer."""

_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


class Hash(Protocol):
    """A digest that is being computed."""

    def copy(self) -> Hash: ...
    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...
    def hexdigest(self) -> str: ...


sha256: Callable[[bytes], Hash]
sha512: Callable[[bytes], Hash]
try:  # Python 3.12 and later
    from _sha2 import sha256, sha512  # type: ignore[import-not-found, no-redef]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found, no-redef]
        from _sha512 import sha512  # type: ignore[import-not-found, no-redef]
    except ImportError:
        from hashlib import sha256, sha512  # noqa: F401


class HMAC:
    """HMAC-SHA-512 of a message, with a key of one block at most."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes, message: bytes) -> None:
        if len(key) > BLOCK:
            raise ValueError(f"the key has more than {BLOCK} bytes")
        block = key.ljust(BLOCK, b"\0")
        self._inner = sha512(block.translate(_INNER) + message)
        self._outer = sha512(block.translate(_OUTER))

    def copy(self) -> HMAC:
        """Return another that goes on from here."""
        other = HMAC.__new__(HMAC)
        other._inner, other._outer = self._inner.copy(), self._outer
        return other

    def update(self, data: bytes, /) -> None:
        """Go on with the message."""
        self._inner.update(data)

    def digest(self) -> bytes:
        """Return the 64 bytes."""
        outer = self._outer.copy()
        outer.update(self._inner.digest())
        return outer.digest()
