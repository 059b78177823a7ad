"""The second round: reports must agree with the permanent response as often as it says, no more.

And two reports of the same answer with each other: a second round that repeats itself is none.
What must never change: every place (a symbol, or each bit) is compared with a probability that
the mechanism states, by an exact binomial tail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from deniable.protocol.question import Question
from deniable.protocol.response import Response
from deniable.protocol.specimens import specimens

from .findings import ODDS, Finding, surprise


@dataclass(frozen=True, slots=True)
class Reported:
    """One report: on which day, about which symbol, what was to be remembered, what was sent."""

    device: int
    day: int
    symbol: int
    must: Response | None
    sent: Response


@dataclass(frozen=True, slots=True)
class _Place:
    """A kind of place, of which all behave alike: a symbol, or bits that are set or not."""

    group: int
    kept: float
    repeated: float


def as_blurred(question: Question, reports: Sequence[Reported]) -> Finding:
    """Compare reports with what devices must remember, for each answer by itself."""
    agreed: Counter[_Place] = Counter()
    trials: Counter[_Place] = Counter()
    for report in reports:
        if report.must is None or report.must.row != report.sent.row:
            line = "a device reports under another setup than its secret gives"
            return Finding("derivation", question.id, False, line)
        for place, same in _places(question, report.symbol, report.must, report.must, report.sent):
            agreed[place] += same
            trials[place] += 1
    odds = ODDS / max(1, len(trials))
    kept = all(surprise(agreed[at], trials[at], at.kept) > odds for at in trials)
    expected = sum(trials[at] * at.kept for at in trials) / max(1, trials.total())
    line = (
        f"{agreed.total()} of {trials.total()} reported places agree with what the secrets give, "
        f"expected {expected:.1%}, for {len({at.group // 2 for at in trials})} of "
        f"{len(specimens(question))} answers"
    )
    return Finding("derivation", question.id, kept, line)


def repeats(question: Question, reports: Sequence[Reported]) -> Iterator[Finding]:
    """Compare two reports of the same answer on one device with each other, each but once."""
    waiting: dict[tuple[int, int], Response] = {}
    agreed: Counter[_Place] = Counter()
    trials: Counter[_Place] = Counter()
    for report in reports:
        before = waiting.pop((report.device, report.symbol), None)
        if before is None or report.must is None:
            waiting[report.device, report.symbol] = report.sent
            continue
        for place, same in _places(question, 0, report.must, before, report.sent):
            agreed[place] += same
            trials[place] += 1
    if not trials:
        return
    odds = ODDS / len(trials)
    kept = all(surprise(agreed[at], trials[at], at.repeated) > odds for at in trials)
    expected = sum(trials[at] * at.repeated for at in trials) / trials.total()
    line = (
        f"two reports of the same answer on one device agree in {agreed.total()} of "
        f"{trials.total()} places, expected {expected:.1%}"
    )
    if not kept:
        line += ": the second round is not drawn anew for every report"
    yield Finding("second round", question.id, kept, line)


def _places(
    question: Question, group: int, must: Response, one: Response, other: Response
) -> Iterator[tuple[_Place, bool]]:
    """Yield the places of two responses, and whether they agree there."""
    shape = question.mechanism.shape
    p, q = question.mechanism.second or (Fraction(1), Fraction(0))
    if shape.kind == "symbol":
        repeated = p**2 + (shape.width - 1) * q**2
        yield _Place(2 * group, float(p), float(repeated)), one.out == other.out
        return
    places = [
        _Place(2 * group, float(1 - q), float(q**2 + (1 - q) ** 2)),
        _Place(2 * group + 1, float(p), float(p**2 + (1 - p) ** 2)),
    ]
    turned = one.out ^ other.out
    for bit in range(shape.width):
        yield places[must.out >> bit & 1], not turned >> bit & 1
