"""What the benchmark sends: two surveys of ten questions, and requests that answer all of them."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import Any

from deniable.protocol.report import device_name, report_document, request_document
from deniable.protocol.response import Response, Wire
from deniable.protocol.sealing import SUITES, SealedResponse, pack_plain
from deniable.protocol.survey import Survey, parse_survey

QUESTIONS = 10
_KEY = {"id": "k1", "suite": "x25519", "public": "CQ" + "A" * 41, "state": "active"}
"""The base point of the curve: a key like any other, but that nobody here seals for."""


def make_survey(name: str) -> Survey:
    """Ten questions, as an app might ask them: eight yes/no, two with sixteen choices.

    All are sealed in the survey called ``sealed``.
    """
    common: dict[str, Any] = {"version": 1, "ask": "?", "period": "day", "owner": "bench"}
    common |= {"expires": "2098-12-31", "epsilon": 2, "min_crowd": 1}
    head: dict[str, Any] = {"format": 1, "id": name, "max_epsilon": 100, "linkable": True}
    if name == "sealed":
        common |= {"sealed": True, "epsilon_first": 1}
        head["sealing_keys"] = [_KEY]
    questions: dict[str, Any] = {}
    for number in range(QUESTIONS):
        kind: dict[str, Any] = {"type": "boolean"}
        if number >= 8:
            choices = [str(choice) for choice in range(16)]
            kind = {"type": "choice", "choices": choices, "mechanism": "oue"}
        questions[f"question_{number}"] = common | kind
    return parse_survey({"survey": head, "questions": questions})


def today() -> str:
    """Return the name of the period that all answers are for."""
    return datetime.now(UTC).date().isoformat()


def make_reports(survey: Survey, questions: int = QUESTIONS) -> list[dict[str, Any]]:
    """Return a device's reports; a sealed one is as long as a real one, and random."""
    reports = []
    for number, question in enumerate(list(survey.questions.values())[:questions]):
        response = Response(number % 2 if number < 8 else 0b1010)
        wire: Wire = question.mechanism.shape.pack(response)
        if question.sealed:
            suite = SUITES[_KEY["suite"]]
            length = suite.encapsulation + len(pack_plain(question, response)) + suite.tag
            wire = SealedResponse(_KEY["id"], os.urandom(length)).pack()
        reports.append(report_document(question.id, question.version, question.wire_hash, wire))
    return reports


class Requests:
    """Requests that differ in the device alone, ready to be sent."""

    def __init__(self, survey: Survey, path: str) -> None:
        mark = "@" * 22
        document = request_document(survey.id, today(), None, mark, make_reports(survey))
        body = json.dumps(document, separators=(",", ":")).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._before, self._after = (head.encode() + body).split(mark.encode())

    def next(self) -> bytes:
        """Return the request of a new device."""
        return self._before + device_name(os.urandom(16)).encode() + self._after
