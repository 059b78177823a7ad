"""What any device answers, and keeps waiting, whatever a survey says."""

from __future__ import annotations

from datetime import datetime, timedelta

from deniable.protocol.limits import EPSILON_MAX, EPSILON_MIN, MAX_K, MAX_RESPONSE_BYTES
from deniable.protocol.periods import midnight
from deniable.protocol.question import Question

ROW_BYTES = 128
"""Of a report that waits, besides its response."""


def size(question: Question) -> int:
    """Return the most bytes that a response to the question has in the queue."""
    return ROW_BYTES + 2 * question.mechanism.shape.size


def expired(question: Question, now: datetime) -> bool:
    """Return whether the last day on which the question is asked is over."""
    return now >= midnight(question.expires + timedelta(days=1))


def within_limits(question: Question) -> bool:
    """Return whether a device may answer, whatever the survey says."""
    mechanism = question.mechanism
    return (
        mechanism.k <= MAX_K
        and mechanism.shape.size <= MAX_RESPONSE_BYTES
        and EPSILON_MIN <= question.epsilon <= EPSILON_MAX
    )
