"""From the secret to the draws: which keyed bytes decide what, and under which name.

Every draw that must repeat comes from HMAC-SHA-512 keyed with the device's secret over a
sequence of fields, each prefixed with its length (:class:`~deniable.protocol.draws.KeyedDraws`
adds the leading ``deniable/1`` and the trailing counter):

=============  ================================================================================
setup          ``setup``, survey, question, version, hash, (empty), (empty)
permanent      ``permanent``, survey, question, version, hash, setup, stream
pseudonym      ``device``, survey, period, and where a question travels alone: question, version
=============  ================================================================================

Texts are UTF-8; version and setup are decimal ASCII; hash is all 64 hex digits of the question's
privacy hash in ASCII; the stream is the mechanism's memo key, or what several memo keys have in
common. A pseudonym is the first 16 bytes of the
HMAC over the fields alone, without a counter.

What must never change: this table. A device that derived other bytes after an upgrade would
draw a second permanent response and spend its epsilon twice; known-answer tests pin it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .digests import HMAC
from .draws import DERIVATION, FreshDraws, KeyedDraws, length_prefixed
from .errors import ParameterError
from .question import Question
from .report import DEVICE_BYTES
from .response import Response

if TYPE_CHECKING:
    from .mechanisms.dyadic import Memory

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
    setup = _setup(secret, question)
    memo = question.mechanism.memo(setup, question.mechanism.symbol(symbol))
    return None if memo is None else _remembered(secret, question, setup, memo)


def next_response(
    secret: bytes, question: Question, memory: Memory | None, symbol: int | None, t: int
) -> tuple[Response | None, Memory | None]:
    """Return what this device reports of period t, and what it remembers, of a changing answer.

    For questions whose mechanism is a :class:`~deniable.protocol.mechanisms.dyadic.Dyadic`; see
    its ``step`` for the arguments.

    Returns
    -------
    response : Response or None
        None if the device reports nothing in this period.
    memory : Memory or None
    """
    from .mechanisms.dyadic import Dyadic

    mechanism = question.mechanism
    if not isinstance(mechanism, Dyadic):
        raise ParameterError(f"{mechanism.name} remembers no earlier periods")
    setup = _setup(secret, question)
    memo, after = mechanism.step(setup, memory, symbol, t)
    response = None if memo is None else _remembered(secret, question, setup, memo)
    return response, after


def _setup(secret: bytes, question: Question) -> int:
    return question.mechanism.assign(_draws(secret, b"setup", question, b"", b""))


def _remembered(secret: bytes, question: Question, setup: int, memo: bytes) -> Response:
    mechanism = question.mechanism
    stream = mechanism.stream(memo)
    keyed = _draws(secret, b"permanent", question, str(setup).encode(), stream)
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
    secret: bytes, purpose: bytes, question: Question, setup: bytes, stream: bytes
) -> KeyedDraws:
    return KeyedDraws(
        secret,
        purpose,
        question.survey.encode(),
        question.id.encode(),
        str(question.version).encode(),
        question.hash.encode(),
        setup,
        stream,
    )
