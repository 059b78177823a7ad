"""What a device must answer, derived once more from its secret and the documented layout.

Nothing here is the client's: the bytes come from ``hmac`` and ``hashlib`` alone, words and draws
are made anew, and only the mechanism is asked what it makes of them. What must never change for
``deniable/1``: the layout written below, which is what devices in the field have always used.

=============  ================================================================================
setup          ``setup``, survey, question, version, hash, (empty), (empty)
permanent      ``permanent``, survey, question, version, hash, setup, stream
pseudonym      ``device``, survey, period, and where a question travels alone: question, version
=============  ================================================================================

The stream is the memo key, or what several memo keys have in common. Each field after a leading
``deniable/1`` is prefixed with its length in 4 bytes. A pseudonym is the first 16 bytes of
HMAC-SHA-512 over them. For draws, HMAC-SHA-512 over them and an 8-byte counter from 0 gives 8 words
of 64 bits a block, all big-endian. A chance of t/2^64 happens if the next word is below t; a number
below n is the next word modulo n, where words past the last full multiple of n are skipped, and
below 1 takes no word. Above 2^64 so many words as reach n are one number, the first one highest.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator, Sequence

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms.dyadic import Dyadic, Memory
from deniable.protocol.question import Question
from deniable.protocol.response import Response

_WORDS = 1 << 64


class Words:
    """Draws from 64-bit words."""

    def __init__(self, words: Iterator[int]) -> None:
        self._words = words

    def chance(self, threshold: int) -> bool:
        """Whether the next word is below ``threshold``."""
        return next(self._words) < threshold

    def below(self, n: int) -> int:
        """Return the next number modulo n, of those below the last full multiple.

        A number is a word, or as many as reach n.
        """
        if n == 1:
            return 0
        size = 1
        while _WORDS**size < n:
            size += 1
        full = _WORDS**size // n * n
        return next(number for number in self._numbers(size) if number < full) % n

    def _numbers(self, size: int) -> Iterator[int]:
        while True:
            number = 0
            for _ in range(size):
                number = number * _WORDS + next(self._words)
            yield number


def words_of(stream: bytes) -> Iterator[int]:
    """Yield the words of some bytes."""
    for at in range(0, len(stream), 8):
        yield int.from_bytes(stream[at : at + 8], "big")


def keyed_words(secret: bytes, fields: Sequence[bytes]) -> Iterator[int]:
    """Yield the words that a secret gives for some fields, without end."""
    message, counter = prefixed(fields), 0
    while True:
        counted = message + counter.to_bytes(8, "big")
        yield from words_of(hmac.digest(secret, counted, "sha512"))
        counter += 1


def public_words(fields: Sequence[bytes]) -> Iterator[int]:
    """Yield the words that anyone can derive from some fields, without end."""
    message, counter = prefixed(fields), 0
    while True:
        yield from words_of(hashlib.sha256(message + counter.to_bytes(8, "big")).digest())
        counter += 1


def prefixed(fields: Sequence[bytes]) -> bytes:
    """Return the version and the fields, each after its length."""
    return b"".join(len(field).to_bytes(4, "big") + field for field in (b"deniable/1", *fields))


def setup_of(secret: bytes, question: Question) -> int:
    """Return the setup (hash row, cohort, window) that a device has for a question."""
    return question.mechanism.assign(_draws(secret, b"setup", question, b"", b""))


def permanent_response(secret: bytes, question: Question, symbol: int) -> Response | None:
    """Return what a device with this secret must remember about a symbol; None for silence."""
    mechanism = question.mechanism
    setup = setup_of(secret, question)
    memo = mechanism.memo(setup, mechanism.symbol(symbol))
    if memo is None:
        return None
    draws = _draws(secret, b"permanent", question, b"%d" % setup, mechanism.stream(memo))
    return mechanism.permanent(setup, memo, draws)


def next_response(
    secret: bytes, question: Question, memory: Memory | None, symbol: int | None, t: int
) -> tuple[Response | None, Memory | None]:
    """Return what a device must report of period t of a horizon, and what it must remember.

    As :meth:`~deniable.protocol.mechanisms.dyadic.Dyadic.step` has it.
    """
    mechanism = question.mechanism
    if not isinstance(mechanism, Dyadic):
        raise ParameterError(f"{question.id} has no horizon")
    setup = setup_of(secret, question)
    memo, after = mechanism.step(setup, memory, symbol, t)
    if memo is None:
        return None, after
    draws = _draws(secret, b"permanent", question, b"%d" % setup, mechanism.stream(memo))
    return mechanism.permanent(setup, memo, draws), after


def pseudonym(secret: bytes, survey: str, period: str, alone: Question | None = None) -> str:
    """Return the name of a device in one period, as it travels."""
    fields = [b"device", survey.encode(), period.encode()]
    if alone is not None:
        fields += [alone.id.encode(), str(alone.version).encode()]
    name = hmac.digest(secret, prefixed(fields), "sha512")[:16]
    return base64.urlsafe_b64encode(name).rstrip(b"=").decode()


def _draws(secret: bytes, purpose: bytes, question: Question, setup: bytes, memo: bytes) -> Words:
    names = (question.survey, question.id, str(question.version), question.hash)
    fields = [purpose, *(name.encode() for name in names), setup, memo]
    return Words(keyed_words(secret, fields))
