"""What may be said of one question after an audit, and what may not.

What must never change: nothing is ever "certified". A violation is proved, or none was found by
trials that could have seen one so large, or the trials could not tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from deniable.protocol.exact import canonical

from .bounds import trials_needed
from .promise import epsilon_of, within
from .trials import Measured

_NOT_FOUND = "not found"
_NOT_ATTAINED = "at most"
"""How an account of an enumeration begins that failed, and ends if it bounds a ratio only."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What is declared of a question, and what its code was enumerated to do.

    Attributes
    ----------
    report, permanent : Decimal
        Declared epsilons of one report, and of all reports about one unchanging answer.
    exact_report, exact_permanent : Fraction or None
        The largest ratios of likelihoods; None if they are infinite, or if they were not found.
    by : str
        How they were found, or why not.
    """

    report: Decimal
    permanent: Decimal
    exact_report: Fraction | None
    exact_permanent: Fraction | None
    by: str

    @property
    def found(self) -> bool:
        """Whether the code's output could be enumerated."""
        return not self.by.startswith(_NOT_FOUND)

    def broken(self) -> str | None:
        """Return which promise the enumeration refutes, and by how much."""
        if not self.found or self.by.endswith(_NOT_ATTAINED):
            return None
        for subject, ratio, declared in (
            ("one report reveals", self.exact_report, self.report),
            (
                "all reports about one unchanging answer reveal",
                self.exact_permanent,
                self.permanent,
            ),
        ):
            if ratio is None:
                return f"{subject} the answer for sure; epsilon {canonical(declared)} is declared"
            if within(ratio, declared) is False:
                found = epsilon_of(ratio)
                return (
                    f"{subject} epsilon {found:.9g}, more than the declared {canonical(declared)}"
                )
        return None

    def proved(self) -> bool:
        """Return whether the enumeration confirms both promises, as far as ``by`` says it went."""
        ratios = ((self.exact_report, self.report), (self.exact_permanent, self.permanent))
        return self.found and all(
            ratio is not None and within(ratio, declared) is True for ratio, declared in ratios
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """A sentence, and whether it is a violation."""

    text: str
    violation: bool


def judge(
    promise: Promise, measured: Measured, ceiling: float, alpha: float, stays: bool | None
) -> Verdict:
    """Return what may be said of a question.

    Parameters
    ----------
    promise : Promise
    measured : Measured
        What the trials showed.
    ceiling : float
        The epsilon they can show at most.
    alpha : float
        Of each bound.
    stays : bool or None
        Whether unchanging answers were found to stay within the permanent epsilon; None if that
        was not enumerated.
    """
    declared = promise.report
    broken = promise.broken()
    if broken is None and stays is False:
        broken = (
            "repeated reports about one unchanging answer reveal more than the declared epsilon "
            f"{canonical(promise.permanent)}"
        )
    if broken is None and Decimal(measured.lower_bound) > declared:
        least = _digits(measured.lower_bound, 6, ROUND_FLOOR)
        broken = (
            f"one report reveals epsilon {least} at least, more than the "
            f"declared {canonical(declared)} ({measured.event}: {measured.hits:,} against "
            f"{measured.misses:,} of {measured.tests:,})"
        )
    if broken is not None:
        return Verdict(f"violation: {broken}", True)
    doubt = _doubt(promise, measured, ceiling, alpha) if measured.tests else measured.event
    if doubt is not None:
        return Verdict(f"inconclusive: {doubt}", False)
    visible = _digits(measured.visible or ceiling, 3, ROUND_CEILING)
    return Verdict(f"no violation found, could have seen ≥ {visible}", False)


def _digits(epsilon: float, digits: int, rounding: str) -> str:
    """Write so many digits, rounded to the side on which the sentence stays true."""
    return canonical(Context(prec=digits, rounding=rounding).create_decimal(epsilon))


def _doubt(promise: Promise, measured: Measured, ceiling: float, alpha: float) -> str | None:
    """Return why the trials cannot tell, if they cannot."""
    declared = promise.report
    if measured.null_control > 0:
        return (
            f"the same answer on both sides seems to reveal epsilon {measured.null_control:.3g}; "
            "repeat the audit"
        )
    if ceiling <= float(declared):
        return (
            f"{measured.tests:,} tests a side can show an epsilon of one report of "
            f"{ceiling:.3g} at most, and {canonical(declared)} is declared; it takes "
            f"--trials {2 * trials_needed(float(declared) + _ROOM, alpha)}"
        )
    if Decimal(measured.positive_control) <= declared:
        return "a randomizer that is broken on purpose was not caught; more --trials may"
    if measured.visible is None:
        return (
            "the event that was found is too rare to show more than the declared "
            f"{canonical(declared)}; more --trials may"
        )
    if not promise.proved():
        return f"the exact epsilon of the code is not known ({promise.by})"
    return None


_ROOM = 0.5
"""By how much the ceiling should exceed what is declared, for a violation to be seen."""
