"""Which requests of one device can be linked, by name and by content.

A device has another pseudonym in every period, and a report that travels alone has its own. But
memoized content may recur, and whoever sees two requests with the same rare content may guess
that they are one device's. That is no violation, unless a name recurs: it is measured and said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence, Set
from itertools import pairwise

from deniable.protocol.survey import Survey

from .derivation import pseudonym
from .devices import Devices
from .findings import Finding
from .observed import Day, Life, Request


def audit_links(devices: Devices, survey: Survey, *, count: int = 60) -> list[Finding]:
    """Let devices that answer alike send for two periods; return what links their requests.

    Parameters
    ----------
    devices : Devices
        The audited environment.
    survey : Survey
        The same survey, as this environment reads it.
    count : int
        How many devices; each sends over HTTP to a collector on this machine.
    """
    asked = devices.describe().asked(survey.questions)
    answers = {question.id: question.values[0] for question in asked}
    if not answers:
        return []
    lives = devices.live([Day(answers), Day(answers)], count)
    alone = {
        name
        for name, question in survey.questions.items()
        if question.period == "once" or survey.batch == "question"
    }
    names = [_names(lives, alone), _derived(survey, lives, alone)]
    return [*names, *_alone(lives, alone), *_contents(lives)]


def _names(lives: Sequence[Life], alone: Set[str]) -> Finding:
    """No pseudonym may be seen with two devices, two periods, or two questions that must part."""
    used: defaultdict[str, set[tuple[int, str, str]]] = defaultdict(set)
    for device, life in enumerate(lives):
        for request in life.requests:
            apart = next((name for name in request.reports if name in alone), "")
            used[request.device].add((device, request.period, apart))
    again = sum(len(uses) > 1 for uses in used.values())
    total = sum(len(life.requests) for life in lives)
    if again:
        line = f"{again} of {len(used)} pseudonyms link requests that must not be linked"
        return Finding("pseudonyms", None, False, line)
    line = f"{len(used)} pseudonyms in {total} requests of {len(lives)} devices link none of them"
    return Finding("pseudonyms", None, True, line)


def _derived(survey: Survey, lives: Sequence[Life], alone: Set[str]) -> Finding:
    """Every pseudonym must be what the secret gives for the survey, the period and the question."""
    told = [(life.secrets[each.day][0], each) for life in lives for each in life.requests]
    wrong = 0
    for secret, each in told:
        apart = next((survey.questions[name] for name in each.reports if name in alone), None)
        wrong += each.device != pseudonym(secret, survey.id, each.period, apart)
    if wrong:
        line = f"{wrong} of {len(told)} pseudonyms are not what the device's secret gives"
        return Finding("pseudonyms", None, False, line)
    line = f"{len(told)} pseudonyms are what the secrets give for survey, period and question"
    return Finding("pseudonyms", None, True, line)


def _alone(lives: Sequence[Life], alone: Set[str]) -> Iterator[Finding]:
    """Reports that must travel alone share a request with nothing."""
    requests = [request for life in lives for request in life.requests]
    mixed = sum(bool(alone & request.reports.keys()) for request in _shared(requests))
    if mixed:
        line = f"{mixed} requests carried a report that must travel alone beside others"
        yield Finding("alone", None, False, line)
    elif alone:
        line = f"of questions that travel alone ({len(alone)}), none shared a request"
        yield Finding("alone", None, True, line)


def _shared(requests: Sequence[Request]) -> Iterator[Request]:
    return (request for request in requests if len(request.reports) > 1)


def _contents(lives: Sequence[Life]) -> Iterator[Finding]:
    """Say how often content recurs on one device, and how often two devices have the same.

    Requests are compared that carry the same questions, which is what an observer can see.
    """
    kinds = sorted({tuple(sorted(r.reports)) for life in lives for r in life.requests})
    for questions in kinds:
        told = [list(_told(life, questions)) for life in lives]
        own = [pair for each in told for pair in pairwise(each)]
        others = [(a[0], b[0]) for a, b in pairwise(told) if a and b]
        if not own or not others:
            continue
        names = questions[0] if len(questions) == 1 else f"{len(questions)} questions together"
        line = (
            f"two requests with {names} had the same content {_share(own)} if one device sent "
            f"both, {_share(others)} if two devices with the same answers did"
        )
        yield Finding("content", questions[0] if len(questions) == 1 else None, None, line)


def _told(life: Life, questions: tuple[str, ...]) -> Iterator[Hashable]:
    for request in life.requests:
        if tuple(sorted(request.reports)) == questions:
            yield tuple(request.reports[name] for name in questions)


def _share(pairs: Sequence[tuple[Hashable, Hashable]]) -> str:
    same = sum(a == b for a, b in pairs)
    return f"{same} of {len(pairs)} times"
