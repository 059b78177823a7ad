"""Whether two questions of the same mechanism have noise of their own.

What must never change: only what devices sent is compared, so that a question without reports
accuses nobody.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Literal

from deniable.protocol.proofs.branches import outcomes
from deniable.protocol.question import Question
from deniable.protocol.response import Response
from deniable.protocol.survey import Survey

from .findings import ODDS, Finding, surprise_of
from .observed import Device

_MOST_LAW = 8
_MOST_PAIRS = 1000


def check_independence(
    survey: Survey, lived: Sequence[Device], symbols: Sequence[int]
) -> Iterator[Finding]:
    """Compare questions of the same mechanism: their noise must agree no more than by chance.

    Only the first report is compared, of devices that sent both, and only where the chance of
    agreement can be computed and the devices are enough to tell.

    Parameters
    ----------
    survey : Survey
    lived : sequence of Device
    symbols : sequence of int
        For each device a number from which its symbol of the first day follows, modulo k.
    """
    questions = [
        q
        for q in survey.questions.values()
        if q.mechanism.k <= _MOST_LAW and q.mechanism.asks in ("choice", "number")
    ]
    pairs = [(a, b) for at, a in enumerate(questions) for b in questions[:at]]
    for one, other in pairs[:_MOST_PAIRS]:
        if one.mechanism == other.mechanism:
            yield from _compared(one, other, lived, symbols)


def _compared(
    one: Question, other: Question, lived: Sequence[Device], symbols: Sequence[int]
) -> Iterator[Finding]:
    by_symbol = [float(_agreement(one, symbol)) for symbol in range(one.mechanism.k)]
    chances, same = [], 0
    for device, number in zip(lived, symbols, strict=True):
        first, second = (_first(question, device) for question in (one, other))
        if first is not None and second is not None:
            chances.append(by_symbol[number % one.mechanism.k])
            same += first == second
    if surprise_of(len(chances), chances) > ODDS:
        return
    by_chance = sum(chances) / len(chances)
    line = (
        f"the first reports of {one.id} and {other.id} agree on {same} of {len(chances)} "
        f"devices, by chance {by_chance:.1%}"
    )
    yield Finding("independence", one.id, surprise_of(same, chances) > ODDS, line)


def _first(question: Question, device: Device) -> Hashable:
    return next(iter(device.reports.get(question.id, ())), None)


def _agreement(question: Question, symbol: int) -> Fraction:
    """Return the probability that two independent devices with a symbol send the same."""
    mechanism = question.mechanism
    rounds: Literal[1, 2] = 1 if mechanism.second is None else 2
    law: dict[Response, Fraction] = {}
    for setup, weight in outcomes(mechanism.assign).items():
        memo = mechanism.memo(setup, mechanism.symbol(symbol))
        if memo is None:
            continue
        for response, mass in mechanism.law(setup, memo, rounds).items():
            law[response] = law.get(response, Fraction(0)) + weight * mass
    return sum((mass**2 for mass in law.values()), Fraction(0))
