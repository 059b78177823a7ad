"""What would be sent if a value were recorded now: for dialogs that ask, and for who looks."""

from __future__ import annotations

import os
from datetime import timedelta

from deniable.protocol.derivation import SECRET_BYTES
from deniable.protocol.report import report_document, request_document

from .answers import Answer
from .bodies import device_of
from .recorder import Recorder
from .status import Preview
from .store import Device


def foresee(recorder: Recorder, answer: Answer, device: Device, segment: str | None) -> Preview:
    """Return what would be sent for an answer; nothing is kept, sent or spent.

    The permanent response is the one that would be sent, since it never changes; in a period in
    which a changing answer is not reported, there is none. A second round,
    and the encryption of a sealed response, are drawn anew.
    """
    question, period = answer.question, answer.period
    secret = device.secret or os.urandom(SECRET_BYTES)
    outcome = recorder.foresee(answer)
    permanent = recorder.foreseen(secret, answer, outcome)
    reports = []
    if permanent is not None and outcome != "cannot_seal":
        wire, _ = recorder.sent_form(question, period, permanent)
        reports = [report_document(question.id, question.version, question.wire_hash, wire)]
    alone = (question.id, question.version) if recorder.alone(question) else ("", 0)
    name = device_of(secret, question.survey, (period.key, *alone))
    earliest = max(
        answer.now if period.kind == "once" else period.end, device.born + timedelta(days=1)
    )
    leaves = outcome == "queued" and reports
    return Preview(
        outcome,
        question.id,
        question.version,
        period.key,
        question.epsilon,
        question.epsilon if question.epsilon_first is None else question.epsilon_first,
        earliest if leaves else None,
        earliest + recorder.window(question, earliest) if leaves else None,
        request_document(question.survey, period.key, segment, name, reports),
        device.secret is None,
    )
