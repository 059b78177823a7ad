"""One epsilon in words and numbers, for those who have to decide whether it is enough.

What must never change within a major version: the field names of ``document()`` and
``records()``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import canonical

from . import inputs
from .figures import at_most, percent_at_least, percent_at_most, power_at_most
from .inputs import Number
from .reading import (
    FALSE_POSITIVES,
    MEANINGLESS,
    NO_GUARANTEE,
    Reading,
    posterior,
    posterior_at_least,
    read,
)
from .render import Record, Section

EPSILON_RANGE = (Decimal("0.000001"), Decimal(10**13))
"""Any total that ``total-epsilon`` prints can be explained."""

PRIOR_RANGE = ("1e-15", "0.999999999999999")

PRIORS = (Decimal("0.001"), Decimal("0.01"), Decimal("0.1"), Decimal("0.5"), Decimal("0.9"))
"""Beliefs that are looked at if none is given."""

EVEN = Decimal("0.5")

UNIT = (
    "of whatever it was computed for: one report, or all reports about one answer that never "
    "changes, or another row of total-epsilon"
)


@dataclass(frozen=True, slots=True)
class Posterior:
    """A belief before, and what it can become at most and at least, all probabilities."""

    prior: float
    at_most: float
    at_least: float


@dataclass(frozen=True)
class Explanation:
    """What one epsilon lets anybody learn.

    Attributes
    ----------
    epsilon : Decimal
    delta : float or None
        Probability with which the epsilon may fail, if any.
    prior : float
        The belief of ``posterior``; one half if none was given.
    beliefs : tuple of Posterior
        For the prior that was given, otherwise for several.
    reading : Reading
        The caps on an attacker.
    """

    epsilon: Decimal
    delta: float | None
    prior: float
    beliefs: tuple[Posterior, ...]
    reading: Reading

    columns: ClassVar[tuple[str, ...]] = (
        "epsilon", "epsilon_unit", "delta", "prior", "posterior", "posterior_at_least",
        "odds_factor", "odds_fail", "success_cap", "advantage_cap", "true_positive_cap",
        "meaningful", "verdict",
    )  # fmt: skip

    @property
    def posterior(self) -> Posterior:
        """What the belief :attr:`prior` can become."""
        return _posterior(self.prior, self.reading)

    def records(self) -> list[Record]:
        """Return a flat row for each prior."""
        return [self._record(belief) for belief in self.beliefs]

    def _record(self, belief: Posterior) -> Record:
        return {
            "epsilon": float(self.epsilon),
            "epsilon_unit": UNIT,
            "delta": self.delta,
            "prior": belief.prior,
            "posterior": belief.at_most,
            "posterior_at_least": belief.at_least,
            **self.reading.document(),
        }

    def document(self) -> dict[str, Any]:
        """Return the explanation as JSON; ``posterior`` belongs to ``prior``."""
        beliefs = [
            {
                "prior": belief.prior,
                "posterior": belief.at_most,
                "posterior_at_least": belief.at_least,
            }
            for belief in self.beliefs
        ]
        return {**self._record(self.posterior), "posteriors": beliefs}

    def sections(self) -> tuple[Section, ...]:
        """Return the explanation for people."""
        beliefs = [
            (
                f"{100 * belief.prior:.6g} %",
                percent_at_most(belief.at_most),
                percent_at_least(belief.at_least),
            )
            for belief in self.beliefs
        ]
        names = ("believed before", "after, at most", "after, at least")
        failing = self._failing
        heading = "What somebody may believe of your answer after seeing what that epsilon is of"
        return (
            Section(self._title, (), (), tuple(self._promises())),
            Section(f"{heading}{failing}", names, beliefs, (self._sentence(),)),
            Section("What that epsilon assumes, and does not cover", (), (), _ASSUMED),
        )

    @property
    def _title(self) -> str:
        delta = "" if self.delta is None else f" and delta {self.delta:g}"
        verdict = "" if self.reading.meaningful else f": {NO_GUARANTEE}"
        return f"Epsilon {canonical(self.epsilon)}{delta}, {UNIT}{verdict}"

    @property
    def _failing(self) -> str:
        if self.delta is None:
            return ""
        return f" (but with a probability of at most 2 delta = {self.reading.odds_fail:g})"

    def _promises(self) -> list[str]:
        caps = self.reading
        exponent = caps.odds_exponent
        odds = "no bound" if exponent is None else power_at_most(exponent)
        rate = f"{100 * FALSE_POSITIVES:g} %"
        lines = [
            f"Whatever is seen, the odds of one answer against another change by a factor of at "
            f"most {odds}, up or down{self._failing}.",
            "Somebody who must tell which of two equally likely answers you gave, and knows "
            f"everything else, is right in at most {percent_at_most(caps.success_cap)} of cases; "
            "guessing is right in 50 %.",
            "A test finds those who gave an answer more often than it accuses those who did not "
            f"by at most {at_most(100 * caps.advantage_cap, 4)} percentage points.",
            f"If it accuses {rate} of those who did not give the answer, it finds at most "
            f"{percent_at_most(caps.true_positive_cap)} of those who did; without any report it "
            f"would find {rate}.",
        ]
        if not caps.meaningful:
            lines.insert(0, f"Above {MEANINGLESS:g} this is {NO_GUARANTEE}.")
        return lines

    def _sentence(self) -> str:
        belief = self.beliefs[min(1, len(self.beliefs) - 1)]
        return (
            f"If somebody believed with {100 * belief.prior:.6g} % that your answer is yes, then "
            f"after seeing everything that epsilon is of, they may believe it with at most "
            f"{percent_at_most(belief.at_most)} and at least "
            f"{percent_at_least(belief.at_least)}{self._failing}."
        )


_ASSUMED = (
    "The device randomizes as it says, and its secret stays on it; nobody else has to be trusted.",
    "It adds up: over questions, over answers that change, over reports whose noise is fresh, and "
    "over the devices of one person. deniable total-epsilon tells what to explain.",
    "It is about what your report adds. What can be concluded about you from others, because you "
    "are like them, is not covered, nor that a report was sent.",
)


def explain(
    *, epsilon: Number, prior: Number | None = None, delta: Number | None = None
) -> Explanation:
    """Return what one epsilon lets anybody learn, whatever else they know.

    With E = e^epsilon, odds change by at most E: a belief f becomes at most ``E f / (E f + 1 - f)``
    and at least ``f / (f + E (1 - f))``. With a delta both hold for ``2 E``, each but with a
    probability of at most ``2 delta`` (see ``analysis.reading.odds_factor`` for why not for E and
    delta). The success cap is ``(E + delta)/(E + 1)``, the advantage cap
    ``(E - 1 + 2 delta)/(E + 1)``.

    Parameters
    ----------
    epsilon : Decimal, int, float or str
        Of whatever is to be explained.
    prior : Decimal, float or str, optional
        A belief before, in (0, 1) and told apart from both; otherwise several are looked at.
    delta : Decimal, float or str, optional
        In (0, 0.5): the probability with which the epsilon may fail.

    Returns
    -------
    Explanation

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> explained = explain(epsilon=5, prior=0.01)
    >>> round(explained.posterior.at_most, 2), round(explained.reading.odds_factor)
    (0.6, 148)
    """
    number = inputs.exact("epsilon", epsilon)
    low, high = EPSILON_RANGE
    if not low <= number <= high:
        raise ParameterError(f"epsilon must be in {low}..{high}: {number}")
    belief = None if prior is None else inputs.between("prior", prior, *PRIOR_RANGE)
    fail = None if delta is None else float(inputs.between("delta", delta, "1e-100", "0.5"))
    reading = read(float(number), fail or 0.0)
    priors = PRIORS if belief is None else (belief,)
    return Explanation(
        epsilon=number,
        delta=fail,
        prior=float(EVEN if belief is None else belief),
        beliefs=tuple(_posterior(float(one), reading) for one in priors),
        reading=reading,
    )


def _posterior(prior: float, reading: Reading) -> Posterior:
    exponent = reading.odds_exponent
    if exponent is None:
        exponent = math.inf
    return Posterior(prior, posterior(prior, exponent), posterior_at_least(prior, exponent))
