"""From what travelled back to a response."""

from __future__ import annotations

from collections.abc import Hashable

from deniable.protocol.errors import ReportError
from deniable.protocol.question import Question
from deniable.protocol.response import Response


def unpacked(question: Question, wire: Hashable) -> Response:
    """Return the response of a wire form in which lists are tuples.

    Raises
    ------
    ReportError
        If it is not the one wire form of a response to the question.
    """
    return question.mechanism.shape.unpack(list(wire) if isinstance(wire, tuple) else wire)


def refusal(question: Question, wire: Hashable) -> str | None:
    """Return why a collector would refuse a wire form; None if it would not."""
    try:
        unpacked(question, wire)
    except ReportError as exc:
        return str(exc)
    return None
