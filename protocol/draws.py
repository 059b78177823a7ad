"""Where random bits come from: keyed for what must repeat, fresh for what must not.

A third kind is public, for hashes that device and analyst share. All read one stream of bytes and
turn it into exact draws: 64 bits against an integer threshold, and a uniform integer by rejection.
No float takes part, and no bit is used twice.

What must never change for ``deniable/1``: the layout of the hashed input, the order in which
bytes are consumed, and the rejection rule. A device that computed other bytes after an upgrade
would draw a second permanent response to the same question, and so spend epsilon twice;
known-answer tests pin all three.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

from .digests import HMAC, sha256
from .exact import SCALE

DERIVATION = "deniable/1"
"""Names the derivation; part of every keyed input and of every question's privacy hash."""

_WORD = 8


class Draws(Protocol):
    """A source of exact random decisions."""

    def chance(self, threshold: int) -> bool:
        """Return True with probability threshold / 2^64."""

    def below(self, n: int) -> int:
        """Return an integer uniform on 0..n-1."""


class _Stream:
    """Exact draws from blocks of random bytes, each byte used once, big-endian words."""

    __slots__ = ("_at", "_buffer", "_next_block")

    def __init__(self, next_block: Callable[[], bytes]) -> None:
        self._next_block = next_block
        self._buffer = b""
        self._at = 0

    def _word(self) -> int:
        if self._at == len(self._buffer):
            self._buffer = self._next_block()
            self._at = 0
        word = int.from_bytes(self._buffer[self._at : self._at + _WORD], "big")
        self._at += _WORD
        return word

    def chance(self, threshold: int) -> bool:
        """Return True with probability threshold / 2^64, from one 64-bit word."""
        return self._word() < threshold

    def below(self, n: int) -> int:
        """Return an integer uniform on 0..n-1; numbers past the last full multiple are redrawn.

        A number is one word, or for n > 2^64 as few words as reach n, the first one highest.
        """
        if n == 1:
            return 0
        words = max(1, -(-(n - 1).bit_length() // (8 * _WORD)))
        limit = SCALE**words - SCALE**words % n
        while (number := self._number(words)) >= limit:
            pass
        return number % n

    def _number(self, words: int) -> int:
        number = 0
        for _ in range(words):
            number = number * SCALE + self._word()
        return number


class KeyedDraws(_Stream):
    """Draws that repeat: HMAC-SHA-512(secret, length-prefixed(fields) ‖ counter).

    Parameters
    ----------
    secret : bytes
        The device's secret, 32 bytes.
    fields : bytes
        What the draw is for. Each is prefixed with its length in 4 big-endian bytes, so two
        different sequences of fields never give the same input; the counter is 8 big-endian
        bytes and starts at 0.
    """

    __slots__ = ()

    def __init__(self, secret: bytes, *fields: bytes) -> None:
        message = length_prefixed(DERIVATION.encode(), *fields)
        super().__init__(_blocks(HMAC(secret, message)))


class PublicDraws(_Stream):
    """Draws that anyone can repeat: SHA-256(length-prefixed(fields) ‖ counter), without a secret.

    For what device and analyst must agree on and what may tell nothing about a device.

    Parameters
    ----------
    fields : bytes
        As for :class:`KeyedDraws`.
    """

    __slots__ = ()

    def __init__(self, *fields: bytes) -> None:
        message = length_prefixed(DERIVATION.encode(), *fields)
        super().__init__(_blocks(sha256(message)))


class FreshDraws(_Stream):
    """Draws that never repeat: the operating system's randomness, 64 bytes at a time.

    A child process that inherits an instance over ``fork`` would share its unread bytes, so an
    instance serves one response and is thrown away.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(lambda: os.urandom(64))


class _Hash(Protocol):
    """What hashes and HMACs have in common."""

    def copy(self) -> _Hash: ...
    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...


def _blocks(started: _Hash) -> Callable[[], bytes]:
    """Return what gives the digests of ``started`` ‖ counter, one after the other."""
    counter = 0

    def next_block() -> bytes:
        nonlocal counter
        block = started.copy()
        block.update(counter.to_bytes(8, "big"))
        counter += 1
        return block.digest()

    return next_block


def length_prefixed(*fields: bytes) -> bytes:
    """Join fields so that no two different sequences give the same bytes."""
    return b"".join(len(field).to_bytes(4, "big") + field for field in fields)
