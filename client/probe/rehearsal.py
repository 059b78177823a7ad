"""Devices that live for an audit as they live for their people, only faster.

Every one is a :class:`~deniable.client.Client` with a store of its own, the randomness of
production and a clock that is set; what is answered here is no person's. What must never change:
a device here runs the code that a device in the field runs, and nothing in an app loads this.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

from deniable.protocol import draws
from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import SCALE
from deniable.protocol.periods import midnight, period_at
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey

from ..client import Client
from ..pacing import plausible, utc_now

NOWHERE = "http://127.0.0.1:9"
"""Where the reports of devices that send nothing would go."""

Values = Mapping[str, Any]
"""What a device answers, by question."""

_STEP = timedelta(days=31)
"""Between two days of a device: another period of every kind."""

_BEGINNING = datetime(2020, 1, 1, tzinfo=UTC)
"""No client believes a clock that shows an earlier moment."""


@dataclass
class Hand:
    """A clock that stands where it is set."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


MOST_DAYS = 5
"""Days that a device of an audit lives at most."""


def moments(survey: Survey, count: int) -> list[datetime]:
    """Return moments in as many periods of every question, the last not long past.

    They lie before anything expires that is :func:`askable`. Questions asked once have one period
    only.

    Raises
    ------
    ParameterError
        If nothing is.
    """
    questions = [question for question in survey.questions.values() if askable(question)]
    if not questions:
        raise ParameterError("every question expired before a device could have answered it")
    last = min(utc_now(), *map(_last_noon, questions))
    return [last - _STEP * before for before in reversed(range(count))]


def askable(question: Question) -> bool:
    """Return whether clocks that a client believes leave a device days enough to answer on.

    Never of a question with a horizon, whose days are given.
    """
    if question.horizon is not None:
        return False
    last = min(utc_now(), _last_noon(question))
    return last - _STEP * (MOST_DAYS - 1) > _BEGINNING and plausible(last)


def _last_noon(question: Question) -> datetime:
    return midnight(question.expires) + timedelta(hours=12)


def live(survey: Survey, store: Path, days: Sequence[Values]) -> dict[str, list[Any]]:
    """Let a new device answer, day by day, and send nothing.

    Returns
    -------
    dict
        By question, for every day, the response in its wire form that waits to be sent, or None
        where there is none because the period had its answer before.

    Raises
    ------
    DeniableError
        If an answer is refused as wrong.
    """
    when = moments(survey, len(days))
    clock = Hand(when[0])
    reports: dict[str, list[Any]] = {name: [] for values in days for name in values}
    with Client(survey, NOWHERE, store, "ask", strict=True, _clock=clock, _environ={}) as client:
        for clock.now, values in zip(when, days, strict=True):
            for name, value in values.items():
                client.record(name, value)
            added = _waiting(survey, store, clock.now)
            for name, responses in reports.items():
                responses.append(added.pop(name, None))
    return {name: _once(survey, name, responses) for name, responses in reports.items()}


def _waiting(survey: Survey, store: Path, now: datetime) -> dict[str, Any]:
    """Return what waits of the periods that are not over; a default is of one that is."""
    rows = rows_of(store, "SELECT question, period, response FROM queue JOIN ledger USING (number)")
    return {
        name: json.loads(response)
        for name, period, response in rows
        if period == period_at(survey.questions[name].period, now).key
    }


def _once(survey: Survey, name: str, responses: list[Any]) -> list[Any]:
    """Keep the first report of a question that is asked once, which waits for days."""
    if survey.questions[name].period == "once":
        return [*responses[:1], *([None] * len(responses[1:]))]
    return responses


def secret_of(store: Path) -> str:
    """Return the secret of a device, in hex."""
    ((secret,),) = rows_of(store, "SELECT hex(secret) FROM device")
    return str(secret)


def rows_of(store: Path, sql: str) -> list[Any]:
    """Return what a query of a device's store gives."""
    with closing(sqlite3.connect(store)) as db:
        return db.execute(sql).fetchall()


def decided(
    kind: str, material: Sequence[bytes], calls: Sequence[tuple[str, int]]
) -> list[bool | int]:
    """Return what installed draws decide from bytes that the caller knows.

    Parameters
    ----------
    kind : "keyed", "public" or "fresh"
    material : sequence of bytes
        Secret and fields; the fields; or what stands for the operating system's randomness.
    calls : sequence of (str, int)
        ``("chance", threshold)`` or ``("below", n)``, one after the other.

    Raises
    ------
    ParameterError
        If there is no such kind.
    """
    with _randomness(b"".join(material)):
        if kind == "keyed":
            source: draws.Draws = draws.KeyedDraws(*material)
        elif kind == "public":
            source = draws.PublicDraws(*material)
        elif kind == "fresh":
            source = draws.FreshDraws()
        else:
            raise ParameterError("kind must be keyed, public or fresh")
        return [
            source.chance(number) if call == "chance" else source.below(number)
            for call, number in calls
        ]


@contextmanager
def _randomness(stream: bytes) -> Iterator[None]:
    """Let the operating system's randomness be these bytes."""
    before, given = os.urandom, BytesIO(stream)
    try:
        os.urandom = given.read
        yield
    finally:
        os.urandom = before


@contextmanager
def broken(survey: Survey) -> Iterator[None]:
    """Put a randomizer in place that decides nothing at random, so that responses tell the value.

    What speaks for the true value always happens and what speaks against it never does: the
    positive control of an audit, which it must catch.
    """
    kind = {name for q in survey.questions.values() for name in _favourable(q.mechanism.thresholds)}
    classes: tuple[Any, ...] = (draws.KeyedDraws, draws.FreshDraws)
    before = [cls.chance for cls in classes]

    def chance(self: object, threshold: int) -> bool:
        return threshold in kind or 2 * threshold >= SCALE

    try:
        for cls in classes:
            cls.chance = chance
        yield
    finally:
        for cls, method in zip(classes, before, strict=True):
            cls.chance = method


def _favourable(thresholds: Mapping[str, int]) -> Iterable[int]:
    """Return the thresholds under which a response speaks for its value."""
    return [threshold for name, threshold in thresholds.items() if name != "other_bit"]
