"""What may happen to an app must not happen to its answers: restart, copy, upgrade, crowding.

Devices answer the same on every day, and before each day something happens. What must never
change: the secret is read from the store itself, and the expected response is derived from the
one of the first day.
"""

from __future__ import annotations

from collections.abc import Sequence

from deniable.protocol.question import Question
from deniable.protocol.survey import Survey

from .derivation import permanent_response
from .devices import Devices
from .findings import Finding
from .observed import Day, Life
from .wire import refusal, unpacked

_WORDS_OF = {
    "restart": "a restart",
    "copy": "a copy of the store",
    "upgrade": "an upgrade",
    "processes": "processes at the same time",
}
EVENTS = tuple(_WORDS_OF)


def check_events(
    devices: Devices, survey: Survey, count: int = 5, events: Sequence[str] = EVENTS
) -> list[Finding]:
    """Let devices live through a restart, a copy, an upgrade and processes at the same time.

    They answer the same on every day, so of every question of one round all reports must be
    equal, on the device and on its copy; of two rounds, the secret must be the same.
    """
    answers = {asked.id: asked.values[0] for asked in devices.describe().asked(survey.questions)}
    lives = devices.live([Day(answers), *(Day(answers, (event,)) for event in events)], count)
    findings = [_secret_stays(lives, day, event) for day, event in enumerate(events, 1)]
    for question in survey.questions.values():
        if question.mechanism.second is None and question.id in answers:
            findings.extend(
                _same_reports(question, answers[question.id], lives, day, event)
                for day, event in enumerate(events, 1)
            )
    return findings


def _secret_stays(lives: Sequence[Life], day: int, event: str) -> Finding:
    changed = sum(len({*life.secrets[day - 1], *life.secrets[day]}) > 1 for life in lives)
    if changed:
        line = (
            f"{changed} of {len(lives)} devices had another secret after {_WORDS_OF[event]}: "
            "every question is answered anew and its epsilon is spent again"
        )
        return Finding(event, None, False, line)
    line = f"{len(lives)} devices had the same secret after {_WORDS_OF[event]}"
    return Finding(event, None, True, line)


def _same_reports(
    question: Question, answer: object, lives: Sequence[Life], day: int, event: str
) -> Finding:
    seen = differing = 0
    for life in lives:
        must = permanent_response(life.secrets[0][0], question, question.encode(answer))
        for request in life.requests:
            if request.day == day and question.id in request.reports:
                seen += 1
                wire = request.reports[question.id]
                differing += refusal(question, wire) is not None or unpacked(question, wire) != must
    if differing:
        line = (
            f"{differing} of {seen} reports after {_WORDS_OF[event]} are not the permanent "
            "response to the same value: its epsilon is spent again"
        )
        return Finding(event, question.id, False, line)
    if not seen:
        line = f"no report was due after {_WORDS_OF[event]}"
        return Finding(event, question.id, None, line)
    line = f"{seen} reports after {_WORDS_OF[event]} repeat the permanent response"
    return Finding(event, question.id, True, line)
