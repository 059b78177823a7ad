"""Same value, same permanent response: does every device send what its secret must give?

Devices answer, change their answer and come back to it; between them they give every value its
turn. What must never change: the expected response is derived here (:mod:`.derivation`), never
asked of the client; and a device that sends nothing accuses nobody, unless others send.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from deniable.protocol.question import Question
from deniable.protocol.specimens import specimens
from deniable.protocol.survey import Survey

from .blurred import Reported, as_blurred, repeats
from .derivation import permanent_response
from .devices import Devices
from .findings import Finding
from .happenings import check_events
from .independence import check_independence
from .observed import Answers, Device
from .plans import plans, symbols_of
from .stream import check_draws
from .wire import refusal, unpacked


def check_derivation(devices: Devices, survey: Survey, count: int = 200) -> list[Finding]:
    """Let devices live, and compare what they send with what their secrets must give.

    Their values change from day to day and come back, so that a permanent response that is drawn
    again, or a setup that depends on the value, shows. Of mechanisms of two rounds, reports must
    agree with the permanent response, and with each other, as often as the second round lets
    them; a sound client fails each with odds of 1e-9.
    """
    planned = plans(devices.describe().asked(survey.questions), count)
    lived = devices.lives(planned)
    findings = [_secrets(lived)]
    for question in survey.questions.values():
        findings.extend(_of_question(question, planned, lived))
    findings.extend(check_independence(survey, lived, range(count)))
    return findings


def _secrets(lived: Sequence[Device]) -> Finding:
    different = len({device.secret for device in lived})
    if different < len(lived):
        line = f"{len(lived)} devices have only {different} secrets"
        return Finding("secrets", None, False, line)
    return Finding("secrets", None, True, f"{len(lived)} devices have as many secrets")


def _of_question(
    question: Question, planned: Sequence[Sequence[Answers]], lived: Sequence[Device]
) -> Iterator[Finding]:
    everything = list(_answers(question, planned, lived))
    sent = [each for each in everything if each[3] is not None]
    if not sent:
        line = "no device sent a report, so what devices remember was not audited"
        yield Finding("derivation", question.id, None, line)
        return
    yield from _silent(question, len(everything) - len(sent), len(everything))
    yield from refused(question, [wire for *_, wire in sent])
    reports = [
        Reported(
            device,
            day,
            symbol,
            permanent_response(lived[device].secret, question, symbol),
            unpacked(question, wire),
        )
        for device, day, symbol, wire in sent
        if refusal(question, wire) is None
    ]
    if question.mechanism.second is None:
        yield _as_derived(question, reports)
    else:
        yield as_blurred(question, reports)
        yield from repeats(question, reports)
    if question.mechanism.shape.rows > 1:
        yield _one_row(question, reports)


def _answers(
    question: Question, planned: Sequence[Sequence[Answers]], lived: Sequence[Device]
) -> Iterator[tuple[int, int, int, Hashable]]:
    """Yield device, day, symbol and report, where one is due; None is sent for none."""
    for device, (days, lives) in enumerate(zip(planned, lived, strict=True)):
        symbols = symbols_of(question, days) if question.id in days[0] else []
        sent = lives.reports.get(question.id, (None,) * len(symbols))
        for day, (symbol, wire) in enumerate(zip(symbols, sent, strict=True)):
            once_before = question.period == "once" and day > 0
            silent = permanent_response(lives.secret, question, symbol) is None
            if not once_before and not (silent and wire is None):
                yield device, day, symbol, wire


def _silent(question: Question, silent: int, due: int) -> Iterator[Finding]:
    if silent:
        line = (
            f"devices that were asked sent nothing {silent} of {due} times, and a report the "
            "others: silence tells"
        )
        yield Finding("responses", question.id, False, line)


def refused(question: Question, wires: Sequence[Hashable]) -> Iterator[Finding]:
    """Yield a violation if some responses are none: what is in them is not what was promised."""
    why = [reason for wire in wires if (reason := refusal(question, wire)) is not None]
    if why:
        line = f"{len(why)} of {len(wires)} are responses that a collector would refuse: {min(why)}"
        yield Finding("responses", question.id, False, line)


def _as_derived(question: Question, reports: Sequence[Reported]) -> Finding:
    wrong = [report for report in reports if report.must != report.sent]
    k = len(specimens(question))
    if wrong:
        answers = len({report.symbol for report in wrong})
        line = (
            f"{len(wrong)} of {len(reports)} reports, for {answers} of {k} answers, are not what "
            "the device's secret gives for the value: its permanent response is not permanent, "
            "not random, or shared with something else"
        )
        return Finding("derivation", question.id, False, line)
    answers = len({report.symbol for report in reports})
    line = f"{len(reports)} reports of {answers} of {k} answers are what the secrets give"
    return Finding("derivation", question.id, True, line)


def _one_row(question: Question, reports: Sequence[Reported]) -> Finding:
    rows: dict[int, set[int]] = {}
    for report in reports:
        rows.setdefault(report.device, set()).add(report.sent.row)
    moved = sum(len(each) > 1 for each in rows.values())
    if moved:
        line = f"{moved} of {len(rows)} devices changed their public setup with their value"
        return Finding("setup", question.id, False, line)
    line = f"{len(rows)} devices kept their public setup while their value changed"
    return Finding("setup", question.id, True, line)


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
    if all(finding.kept for finding in findings) and survey.questions:
        findings += check_derivation(devices, survey, count)
        findings += check_events(devices, survey, lives)
    return findings
