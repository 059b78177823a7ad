"""Same value, same permanent response: whatever happens to the app, its store and its survey.

Three things are asked of the installed client. Are its draws exactly those that the documented
bytes give? Does every device send what its secret and the question must give, and nothing else?
Does that survive a restart, a copy of the store, an upgrade and processes at the same time? The
first has no statistics in it: thresholds are set to each word and to one more. What must never
change: the expected response is derived here (:mod:`.derivation`), never asked of the client.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import Literal

from deniable.protocol.proofs.branches import outcomes
from deniable.protocol.question import Question
from deniable.protocol.response import Response
from deniable.protocol.survey import Survey

from .derivation import keyed_words, permanent_response, public_words, words_of
from .devices import Devices
from .findings import ODDS, Finding, surprise
from .happenings import check_events
from .observed import Answers, Device, Value
from .wire import unpacked

_WORDS = 64
_MOST_LAW = 8
_MOST_PAIRS = 1000


def check_draws(devices: Devices) -> Finding:
    """Compare the installed draws with the words that the documented bytes give, one by one.

    The i-th chance is asked for the i-th word w, where it must say no, and for w + 1, where it
    must say yes. That leaves no threshold that is off, no word that is used twice, and none
    that shares bits with its neighbour.
    """
    material = [bytes(range(7, 39)), b"audit", b"", b"draws"]
    stream = b"".join(public_words_as_bytes([b"stream"], _WORDS))
    sources = {
        "keyed": (material, list(islice(keyed_words(material[0], material[1:]), _WORDS))),
        "public": (material, list(islice(public_words(material), _WORDS))),
        "fresh": ([stream], list(words_of(stream))),
    }
    for kind, (known, words) in sources.items():
        below = devices.draws(kind, known, [("chance", word) for word in words])
        above = devices.draws(kind, known, [("chance", word + 1) for word in words])
        uniform = devices.draws(kind, known, [("below", 1000) for _ in words[:-1]])
        as_words = uniform == [word % 1000 for word in words[:-1]]
        if any(below) or not all(above) or not as_words:
            line = f"the {kind} draws are not those of the documented random bytes"
            return Finding("draws", None, False, line)
    line = f"keyed, public and fresh draws decide exactly as {_WORDS} known words say"
    return Finding("draws", None, True, line)


def public_words_as_bytes(fields: Sequence[bytes], count: int) -> Iterator[bytes]:
    """Yield public words as the bytes they are read from."""
    for word in islice(public_words(fields), count):
        yield word.to_bytes(8, "big")


def check_derivation(devices: Devices, survey: Survey, count: int = 200) -> list[Finding]:
    """Let devices live, and compare what they send with what their secrets must give.

    Their values change from day to day and come back, so that a permanent response that is drawn
    again, or a setup that depends on the value, shows. Of mechanisms of two rounds, reports must
    agree with the permanent response as often as the second round keeps it; a sound client fails
    with odds of 1e-9.
    """
    days = days_of(devices)
    lived = devices.lives(count, days)
    findings = [_secrets(lived)]
    for question in survey.questions.values():
        if question.mechanism.second is None:
            findings.append(_as_derived(question, days, lived))
        else:
            findings.append(_as_blurred(question, days, lived))
        if question.mechanism.shape.rows > 1:
            findings.append(_one_row(question, lived))
    findings.extend(check_independence(survey, lived))
    return findings


def days_of(devices: Devices) -> list[Answers]:
    """Return four days: the first value, one between, the last, and the first again."""
    questions = devices.describe().questions

    def on(day: int) -> dict[str, Value]:
        places = {q.id: (0, q.k // 2, q.k - 1, 0)[day] for q in questions}
        return {q.id: q.values[places[q.id]] for q in questions}

    return [on(day) for day in range(4)]


def _secrets(lived: Sequence[Device]) -> Finding:
    different = len({device.secret for device in lived})
    if different < len(lived):
        line = f"{len(lived)} devices have only {different} secrets"
        return Finding("secrets", None, False, line)
    return Finding("secrets", None, True, f"{len(lived)} devices have as many secrets")


def _responses(question: Question, device: Device) -> list[Response]:
    """Return the reports of a device; one that is not in the wire form is a fault elsewhere."""
    return [unpacked(question, wire) for wire in _sent(question, device) if wire is not None]


def _sent(question: Question, device: Device) -> tuple[Hashable, ...]:
    return device.reports.get(question.id, ())


def _pairs(
    question: Question, days: Sequence[Answers], lived: Sequence[Device]
) -> Iterator[tuple[Response | None, Response]]:
    """Yield, for every report, what the device must remember, and what it sent."""
    symbols = [question.encode(day[question.id]) for day in days]
    for device in lived:
        for symbol, wire in zip(symbols, _sent(question, device), strict=True):
            if wire is not None:
                yield permanent_response(device.secret, question, symbol), unpacked(question, wire)


def _as_derived(question: Question, days: Sequence[Answers], lived: Sequence[Device]) -> Finding:
    pairs = list(_pairs(question, days, lived))
    wrong = sum(must != sent for must, sent in pairs)
    if not pairs:
        return Finding("derivation", question.id, False, "no device sent a report")
    if wrong:
        line = (
            f"{wrong} of {len(pairs)} reports are not what the device's secret gives for the "
            "value: its permanent response is not permanent, or shared with something else"
        )
        return Finding("derivation", question.id, False, line)
    line = f"{len(pairs)} reports of {len(lived)} devices are what their secrets give"
    return Finding("derivation", question.id, True, line)


def _as_blurred(question: Question, days: Sequence[Answers], lived: Sequence[Device]) -> Finding:
    kept = float((question.mechanism.second or (Fraction(1),))[0])
    agreed = trials = 0
    for must, sent in _pairs(question, days, lived):
        if must is None or must.row != sent.row:
            line = "a device reports under another setup than its secret gives"
            return Finding("derivation", question.id, False, line)
        width = question.mechanism.shape.width if question.mechanism.shape.kind == "bits" else 1
        turned = (must.out ^ sent.out).bit_count() if width > 1 else int(must.out != sent.out)
        agreed += width - turned
        trials += width
    if not trials:
        return Finding("derivation", question.id, False, "no device sent a report")
    seen = f"{agreed} of {trials} reported places agree with what the secrets give, expected"
    line = f"{seen} {kept:.1%}"
    return Finding("derivation", question.id, surprise(agreed, trials, kept) > ODDS, line)


def _one_row(question: Question, lived: Sequence[Device]) -> Finding:
    rows = [{response.row for response in _responses(question, device)} for device in lived]
    moved = sum(len(each) > 1 for each in rows)
    if moved:
        line = f"{moved} of {len(lived)} devices changed their public setup with their value"
        return Finding("setup", question.id, False, line)
    line = f"{len(lived)} devices kept their public setup while their value changed"
    return Finding("setup", question.id, True, line)


def check_independence(survey: Survey, lived: Sequence[Device]) -> Iterator[Finding]:
    """Compare questions of the same mechanism: their noise must agree no more than by chance.

    The devices answered both with the same symbols. Only the first report is compared, and only
    where the chance of agreement can be computed and the devices are enough to tell.
    """
    questions = [q for q in survey.questions.values() if q.mechanism.k <= _MOST_LAW]
    pairs = [(a, b) for at, a in enumerate(questions) for b in questions[:at]]
    for one, other in pairs[:_MOST_PAIRS]:
        if one.mechanism != other.mechanism:
            continue
        by_chance = float(_agreement(one))
        same = sum(_first(one, device) == _first(other, device) for device in lived)
        if by_chance ** len(lived) * 2 > ODDS:
            continue
        kept = surprise(same, len(lived), by_chance) > ODDS
        line = (
            f"the first reports of {one.id} and {other.id} agree on {same} of {len(lived)} "
            f"devices, by chance {by_chance:.1%}"
        )
        yield Finding("independence", one.id, kept, line)


def _first(question: Question, device: Device) -> Hashable:
    return next(iter(_sent(question, device)), None)


def _agreement(question: Question) -> Fraction:
    """Return the probability that two independent devices with symbol 0 send the same."""
    mechanism = question.mechanism
    law: dict[Response, Fraction] = {}
    for setup, weight in outcomes(mechanism.assign).items():
        memo = mechanism.memo(setup, [mechanism.symbol(0)], 0)
        if memo is None:
            continue
        for response, mass in mechanism.law(setup, memo, _rounds(question)).items():
            law[response] = law.get(response, Fraction(0)) + weight * mass
    return sum((mass**2 for mass in law.values()), Fraction(0))


def _rounds(question: Question) -> Literal[1, 2]:
    return 1 if question.mechanism.second is None else 2


def check_hashes(devices: Devices, survey: Survey) -> list[Finding]:
    """Return the questions that the audited environment resolves to another privacy hash."""
    described = {question.id: question.hash for question in devices.describe().questions}
    line = (
        "the audited environment resolves the question to another privacy hash: to another "
        "mechanism or other thresholds than the survey asks for here"
    )
    return [
        Finding("hash", question.id, False, line)
        for question in survey.questions.values()
        if described.get(question.id) != question.hash
    ]


def audit_memo(
    devices: Devices, survey: Survey, *, count: int = 200, lives: int = 5
) -> list[Finding]:
    """Run every check of the memo; if draws or hashes differ, those that rest on them are left out.

    Parameters
    ----------
    devices : Devices
        The audited environment.
    survey : Survey
        The same survey, as this environment reads it.
    count : int
        Devices whose reports are derived once more.
    lives : int
        Devices that go through every event.
    """
    findings = [check_draws(devices), *check_hashes(devices, survey)]
    if all(finding.kept for finding in findings):
        findings += check_derivation(devices, survey, count)
        findings += check_events(devices, survey, lives)
    return findings
