"""The analyst's private keys: how one is made, kept in a file, and opens reports.

What must never change within a format: the file's fields, and that nothing here overwrites a file
or prints what is secret in it. Format 1, JSON: ``format``, ``id``, ``suite``, ``public`` and
``private``, the raw bytes in base64url; the hybrid's private key is the 64-byte seed of ML-KEM
and then that of X25519.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.protocol.errors import DocumentError, MissingExtraError, ReportError, StoreError
from deniable.protocol.fields import ID
from deniable.protocol.response import decode_base64url
from deniable.protocol.sealing import SUITES, encode_base64url

from ..extras import extra
from ..sources import parse_json

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.hpke import MLKEM768X25519PrivateKey

FORMAT = 1
_FIELDS = {"format", "id", "suite", "public", "private"}
_SEEDS = {"x25519": 32, "mlkem768-x25519": 64 + 32}
_LARGEST = 64 * 1024


@dataclass(frozen=True)
class PrivateKey:
    """A key that opens reports.

    Attributes
    ----------
    id, suite : str
    public : bytes
        As the survey carries it.
    secret : bytes
        The raw private key.
    """

    id: str
    suite: str
    public: bytes
    secret: bytes = field(repr=False)

    def opener(self) -> Callable[[bytes, bytes], bytes | None]:
        """Return what opens a ciphertext under an info; None where it does not open."""
        with extra("sealed"):
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
        if self.suite == "x25519":
            suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
        else:
            suite = Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
        private = _private(self.suite, self.secret)

        def open_sealed(ciphertext: bytes, info: bytes) -> bytes | None:
            try:
                return suite.decrypt(ciphertext, private, info)
            except (InvalidTag, ValueError):
                return None

        return open_sealed

    def document(self) -> dict[str, Any]:
        """Return what the file holds."""
        return {
            "format": FORMAT,
            "id": self.id,
            "suite": self.suite,
            "public": encode_base64url(self.public),
            "private": encode_base64url(self.secret),
        }


def generate(suite: str, name: str | None) -> PrivateKey:
    """Return a new key; without a name it is called by the hash of its public half."""
    secret = os.urandom(_SEEDS[suite])
    public = _public(suite, secret)
    return PrivateKey(name or f"k{hashlib.sha256(public).hexdigest()[:8]}", suite, public, secret)


def write(path: Path, key: PrivateKey) -> None:
    """Write a key into a new file that nobody else may read.

    Raises
    ------
    StoreError
        If there is a file already, or it cannot be written.
    """
    content = json.dumps(key.document(), indent=1).encode() + b"\n"
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError as exc:
        raise StoreError(f"{path} exists, and a private key is never overwritten") from exc
    except (OSError, ValueError) as exc:
        raise _unusable(path, "written", exc) from exc
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as exc:
        path.unlink(missing_ok=True)
        raise _unusable(path, "written", exc) from exc


def read(path: Path) -> PrivateKey:
    """Read a key file.

    Raises
    ------
    StoreError
        If it cannot be read, or others may read it too.
    DocumentError
        If it holds no key. The message never contains what it holds.
    """
    try:
        with path.open("rb") as file:
            shared = os.name != "nt" and os.fstat(file.fileno()).st_mode & 0o077
            text = file.read(_LARGEST)
    except (OSError, ValueError) as exc:
        raise _unusable(path, "read", exc) from exc
    try:
        key = _parse(parse_json(text.decode("utf-8")))
    except (DocumentError, ReportError, UnicodeDecodeError) as exc:
        reason = f"it holds no sealing key ({_told(exc)})"
        raise DocumentError(f"{path}: {reason}; give a file of `sealing-key create`") from None
    if shared:
        raise StoreError(f"{path} is a private key that others may read; chmod 600 {path}")
    return key


def _parse(document: object) -> PrivateKey:
    if not isinstance(document, dict) or set(document) != _FIELDS:
        raise DocumentError(f"its fields must be {', '.join(sorted(_FIELDS))}")
    if type(document["format"]) is not int or document["format"] != FORMAT:
        raise DocumentError("its format is unknown")
    texts = [document[name] for name in ("id", "suite", "public", "private")]
    if not all(isinstance(text, str) for text in texts):
        raise DocumentError("a field is not text")
    name, suite, public, secret = texts
    if suite not in SUITES or not ID.fullmatch(name):
        raise DocumentError("its id or its suite is malformed")
    key = PrivateKey(name, suite, decode_base64url(public), decode_base64url(secret))
    if len(key.secret) != _SEEDS[suite] or _public(suite, key.secret) != key.public:
        raise DocumentError("its halves do not belong together")
    return key


def _private(suite: str, secret: bytes) -> X25519PrivateKey | MLKEM768X25519PrivateKey:
    with extra("sealed"):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
        from cryptography.hazmat.primitives.hpke import MLKEM768X25519PrivateKey
    curve = X25519PrivateKey.from_private_bytes(secret[-32:])
    if suite == "x25519":
        return curve
    try:
        return MLKEM768X25519PrivateKey(MLKEM768PrivateKey.from_seed_bytes(secret[:-32]), curve)
    except UnsupportedAlgorithm as exc:
        raise MissingExtraError(f"this build of cryptography has no {suite}") from exc


def _public(suite: str, secret: bytes) -> bytes:
    """Return the public half, as a survey carries it."""
    with extra("sealed"):
        from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    _private(suite, secret)
    curve = X25519PrivateKey.from_private_bytes(secret[-32:]).public_key().public_bytes_raw()
    if suite == "x25519":
        return curve
    return MLKEM768PrivateKey.from_seed_bytes(secret[:-32]).public_key().public_bytes_raw() + curve


def _told(exc: Exception) -> str:
    """Say what is wrong with a file in words that quote nothing of it."""
    if isinstance(exc, ReportError):
        return "a half is not in base64url"
    return str(exc) if isinstance(exc, DocumentError) else "it is not UTF-8"


def _unusable(path: Path, what: str, exc: Exception) -> StoreError:
    reason = getattr(exc, "strerror", None) or "no name of a file"
    return StoreError(f"{path} cannot be {what} ({reason}); check the path")
