"""What one period's key does: names the ledger's rows, and encrypts what waits for release.

From the key K, 32 random bytes, with HMAC-SHA-256 over length-prefixed fields:

=========  ====================================================================================
tag        survey, period, question, version, pseudonym: the first 16 bytes name a ledger row
check      ``deniable/1``, ``check``: 8 bytes that tell this key from another
tally      ``deniable/1``, ``tally``, place: AES-256-GCM key of one tally's cells
report     ``deniable/1``, ``report``, place: AES-256-GCM key of one tally's sealed reports
=========  ====================================================================================

No survey's id holds a slash, so a tag is never another's key. The associated data of a tally is
``<shard>:<n>`` in decimal digits, so that no row passes for another shard's or for a larger crowd;
that of a report is empty.

What must never change while a store holds rows: this table. A nonce is 12 fresh random bytes for
each encryption and stands before the ciphertext; a tally has a key of its own, so even a commit
every millisecond for a year (2^35 of them) repeats a nonce with a probability below 2^-26.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from deniable.protocol.draws import length_prefixed
from deniable.protocol.errors import StoreError
from deniable.protocol.report import DEVICE_BYTES

from .store.base import Scope

KEY_BYTES = 32
TAG_BYTES = 16
CHECK_BYTES = 8
NONCE_BYTES = 12


class UnreadableError(StoreError):
    """Something that waits does not open with its period's key: one of the two was damaged."""


class Place(NamedTuple):
    """Which tally a ciphertext belongs to; it opens as no other's."""

    question_hash: str
    period: str
    segment: str | None


class ScopeKey:
    """The key of one scope, unfolded into what is done with it."""

    def __init__(self, scope: Scope, key: bytes) -> None:
        self._key = key
        self._ciphers: dict[tuple[bytes, Place], AESGCM] = {}
        self._name = scope.name
        fields = (scope.survey, scope.period, scope.question, str(scope.version))
        named = length_prefixed(*(field.encode() for field in fields), bytes(DEVICE_BYTES))
        self._prefix = named[:-DEVICE_BYTES]
        self.check = _derive(key, b"check")[:CHECK_BYTES]

    def fits(self, check: bytes) -> bool:
        """Return whether rows with this check were named by this key; no rows fit any."""
        return check in (b"", self.check)

    def tag(self, device: bytes) -> bytes:
        """Return the name of a device's ledger row; pseudonyms are of one length."""
        return hmac.digest(self._key, self._prefix + device, hashlib.sha256)[:TAG_BYTES]

    def seal_tally(self, place: Place, shard: int, n: int, cells: bytes) -> bytes:
        """Encrypt the cells of a tally's shard, of ``n`` reports, under a fresh nonce."""
        return _seal(self._cipher(b"tally", place), cells, b"%d:%d" % (shard, n))

    def open_tally(self, place: Place, shard: int, n: int, sealed: bytes) -> bytes:
        """Return the cells of a tally's shard.

        Raises
        ------
        UnreadableError
        """
        return self._open(self._cipher(b"tally", place), sealed, b"%d:%d" % (shard, n))

    def seal_reports(self, place: Place, reports: list[bytes]) -> list[bytes]:
        """Encrypt sealed reports, each under a nonce of its own."""
        cipher = self._cipher(b"report", place)
        return [_seal(cipher, report, b"") for report in reports]

    def report_opener(self, place: Place) -> Callable[[bytes], bytes]:
        """Return what decrypts the sealed reports of a tally, or raises UnreadableError."""
        cipher = self._cipher(b"report", place)
        return lambda sealed: self._open(cipher, sealed, b"")

    def _cipher(self, purpose: bytes, place: Place) -> AESGCM:
        cipher = self._ciphers.get((purpose, place))
        if cipher is None:
            fields = (place.question_hash, place.period, place.segment or "")
            derived = _derive(self._key, purpose, *(field.encode() for field in fields))
            cipher = self._ciphers[purpose, place] = AESGCM(derived)
        return cipher

    def _open(self, cipher: AESGCM, sealed: bytes, associated: bytes) -> bytes:
        try:
            return cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], associated)
        except (InvalidTag, ValueError):
            text = f"{self._name}: a waiting tally does not open with its key; one was damaged"
            raise UnreadableError(text) from None


def _seal(cipher: AESGCM, data: bytes, associated: bytes) -> bytes:
    nonce = os.urandom(NONCE_BYTES)
    return nonce + cipher.encrypt(nonce, data, associated)


def _derive(key: bytes, *fields: bytes) -> bytes:
    return hmac.digest(key, length_prefixed(b"deniable/1", *fields), hashlib.sha256)
