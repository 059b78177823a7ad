"""Encrypts responses for the analyst, so that the collector cannot read them.

What must never change: a response to a sealed question is encrypted when it is recorded, before
anything of it is kept, to the one active key of the survey that ships in the app.
"""

from __future__ import annotations

from collections.abc import Callable

from deniable.protocol.errors import DeniableError, MissingExtraError, ParameterError
from deniable.protocol.question import Question
from deniable.protocol.response import Response, Wire
from deniable.protocol.sealing import SealedResponse, SealingKey, pack_plain, seal_info
from deniable.protocol.survey import Survey

Seal = Callable[[bytes, bytes], bytes]
"""From a plaintext and its info to the encapsulation and the ciphertext."""

_X25519_BYTES = 32
_MISSING = "cryptography is not installed, or too old; pip install 'deniable[sealed]'"


class Sealer:
    """Seals the responses of one survey.

    Attributes
    ----------
    fault : DeniableError or None
        Why it cannot, so far as that is known; None of a survey that seals nothing.
    """

    def __init__(self, survey: Survey) -> None:
        self._key = survey.active_key
        self._seal: Seal | None = None
        needed = any(question.sealed for question in survey.questions.values())
        self.fault: DeniableError | None = None
        if needed and not _installed():
            self.fault = MissingExtraError(_MISSING)

    def ready(self) -> bool:
        """Return whether responses can be sealed; loads what it takes the first time."""
        if self._seal is None and self.fault is None and self._key is not None:
            try:
                self._seal = _loaded(self._key)
            except DeniableError as exc:
                self.fault = exc
        return self._seal is not None

    def seal(
        self, question: Question, period: str, segment: str | None, response: Response
    ) -> tuple[str, Wire]:
        """Return the id of the key and the wire form of a sealed response; call when ready."""
        if self._seal is None or self._key is None:
            raise MissingExtraError(_MISSING)
        key_id = self._key.id
        info = seal_info(question, period, segment, key_id)
        sealed = self._seal(pack_plain(question, response), info)
        return key_id, SealedResponse(key_id, sealed).pack()


def _installed() -> bool:
    """Return whether the library is there, without loading it."""
    from importlib.util import find_spec

    try:
        return find_spec("cryptography.hazmat.primitives.hpke") is not None
    except (ImportError, ValueError):
        return False


def _loaded(key: SealingKey) -> Seal:
    """Return what seals for a key, after one trial.

    Raises
    ------
    MissingExtraError
        If the library is absent, or cannot do the key's suite.
    ParameterError
        If the key is none of its suite.
    """
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
        from cryptography.hazmat.primitives.hpke import (
            AEAD,
            KDF,
            KEM,
            MLKEM768X25519PublicKey,
            Suite,
        )
    except ImportError:
        raise MissingExtraError(_MISSING) from None
    try:
        public: X25519PublicKey | MLKEM768X25519PublicKey
        public = X25519PublicKey.from_public_bytes(key.public[-_X25519_BYTES:])
        suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
        if key.suite == "mlkem768-x25519":
            lattice = MLKEM768PublicKey.from_public_bytes(key.public[:-_X25519_BYTES])
            public = MLKEM768X25519PublicKey(lattice, public)
            suite = Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
        suite.encrypt(b"", public, b"")
    except UnsupportedAlgorithm:
        raise MissingExtraError(f"this build of cryptography has no {key.suite}") from None
    except ValueError:
        text = f"sealing_keys: {key.id} is no public key of {key.suite}; copy it anew"
        raise ParameterError(text) from None
    return lambda plaintext, info: suite.encrypt(plaintext, public, info)
