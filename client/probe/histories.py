"""Devices that live through a horizon for an audit: answers by period, a restart, and the reports.

What must never change: as in :mod:`.rehearsal`, a device here runs the code of one in the field.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from deniable.protocol.horizon import Horizon
from deniable.protocol.periods import parse_period
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey

from ..client import Client
from ..pacing import plausible
from .rehearsal import NOWHERE, Hand, rows_of


def passable(question: Question, horizon: Horizon) -> bool:
    """Return whether clocks that a client believes can go through a question's horizon."""
    return all(plausible(_noon(question, horizon, t)) for t in (1, horizon.periods))


def go_through(
    survey: Survey,
    question: Question,
    horizon: Horizon,
    store: Path,
    answers: Sequence[tuple[int, Any]],
) -> list[list[Any]]:
    """Let a new device answer a question in some periods of its horizon, and send nothing.

    Half-way the app restarts.

    Parameters
    ----------
    answers : sequence of (int, value)
        Period 1, 2, .., and what is recorded in it; in the others nothing is.

    Returns
    -------
    list of [int, wire]
        Of each period with a report that waited to be sent while it counted, its response.
    """
    reports: dict[int, Any] = {}
    middle = len(answers) // 2
    clock = Hand(_noon(question, horizon, answers[0][0]))
    for part in (answers[:middle], answers[middle:]):
        with Client(survey, NOWHERE, store, "ask", strict=True, _clock=clock, _environ={}) as app:
            for t, value in part:
                clock.now = _noon(question, horizon, t)
                app.record(question.id, value)
                reports |= _waiting(store, question, horizon)
    return [[t, wire] for t, wire in sorted(reports.items())]


def _noon(question: Question, horizon: Horizon, t: int) -> datetime:
    return horizon.period(question.period, t).start + timedelta(hours=12)


def _waiting(store: Path, question: Question, horizon: Horizon) -> dict[int, Any]:
    sql = "SELECT question, period, response FROM queue JOIN ledger USING (number)"
    return {
        horizon.index(parse_period(period)) or 0: json.loads(response)
        for name, period, response in rows_of(store, sql)
        if name == question.id
    }
