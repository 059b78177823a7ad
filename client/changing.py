"""An answer that may change, period after period: which periods are behind it, and what of them.

What must never change: an ended period in which nothing was recorded goes on with the answer
before, while its report counts; and periods are gone through in their order, each once.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from deniable.protocol.derivation import next_response
from deniable.protocol.mechanisms.dyadic import Memory
from deniable.protocol.periods import Period, midnight, period_at
from deniable.protocol.question import Question
from deniable.protocol.response import Response

from .memories import Memories
from .pacing import due_defaults


def index(question: Question, period: Period) -> int:
    """Return the number of a period within the question's horizon, 0 if it has none there."""
    return (question.horizon and question.horizon.index(period)) or 0


def ends(question: Question) -> datetime:
    """Return the moment from which no period of the question's horizon counts any more.

    That is when the last one closes in which it is asked: the horizon may outlast the question.
    """
    if question.horizon is None:
        raise ValueError("a question without horizon has no last period")
    expires = period_at(question.period, midnight(question.expires))
    return min(question.closes(question.horizon.last(question.period)), question.closes(expires))


def report(
    secret: bytes,
    question: Question,
    memories: Memories,
    symbol: int | None,
    period: Period,
    *,
    local: bool,
) -> Response | None:
    """Return what is reported of a period, None if nothing is, and remember what it left.

    In a transaction; ``symbol`` is None if nothing was recorded, ``local`` as for
    :meth:`~.memories.Memories.keep`.
    """
    memory, t = memories.of(question), index(question, period)
    response, after = next_response(secret, question, memory, symbol, t)
    if after is not None:
        memories.keep(question, after, ends(question), local=local)
    return response


def gone_on(
    secret: bytes, question: Question, memory: Memory | None, now: datetime
) -> Iterator[tuple[Period, Memory]]:
    """Yield each ended period that is due a report of the answer before, and the memory after it.

    Later ones than the memory has behind it, in their order.
    """
    if memory is None or question.horizon is None:
        return
    for period in due_defaults(question, midnight(question.horizon.start), now):
        t = index(question, period)
        if t <= memory.seen:
            continue
        response, after = next_response(secret, question, memory, None, t)
        if response is not None and after is not None:
            yield period, (memory := after)


def foreseen(
    secret: bytes, question: Question, memory: Memory | None, symbol: int, now: datetime
) -> Response | None:
    """Return what would be reported of a symbol recorded now; None if nothing would."""
    for _, after in gone_on(secret, question, memory, now):
        memory = after
    t = index(question, period_at(question.period, now))
    if memory is not None and t <= memory.seen:
        return None
    response, _ = next_response(secret, question, memory, symbol, t)
    return response
