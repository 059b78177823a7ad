"""A client without file, network or thread, otherwise the one that an app ships.

What must never change: answers go through the engine of every client, with a store in memory; only
what carries requests away is another, and what the environment forbids is forgotten.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from deniable.protocol.errors import DeniableError, ParameterError
from deniable.protocol.survey import Survey

from ..client import Client
from ..database import Database
from ..engine import Engine
from ..status import Flushed
from ..transport import Transport
from .shelf import Shelf
from .witness import Recorded, Report, Witness

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
"""When a clock that nobody sets stands still: always the same, so that no test depends on today."""

_STEP = timedelta(hours=6)
"""Of the clock as it goes on: less than any report has between its departure and its end."""


class MemoryClient(Client):
    """A :class:`~deniable.client.Client` for the tests of an app.

    It touches no file, opens no socket and starts no thread, so that ``wait=False`` is done at
    once. It works whatever the environment says, ``CI`` included. A wrong value or an unknown
    question raises, for it is a mistake of the app.

    Parameters
    ----------
    survey : str, Path or Survey
        The one that the app ships.
    consent : "ask", "on" or "off"
        As of the client of the app.
    segment : str, optional
        One of the survey's.
    now : datetime
        What its clock shows, with a zone. It stands still until :meth:`advance` or
        :meth:`set_clock`.

    Attributes
    ----------
    recorded : list of Recorded
        Every right answer that the app gave while the person had not said no, its true value
        included; those that changed nothing, because the period had its answer, as well.

    Raises
    ------
    ParameterError
        An invalid survey, consent, segment or moment.

    Examples
    --------
    >>> client = MemoryClient("survey.toml")
    >>> client.opt_in()
    True
    >>> client.record("dark_mode", True)
    >>> client.recorded
    [Recorded(question='dark_mode', value=True)]
    >>> client.reports()
    []
    >>> client.advance(days=2)
    >>> [(report.question, report.period) for report in client.reports()]
    [('dark_mode', '2026-01-05')]
    >>> client.close()
    """

    def __init__(
        self,
        survey: str | os.PathLike[str] | Survey,
        *,
        consent: Literal["ask", "on", "off"] = "ask",
        segment: str | None = None,
        now: datetime = MONDAY,
    ) -> None:
        self.recorded: list[Recorded] = []
        self._shelf = Shelf()
        self._time = _StandingClock(_zoned(now))
        super().__init__(
            survey,
            "https://collector.invalid",
            "in-memory.db",  # a name that nothing is stored under
            consent,
            segment,
            strict=True,
            _clock=self._time,
            _environ={},
        )
        self._path = None

    def requests(self) -> list[dict[str, Any]]:
        """Return the requests that a collector would have received, oldest first.

        What is due leaves with :meth:`advance` and :meth:`~deniable.client.Client.flush`;
        ``flush(force=True)`` lets everything leave.

        Returns
        -------
        list of dict
            As they travel, but for their compression.

        Examples
        --------
        >>> client = MemoryClient("survey.toml", consent="on")
        >>> client.record("dark_mode", True)
        >>> client.flush(force=True)
        Flushed(sent=1, kept=0, dropped=0)
        >>> [request] = client.requests()
        >>> sorted(request)
        ['device', 'period', 'reports', 'survey']
        """
        return self._shelf.requests()

    def reports(self) -> list[Report]:
        """Return the reports in :meth:`requests`: what anybody but the device would have seen.

        A response is random, so a test that looks at one fails now and then.

        Examples
        --------
        >>> client = MemoryClient("survey.toml", consent="on")
        >>> client.record("dark_mode", True)
        >>> client.advance(days=2)
        >>> [report] = client.reports()
        >>> report.response in (0, 1)
        True
        """
        return [
            Report(request["period"], report["question"], report["response"])
            for request in self._shelf.requests()
            for report in request["reports"]
        ]

    def advance(self, *, days: float = 0, hours: float = 0) -> None:
        """Let time pass, and what becomes due meanwhile leave, as in an app that runs on.

        A day's reports have left when two more days have passed; a week's, after nine.

        Raises
        ------
        ParameterError
            If they are no numbers, or time would go back: that is :meth:`set_clock`.

        Examples
        --------
        >>> client = MemoryClient("survey.toml", consent="on")
        >>> client.record("dark_mode", True)
        >>> client.advance(days=1)
        >>> client.record("dark_mode", True)
        >>> client.advance(days=2)
        >>> [report.period for report in client.reports()]
        ['2026-01-05', '2026-01-06']
        """
        try:
            step = timedelta(days=days, hours=hours)
            until = self._time.now + step
        except (TypeError, ValueError, OverflowError):
            raise ParameterError("days, hours: must be numbers, of some thousand years") from None
        if step < timedelta(0):
            raise ParameterError("days, hours: time goes on; set_clock() sets it back")
        while self._time.now < until:
            self._time.now = min(self._time.now + _STEP, until)
            self._do(lambda engine: engine.flush(force=False, timeout=None), Flushed())

    def set_clock(self, now: datetime) -> None:
        """Set the clock, forward or back, as if the app had not run meanwhile.

        Raises
        ------
        ParameterError
            If it is no moment, or has no zone.

        Examples
        --------
        >>> client = MemoryClient("survey.toml", consent="on")
        >>> client.set_clock(MONDAY.replace(year=2019))
        >>> client.record("dark_mode", True)
        >>> client.status().dropped
        {'clock': 1}
        """
        self._time.now = _zoned(now)

    def _start(self, transport: Transport | None = None) -> Engine:
        """Put the engine together in memory, whatever the app would send with."""
        if self._setting is None:
            raise DeniableError("the survey could not be loaded")
        return Witness(self._setting, self._shelf, Database(None), self._fail, self.recorded)


@dataclass
class _StandingClock:
    """A clock that stands still until it is set."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


def _zoned(moment: datetime) -> datetime:
    if not isinstance(moment, datetime):
        raise ParameterError("now: must be a datetime, with a zone")
    if moment.utcoffset() is None:
        raise ParameterError("now: the moment has no zone; give it one, such as tzinfo=UTC")
    return moment
