"""A request that was begun and waits for its commit, while no thread waits with it.

A server that knows of this begins a request, and answers it when :meth:`Begun.park` says so; else
as many threads as there are connections would wait for a commit, and then for each other. Any
other server lets one thread do both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deniable.protocol.periods import Period

from .documents import Rejection
from .shuffler import Submission
from .tickets import Ticket

BEGUN = "deniable.begun"
"""Under which an application has what begins a request, and a request what was begun."""


@dataclass(frozen=True, slots=True)
class Intake:
    """A request that was understood; no ticket if there is nothing to commit."""

    period: Period
    submission: Submission
    rejections: list[Rejection]
    ticket: Ticket | None


class Begun:
    """How far a request came.

    Parameters
    ----------
    begin : callable
        Understands the request; called at once.
    finish : callable
        Returns the body of a 200, when what it says is durable; called once.
    """

    def __init__(self, begin: Callable[[], Intake], finish: Callable[[Intake], bytes]) -> None:
        self._finish = finish
        self._intake: Intake | None = None
        self._error: Exception | None = None
        self._body = b""
        try:
            self._intake = begin()
        except Exception as exc:
            self._error = exc

    def park(self, resume: Callable[[], None]) -> bool:
        """Have a call made when the request can be answered; False if that is now."""
        if self._intake is None or self._intake.ticket is None:
            return False
        self._intake.ticket.when_settled(resume)
        return True

    def check_patience(self) -> None:
        """Have the request answered if it has waited for too long."""
        if self._intake is not None and self._intake.ticket is not None:
            self._intake.ticket.check_patience()

    def body(self) -> bytes:
        """Return the body of a 200, or raise what the request is refused with."""
        if self._intake is not None:
            intake, self._intake = self._intake, None
            try:
                self._body = self._finish(intake)
            except Exception as exc:
                self._error = exc
        if self._error is not None:
            raise self._error
        return self._body
