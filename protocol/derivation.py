"""From the secret to the draws: which keyed bytes decide what, and under which name.

Every draw that must repeat comes from HMAC-SHA-512 keyed with the device's secret over a
sequence of fields, each prefixed with its length (:class:`~deniable.protocol.draws.KeyedDraws`
adds the leading ``deniable/1`` and the trailing counter):

=============  ================================================================================
setup          ``setup``, survey, question, version, hash, (empty), (empty)
permanent      ``permanent``, survey, question, version, hash, setup, memo key
pseudonym      ``device``, survey, period, and where a question travels alone: question, version
=============  ================================================================================

Texts are UTF-8; version and setup are decimal ASCII; hash is all 64 hex digits of the question's
privacy hash in ASCII; the memo key is the mechanism's. A pseudonym is the first 16 bytes of the
HMAC over the fields alone, without a counter.

What must never change: this table. A device that derived other bytes after an upgrade would
draw a second permanent response and spend its epsilon twice; known-answer tests pin it.
"""

from __future__ import annotations

from .digests import HMAC
from .draws import DERIVATION, FreshDraws, KeyedDraws, length_prefixed
from .question import Question
from .report import DEVICE_BYTES
from .response import Response

SECRET_BYTES = 32


def permanent_response(secret: bytes, question: Question, symbol: int) -> Response | None:
    """Return what this device remembers for ever about one symbol of one question.

    The setup is drawn without the symbol; the response from the setup and the memo key that the
    mechanism makes of both. The same arguments always give the same response.

    Returns
    -------
    Response or None
        None if the mechanism keeps silent.
    """
    mechanism = question.mechanism
    setup = mechanism.assign(_draws(secret, b"setup", question, b"", b""))
    memo = mechanism.memo(setup, (mechanism.symbol(symbol),), 0)
    if memo is None:
        return None
    keyed = _draws(secret, b"permanent", question, str(setup).encode(), memo)
    return mechanism.permanent(setup, memo, keyed)


def instantaneous_response(question: Question, permanent: Response) -> Response:
    """Return one report: the permanent response, through the second round if there is one."""
    return question.mechanism.instant(permanent, FreshDraws())


def pseudonym(
    secret: bytes, survey: str, period: str, alone: tuple[str, int] | None = None
) -> bytes:
    """Return the 16 bytes under which this device is known in one period, and no longer.

    Parameters
    ----------
    alone : (question id, version), optional
        Of a question that travels alone and so has a pseudonym of its own.
    """
    fields = [DERIVATION.encode(), b"device", survey.encode(), period.encode()]
    if alone is not None:
        question, version = alone
        fields += [question.encode(), str(version).encode()]
    return HMAC(secret, length_prefixed(*fields)).digest()[:DEVICE_BYTES]


def _draws(
    secret: bytes, purpose: bytes, question: Question, setup: bytes, memo: bytes
) -> KeyedDraws:
    return KeyedDraws(
        secret,
        purpose,
        question.survey.encode(),
        question.id.encode(),
        str(question.version).encode(),
        question.hash.encode(),
        setup,
        memo,
    )
