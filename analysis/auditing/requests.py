"""Every byte of a request: made a second time, and compared with what a collector received.

An answer can travel beside its report: as a field more, a segment, a header, an order of reports,
a report sent twice, a pseudonym that is not derived. What must never change: the whole request
is made again from the device's secret and the documented form, and anything else is a violation.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniable.protocol.errors import ParameterError
from deniable.protocol.limits import BODY_SIZES
from deniable.protocol.periods import parse_period
from deniable.protocol.question import Question, canonical_json
from deniable.protocol.report import report_document, request_document
from deniable.protocol.response import Wire
from deniable.protocol.survey import Survey

from .derivation import permanent_response, pseudonym
from .devices import Devices
from .findings import Finding
from .observed import Answers, Day, Request
from .plans import plans
from .wire import refusal, unpacked

DEVICES = 8

_PATH = "/v1/reports"
_HEADERS = (
    ("User-Agent", "deniable/1"),
    ("Accept", "application/json"),
    ("Accept-Encoding", "identity"),
    ("Content-Type", "application/json"),
    ("Content-Encoding", "gzip"),
)
_HERE = re.compile(r"127\.0\.0\.1:[0-9]+")
_GZIP = bytes.fromhex("1f8b08040000000002ff")
_FILLER = b"pd"
_LARGEST = 2**24


@dataclass(frozen=True, slots=True)
class _Sender:
    """Who sent: the secret of that day, and the answers of the period; None for defaults."""

    survey: Survey
    secret: bytes
    answers: Answers | None

    def alone(self, names: Mapping[str, object]) -> Question | None:
        """Return the question that must be the only one of its request."""
        for name in names:
            question = self.survey.questions[name]
            if question.period == "once" or self.survey.batch == "question":
                return question
        return None


def check_requests(devices: Devices, survey: Survey, *, count: int = DEVICES) -> list[Finding]:
    """Let devices answer differently, and make each of their requests again.

    Parameters
    ----------
    devices : Devices
        The audited environment.
    survey : Survey
        The same survey, as this environment reads it.
    count : int
        How many devices; each sends on four days, over HTTP, to a collector on this machine.
    """
    asked = devices.describe().asked(survey.questions)
    if not asked:
        return []
    planned = plans(asked, count)
    lives = devices.courses([[Day(answers) for answers in days] for days in planned])
    wrong: Counter[str] = Counter()
    total = 0
    for days, life in zip(planned, lives, strict=True):
        sent = list(_once(life.everything))
        total += len(sent)
        for request in sent:
            answers = None if request.of is None else days[request.of]
            sender = _Sender(survey, life.secrets[request.day][0], answers)
            wrong.update(why for why in [_odd(sender, request)] if why is not None)
        wrong.update(_twice(sent))
    orders = {tuple(name for name, _ in r.headers) for life in lives for r in life.everything}
    if not wrong and len(orders) > 1:
        wrong["its headers are not in the order of every device"] = len(orders) - 1
    if wrong:
        why, times = wrong.most_common(1)[0]
        more = f"; and {len(wrong) - 1} other faults" if len(wrong) > 1 else ""
        line = (
            f"{wrong.total()} of {total} requests are not what was promised: {why} ({times}){more}"
        )
        return [Finding("requests", None, False, line)]
    line = f"{total} requests of {count} devices are, byte by byte, what their secrets give"
    return [Finding("requests", None, True, line)]


def _once(sent: Sequence[Request]) -> Iterator[Request]:
    """Yield requests without those that are sent again on a later day, byte by byte the same.

    That is what a device does that had no reply.
    """
    first: dict[bytes, int] = {}
    for request in sent:
        if first.setdefault(request.body, request.day) == request.day:
            yield request


def _twice(sent: list[Request]) -> Iterator[str]:
    reports = Counter((request.period, name) for request in sent for name in request.reports)
    for (_, name), times in reports.items():
        if times > 1:
            yield f"{name} was reported {times} times in one period"


def _odd(sender: _Sender, request: Request) -> str | None:
    """Return what is wrong with a request; None for nothing."""
    text = _text(request.body)
    if text is None:
        return "the compressed body carries more than a document, or is not of one of the sizes"
    questions = sender.survey.questions
    if sender.answers is None and not request.reports.keys() <= questions.keys():
        return _around(request)  # defaults of questions that are not audited
    return (
        _around(request)
        or _misplaced(sender, request)
        or _refused(sender, request)
        or _difference(sender, request, text)
    )


def _misplaced(sender: _Sender, request: Request) -> str | None:
    if sender.answers is None:
        return None if _of_defaults(sender, request) else "it names a period without an answer"
    if not request.reports or not request.reports.keys() <= sender.answers.keys():
        return "its reports are not of the questions that were answered"
    return None


def _refused(sender: _Sender, request: Request) -> str | None:
    for name, wire in request.reports.items():
        why = refusal(sender.survey.questions[name], wire)
        if why is not None:
            return f"a response that a collector would refuse: {why}"
    return None


def _around(request: Request) -> str | None:
    """Return what is wrong with the path and the headers."""
    if request.path != _PATH:
        return f"its path is not {_PATH}"
    host = dict(request.headers).get("Host", "")
    expected = [("Host", host), *_HEADERS, ("Content-Length", str(len(request.body)))]
    known = {name for name, _ in expected}
    for name, _ in request.headers:
        if name not in known:
            return f"it has a header {name[:40]!r}"
    if sorted(request.headers) != sorted(expected) or not _HERE.fullmatch(host):
        return "its headers are not those of every device"
    return None


def _text(body: bytes) -> bytes | None:
    """Return the text of a body whose gzip tells nothing of the device.

    Its header is the same on all of them, and an extra field of zeros fills it up to a few sizes.
    """
    extra = int.from_bytes(body[10:12], "little")
    zeros = max(0, extra - 4)
    filler = _FILLER + zeros.to_bytes(2, "little") + bytes(zeros)
    if body[:10] != _GZIP or body[12 : 12 + extra] != filler or len(body) not in BODY_SIZES:
        return None
    reader = zlib.decompressobj(31)
    try:
        text = reader.decompress(body, _LARGEST)
    except zlib.error:
        return None
    return text if reader.eof and not reader.unused_data else None


def _of_defaults(sender: _Sender, request: Request) -> bool:
    try:
        kind = parse_period(request.period).kind
    except ParameterError:
        return False
    questions = [sender.survey.questions[name] for name in request.reports]
    return bool(questions) and all(q.default is not None and q.period == kind for q in questions)


def _expected(sender: _Sender, request: Request) -> bytes:
    """Return the text that the documents of devices have: canonical JSON, reports by name."""
    survey, period = sender.survey, request.period
    reports = []
    for name in sorted(request.reports):
        question = survey.questions[name]
        response = _response(sender, question, request)
        if response is not None:
            about = (name, question.version, question.wire_hash)
            reports.append(report_document(*about, response))
    device = pseudonym(sender.secret, survey.id, period, sender.alone(request.reports))
    return canonical_json(request_document(survey.id, period, None, device, reports)).encode()


def _response(sender: _Sender, question: Question, request: Request) -> Wire | None:
    """Return the response that must be there; of two rounds, the one that is."""
    wire = request.reports[question.id]
    if question.mechanism.second is None:
        value = question.default if sender.answers is None else sender.answers[question.id]
        must = permanent_response(sender.secret, question, question.encode(value))
        return None if must is None else question.mechanism.shape.pack(must)
    return question.mechanism.shape.pack(unpacked(question, wire))


def _difference(sender: _Sender, request: Request, text: bytes) -> str | None:
    """Return the first thing that tells a document from the one that must be; None for nothing."""
    wanted = _expected(sender, request)
    if text == wanted:
        return None
    try:
        return _named(json.loads(text), json.loads(wanted))
    except (ValueError, LookupError, TypeError, AttributeError):
        return "its document is not of the documented form"


def _named(document: dict[str, Any], expected: dict[str, Any]) -> str:
    for name, value in document.items():
        if name not in expected:
            return f"it has a field {name[:40]!r}"
        if name != "reports" and value != expected[name]:
            return f"its {name} is not the one that its secret and the survey give"
    for found, wanted in zip(document["reports"], expected["reports"], strict=False):
        more = sorted(found.keys() - wanted.keys())
        if more:
            return f"a report has a field {more[0][:40]!r}"
        if found["question"] != wanted["question"]:
            return "its reports are not in the order of their names, each once"
        if found != wanted:
            return f"the report of {wanted['question']} is not what the secret and the survey give"
    if len(document["reports"]) != len(expected["reports"]):
        return "it has a report twice"
    return "its document is not in the canonical form"
