"""Sealed reports: what a response is sealed into, for whom, and how it travels.

A device encrypts the response to a sealed question to the analyst's public key (HPKE, RFC 9180,
base mode, one shot, no associated data), so that the collector limits, counts and mixes what it
cannot read. This module holds what all three agree on; the encryption itself is the device's and
the analyst's, for it needs more than the standard library.

===============  ==========================  ===========  ===========  =============  ============
suite            KEM                         KDF          AEAD         public key     encapsulation
===============  ==========================  ===========  ===========  =============  ============
x25519           DHKEM(X25519, HKDF-SHA256)  HKDF-SHA256  AES-128-GCM  32 bytes       32 bytes
mlkem768-x25519  MLKEM768-X25519 (X-Wing)    HKDF-SHA256  AES-256-GCM  1216 bytes     1120 bytes
===============  ==========================  ===========  ===========  =============  ============

What must never change for ``deniable/1``: this table, the fields and order of :func:`seal_info`,
and the plaintext, which has one size per question and one form per response.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from .draws import DERIVATION, length_prefixed
from .errors import ReportError
from .question import Question
from .response import Response, Wire, decode_base64url

KeyState = Literal["pending", "active", "expired"]

KEY_STATES: Final[tuple[KeyState, ...]] = ("pending", "active", "expired")
"""A key is announced, then sealed for, then refused; reports for the first two are accepted."""


@dataclass(frozen=True, slots=True)
class Suite:
    """What the algorithms of a suite add to a report, in bytes.

    Attributes
    ----------
    public : int
        Of a public key.
    encapsulation : int
        Before the ciphertext.
    tag : int
        After it.
    """

    public: int
    encapsulation: int
    tag: int = 16


SUITES: Final[Mapping[str, Suite]] = {
    "x25519": Suite(public=32, encapsulation=32),
    "mlkem768-x25519": Suite(public=1184 + 32, encapsulation=1088 + 32),
}
"""Every suite by name; the second also withstands a quantum computer."""

_ROW_BYTES = 4


@dataclass(frozen=True, slots=True)
class SealingKey:
    """A public key of the analyst, as the survey file carries it.

    Attributes
    ----------
    id : str
        Under which reports name it.
    suite : str
        One of :data:`SUITES`.
    public : bytes
        For the hybrid the ML-KEM key and then that of X25519.
    state : "pending", "active" or "expired"
        Devices seal for the one active key; collectors take reports for it and a pending one.
    """

    id: str
    suite: str
    public: bytes
    state: KeyState

    @property
    def live(self) -> bool:
        """Whether a collector takes reports that are sealed for it."""
        return self.state != "expired"

    def document(self) -> dict[str, str]:
        """Return the key as JSON, which is also its table in a survey."""
        return {
            "id": self.id,
            "suite": self.suite,
            "public": encode_base64url(self.public),
            "state": self.state,
        }


@dataclass(frozen=True, slots=True)
class SealedResponse:
    """What a device sends in place of a response.

    Attributes
    ----------
    key_id : str
        The key it is sealed for.
    ciphertext : bytes
        The encapsulation, the encrypted plaintext and its tag.
    """

    key_id: str
    ciphertext: bytes

    def pack(self) -> Wire:
        """Return its one JSON form."""
        return [self.key_id, encode_base64url(self.ciphertext)]


def seal_info(question: Question, period: str, segment: str | None, key_id: str) -> bytes:
    """Return what a sealed response is bound to: under any other ``info`` it does not open.

    Each field is prefixed with its length in 4 big-endian bytes: ``deniable/1``, ``sealed``, the
    survey's id, the question's id, its version in decimal, its privacy hash in 64 hex digits, the
    period's key, the segment (empty for none) and the id of the sealing key, all UTF-8.
    """
    fields = (
        DERIVATION, "sealed", question.survey, question.id, str(question.version), question.hash,
        period, segment or "", key_id,
    )  # fmt: skip
    return length_prefixed(*(field.encode() for field in fields))


def sealed_size(question: Question, suite: str) -> int:
    """Return the bytes of every sealed response to a question, whatever was answered."""
    parts = SUITES[suite]
    return parts.encapsulation + plain_size(question) + parts.tag


def plain_size(question: Question) -> int:
    """Return the bytes of every plaintext of a question."""
    return _ROW_BYTES + question.mechanism.shape.size


def pack_plain(question: Question, response: Response) -> bytes:
    """Return the plaintext of a response: its row in 4 bytes and the packed response, both
    little-endian.
    """
    size = question.mechanism.shape.size
    return response.row.to_bytes(_ROW_BYTES, "little") + response.out.to_bytes(size, "little")


def unpack_plain(question: Question, plaintext: bytes) -> Response:
    """Return the response of a plaintext, which may be anything.

    It is held to the rules of the question's own wire form, so nothing can ride along in a
    sealed report that an open one could not carry.

    Raises
    ------
    ReportError
        ``bad_response``: not the one plaintext of a response to this question.
    """
    shape = question.mechanism.shape
    if len(plaintext) != plain_size(question):
        raise ReportError("bad_response", f"plaintext must be {plain_size(question)} bytes")
    row = int.from_bytes(plaintext[:_ROW_BYTES], "little")
    if row >= shape.rows:
        raise ReportError("bad_response", f"plaintext must have a row in 0..{shape.rows - 1}")
    out = int.from_bytes(plaintext[_ROW_BYTES:], "little")
    return question.unpack(shape.pack(Response(out, row)))


def unpack_sealed(wire: object, question: Question, keys: Iterable[SealingKey]) -> SealedResponse:
    """Return the sealed response of a JSON value, which may be anything.

    Parameters
    ----------
    wire : object
        What stands in a report where an open question has its response.
    question : Question
        A sealed one.
    keys : iterable of SealingKey
        Of the survey's newest edition.

    Raises
    ------
    ReportError
        ``sealing_key``: sealed for a key that the survey has not, or no longer.
        ``bad_response``: not the one wire form of a sealed response to this question.
    """
    if not isinstance(wire, list) or len(wire) != 2 or not all(type(x) is str for x in wire):
        raise ReportError("bad_response", "response must be [key id, sealed response]")
    key_id, text = wire
    key = next((key for key in keys if key.live and key.id == key_id), None)
    if key is None:
        raise ReportError("sealing_key", "response must be sealed for a key that is in use")
    size = sealed_size(question, key.suite)
    if len(text) != base64url_length(size):
        raise ReportError("bad_response", f"response must be {size} sealed bytes in base64url")
    return SealedResponse(key.id, decode_base64url(text))


def base64url_length(size: int) -> int:
    """Return the characters of so many bytes in base64url without padding."""
    return (size * 8 + 5) // 6


def encode_base64url(data: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
