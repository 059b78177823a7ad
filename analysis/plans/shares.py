"""From a total epsilon of one person to the epsilon of each question and of each report."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import canonical
from deniable.protocol.limits import EPSILON_MAX, MAX_QUESTIONS
from deniable.protocol.mechanisms import NO_OPTIONS, Mechanism, Options

from .. import inputs
from ..inputs import Number
from ..reading import read
from .asked import Asked, asked
from .digits import GRID, rounded_down
from .fresh import fresh_shares
from .proposals import proposal
from .share_results import EpsilonShares

MAX_DEVICES_PER_PERSON = 1000


def plan_shares(
    *,
    total_epsilon: Number,
    days: SupportsIndex,
    questions: SupportsIndex,
    devices_per_person: SupportsIndex = 1,
    changes: SupportsIndex | None = None,
    delta: Number | None = None,
    second_round: bool = False,
    values: SupportsIndex = 2,
    mechanism: str = "auto",
    options: Options = NO_OPTIONS,
) -> EpsilonShares:
    """Return how much epsilon each of Q questions may have, for E of one person together.

    Memoized, ``Q M d epsilon <= E``: each of M devices randomizes for itself, and d answers to
    one question, C + 1 for C changes but no more than reports or permanent responses there are,
    each have a permanent response. Fresh, the largest epsilon with which T Q M reports compose to
    at most E, by each theorem. All are rounded down to four digits.

    Parameters
    ----------
    total_epsilon : Decimal, int, float or str
        E, of one person: all reports of all their devices about all questions.
    days : int
        T, reports of one device about one question, at most a million.
    questions : int
        Q, all alike.
    devices_per_person : int
        M, whose reports about the same answer are not correlated.
    changes : int, optional
        C, how often an answer changes at most, everybody knowing when; otherwise never.
    delta : Decimal, float or str, optional
        In (0, 1): the fresh total may be exceeded with this probability.
    second_round : bool
        Whether each report is randomized anew; epsilon_first is then half of epsilon.
    values, mechanism, options
        As of :func:`deniable.analysis.users_needed`.

    Returns
    -------
    EpsilonShares

    Raises
    ------
    ParameterError
        If a parameter is out of range, or devices accept no epsilon so small.

    Examples
    --------
    >>> plan_shares(total_epsilon=8, days=365, questions=10).epsilon
    Decimal('0.8')
    """
    question = asked(values, mechanism, options, second_round=second_round)
    total = inputs.between("total_epsilon", total_epsilon, "0", "1e6")
    t = inputs.integer("days", days, 1, inputs.MAX_DAYS)
    q = inputs.integer("questions", questions, 1, MAX_QUESTIONS)
    m = inputs.integer("devices_per_person", devices_per_person, 1, MAX_DEVICES_PER_PERSON)
    c = None if changes is None else inputs.integer("changes", changes, 0, inputs.MAX_DAYS)
    fail = None if delta is None else float(inputs.between("delta", delta, "1e-100", "1"))
    each = Fraction(total) / (q * m)
    epsilon, d = affordable(question, each, t, c)
    once = replace(question, first=None)
    return EpsilonShares(
        proposal=proposal(question.at(epsilon)),
        total_epsilon=total,
        spent=epsilon * d * q * m,
        days=t,
        questions=q,
        devices_per_person=m,
        changes=c,
        answers=d,
        delta=fail,
        fresh=fresh_shares(once.at, total, t * q * m, fail),
        reading=read(float(total)),
    )


def affordable(
    question: Asked, allowed: Fraction, days: int | None, changes: int | None, what: str = ""
) -> tuple[Decimal, int]:
    """Return the largest epsilon with which memoized answers cost a device at most ``allowed``.

    And d, how many they are: both ``d`` and ``d epsilon`` grow with epsilon. No more than devices
    accept.

    Parameters
    ----------
    what : str
        Of which question, for an error.

    Raises
    ------
    ParameterError
        If devices accept no epsilon so small.
    """

    def fits(epsilon: Decimal) -> bool:
        return Fraction(epsilon) * answers(question.at(epsilon), days, changes) <= allowed

    found = GRID.largest(fits, question.lowest, EPSILON_MAX)
    if found is None:
        d = answers(question.at(question.lowest), days, changes)
        raise ParameterError(
            f"total_epsilon is too small{what}: it leaves {canonical(rounded_down(allowed / d))} "
            f"for each answer, less than {question.floor}; ask fewer questions, or allow more"
        )
    return found, answers(question.at(found), days, changes)


def answers(mechanism: Mechanism, days: int | None, changes: int | None) -> int:
    """Return how many different answers a device can give to one question, at most."""
    limits = (days, mechanism.classes, (changes or 0) + 1)
    return min(limit for limit in limits if limit is not None)
