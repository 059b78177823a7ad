"""Answers that change: does a device report what its secret and its history must give?

Devices go through the horizon of a question, with answers that change more often than they may,
periods in which nothing is recorded, and a restart. What must never change: what is expected is
derived here (:mod:`.derivation`), of the whole history; and a report too many or too few counts as
much as a wrong one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from deniable.protocol.horizon import Horizon
from deniable.protocol.mechanisms.dyadic import Memory
from deniable.protocol.periods import midnight, period_at
from deniable.protocol.question import Question
from deniable.protocol.response import Response
from deniable.protocol.specimens import specimens
from deniable.protocol.survey import Survey

from .derivation import next_response
from .devices import Devices
from .findings import Finding
from .memo import check_hashes
from .observed import History
from .wire import refusal, unpacked

Plan = Sequence[tuple[int, object]]
"""In which periods something is recorded, and what."""

_CLOSE = 8
"""So many periods follow each other; of the others, those in which a level first reports."""

_STRIDES = {"day": 150, "week": 21, "month": 4}
"""Periods between two at most: a client believes no clock that leaps further than 366 days."""

_MOST = 40
"""Periods in which a device is asked at most: of a longer horizon, the first ones."""

_DEVICES = 40


def audit_histories(devices: Devices, survey: Survey, count: int = _DEVICES) -> list[Finding]:
    """Check the questions with a horizon; those that resolve to something else no further."""
    changing = {name: each for name, each in survey.questions.items() if each.horizon is not None}
    findings = check_hashes(devices, replace(survey, questions=changing))
    for finding in findings:
        changing.pop(str(finding.question))
    return findings + check_histories(devices, replace(survey, questions=changing), count)


def check_histories(devices: Devices, survey: Survey, count: int) -> list[Finding]:
    """Let devices go through horizons, and compare reports with what their secrets must give."""
    found = []
    for question in survey.questions.values():
        if question.horizon is not None:
            planned = plans(question, question.horizon, count)
            lived = devices.histories(question.id, planned)
            found.append(_of_question(question, question.horizon, planned, lived))
    return found


def plans(question: Question, horizon: Horizon, count: int) -> list[Plan]:
    """Return a history for each device, which leaves out some of the periods."""
    chooser = random.Random(count)
    values = specimens(question)
    periods = _periods(question, horizon)
    planned: list[Plan] = []
    for _ in range(count):
        kept = [t for at, t in enumerate(periods) if at % 2 or chooser.random() < 0.8]
        kept = kept or periods[:1]
        places = [chooser.randrange(len(values)) for _ in kept]
        if question.range is not None:
            places = [*sorted(places)[:-1], places[-1]]
        planned.append([(t, values[place]) for t, place in zip(kept, places, strict=True)])
    return planned


def _periods(question: Question, horizon: Horizon) -> list[int]:
    """Return in which periods devices may be asked: close ones, and each level's first.

    None in which the question has expired.
    """
    expires = horizon.index(period_at(question.period, midnight(question.expires)))
    last, stride = expires or horizon.periods, _STRIDES[question.period]
    spread = {*range(1, min(_CLOSE, last) + 1), *range(stride, last + 1, stride)}
    firsts = {1 << level for level in range(last.bit_length())}
    return sorted(spread | firsts)[:_MOST]


def _of_question(
    question: Question, horizon: Horizon, planned: Sequence[Plan], lived: Sequence[History]
) -> Finding:
    if not lived:
        line = "no client believes a clock that goes through the horizon: not audited"
        return Finding("history", question.id, None, line)
    levels: set[int] = set()
    wrong = reports = 0
    for plan, device in zip(planned, lived, strict=True):
        must = expected(device.secret, question, horizon, plan)
        levels.update(response.row for response in must.values())
        wrong += _differences(question, must, device)
        reports += len(must)
    if wrong:
        line = (
            f"{wrong} of {reports} reports of {len(lived)} devices are not what their secrets give "
            "for the history of answers: bits are drawn anew, or what was said is forgotten"
        )
        return Finding("history", question.id, False, line)
    line = (
        f"{reports} reports of {len(lived)} devices, of {len(levels)} of "
        f"{horizon.periods.bit_length()} levels, are what the secrets give for the history of "
        "answers, over a restart"
    )
    return Finding("history", question.id, True, line)


def _differences(question: Question, must: Mapping[int, Response], device: History) -> int:
    """Return of how many periods there is another report, one too many or none."""
    sent = {
        t: unpacked(question, wire) if refusal(question, wire) is None else None
        for t, wire in device.reports.items()
    }
    return sum(sent.get(t) != must.get(t) or t not in must for t in {*sent, *must})


def expected(
    secret: bytes, question: Question, horizon: Horizon, plan: Plan
) -> dict[int, Response]:
    """Return what a device with this secret must report, by period.

    A period in which nothing was recorded goes on with the answer before, if its reports still
    count when the next one is recorded.
    """
    reports: dict[int, Response] = {}
    memory: Memory | None = None
    for at, value in plan:
        now = horizon.period(question.period, at).start + timedelta(hours=12)
        for t in range(memory.seen + 1 if memory else at, at + 1):
            if t < at and question.closes(horizon.period(question.period, t)) <= now:
                continue
            symbol = question.encode(value) if t == at else None
            response, memory = next_response(secret, question, memory, symbol, t)
            if response is not None:
                reports[t] = response
    return reports
