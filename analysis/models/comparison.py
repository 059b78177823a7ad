"""The same question, epsilon and devices in the local, the shuffled and the central model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import SupportsIndex

from deniable.protocol.limits import EPSILON_MAX
from deniable.protocol.mechanisms import NO_OPTIONS, Mechanism, Options

from .. import inputs
from ..estimators import FAKE_SHARE, fake_bias
from ..inputs import Number
from ..plans.asked import Asked, asked
from ..plans.digits import GRID, Grid
from ..plans.precision import Precision, precision
from ..plans.shuffled import LARGEST_CROWD, honest, keeps, local_epsilon
from ..plans.shuffled_results import delta_caveats
from ..reading import advantage_cap
from .central import analytic_sigma, gaussian_advantage, laplace_deviation
from .results import Comparison, Model

CURATOR = (
    "the collector, with everybody's true answers, to keep them to itself and to add the noise once"
)
_CROWDS = Grid(3)


def compare(
    *,
    epsilon: Number,
    devices: SupportsIndex,
    delta: Number,
    values: SupportsIndex = 2,
    mechanism: str = "auto",
    options: Options = NO_OPTIONS,
    margin: Number = "0.01",
    confidence: Number = 0.95,
    sigmas: Number | None = None,
    fake_share: Number = 0,
) -> Comparison:
    """Return what the same epsilon buys where nobody, a shuffler or the collector is trusted.

    Standard errors are of one frequency among n devices, of the noise alone:

    local
        ``sqrt(V/n)``, V the worst of the mechanism for a fixed population.
    shuffled
        The same at the largest local epsilon whose shuffled reports are certainly
        (epsilon, delta)-private.
    central Laplace
        ``sqrt(2) s / (epsilon n)`` with s = 1 for the count of a yes/no, or for a sum of numbers
        scaled to 0..1, and s = 2 for a histogram.
    central Gaussian
        ``sigma / n``, sigma the least that is (epsilon, delta)-private (Balle, Wang 2018), for
        s = 1 and sqrt(2).

    Parameters
    ----------
    epsilon : Decimal, int, float or str
        Of one device in one period.
    devices : int
        n.
    delta : Decimal, float or str
        In (0, 1), for the shuffled model and Gaussian noise.
    values, mechanism, options
        As of :func:`deniable.analysis.users_needed`.
    margin : Decimal, float or str
        For which users are counted; those of the shuffled model to three digits, rounded up.
    confidence, sigmas : Decimal, float or str
        How many standard errors a margin is; Laplace noise leaves a few more outside than the
        normal.
    fake_share : Decimal, float or str
        Of the devices, that hides nobody in the shuffled model.

    Returns
    -------
    Comparison

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    question = asked(values, mechanism, options)
    within = Fraction(inputs.between("margin", margin, "1e-9", "1"))
    wanted = precision(confidence=confidence, sigmas=sigmas, fixed_population=True)
    models = _Models(
        question=question,
        epsilon=inputs.epsilon("epsilon", epsilon),
        delta=float(inputs.between("delta", delta, "1e-100", "1")),
        devices=inputs.integer("devices", devices, 1, inputs.MAX_REPORTS),
        margin=within,
        wanted=wanted,
        fake_share=inputs.proportion("fake_share", fake_share),
    )
    return Comparison(
        epsilon=models.epsilon,
        delta=models.delta,
        devices=models.devices,
        values=question.k,
        mechanism=models.mechanism.described(),
        margin=float(within),
        standard_errors=float(wanted.z),
        confidence=None if wanted.confidence is None else float(wanted.confidence),
        sensitivity=models.sensitivity,
        models=tuple(models.rows()),
        caveats=tuple(delta_caveats(models.delta, models.devices)),
    )


@dataclass(frozen=True)
class _Models:
    """Computes the rows of one question."""

    question: Asked
    epsilon: Decimal
    delta: float
    devices: int
    margin: Fraction
    wanted: Precision
    fake_share: Decimal

    @cached_property
    def mechanism(self) -> Mechanism:
        return self.question.at(self.epsilon)

    @property
    def histogram(self) -> bool:
        """Whether one answer changes two counts."""
        return self.mechanism.asks == "choice" and self.question.k > 2

    @property
    def sensitivity(self) -> str:
        if self.histogram:
            return (
                "One answer changes two counts of the histogram by 1: the scale of Laplace noise "
                "is 2/epsilon in each count, and sigma is for a distance of sqrt(2)."
            )
        what = "the count" if self.mechanism.asks == "choice" else "the sum, scaled to 0..1,"
        return f"One answer changes {what} by at most 1: the scale of Laplace noise is 1/epsilon."

    def rows(self) -> Iterator[Model]:
        yield self._local()
        yield self._shuffled()
        yield self._laplace()
        yield self._gaussian()

    def _local(self) -> Model:
        return Model(
            model="local",
            noise=f"{self.mechanism.described()} on each device",
            local_epsilon=float(self.epsilon),
            epsilon=float(self.epsilon),
            delta=0.0,
            standard_error=self._error(self.mechanism),
            users=self.wanted.users(self.mechanism, self.margin),
            advantage_cap=advantage_cap(float(self.epsilon)),
            fake_bias=fake_bias(self.mechanism),
            trusted="nobody but one's own device",
        )

    def _shuffled(self) -> Model:
        hiding = honest(self.devices, self.fake_share)
        found = local_epsilon(self.question, self.epsilon, self.delta, hiding, self.epsilon)
        mechanism = self.question.at(found or self.epsilon)
        return Model(
            model="shuffled",
            noise=f"{mechanism.described()} on each device, reports mixed, one period only",
            local_epsilon=float(mechanism.epsilon),
            epsilon=float(self.epsilon),
            delta=self.delta,
            standard_error=self._error(mechanism),
            users=self._crowd(),
            advantage_cap=advantage_cap(float(self.epsilon), self.delta),
            fake_bias=fake_bias(mechanism),
            trusted=(
                "the shuffler, to forget order, time and sender before anybody looks, and "
                f"{hiding:,} devices, to answer once each with noise nobody knows"
            ),
        )

    def _laplace(self) -> Model:
        deviation = laplace_deviation(float(self.epsilon), 2 if self.histogram else 1)
        cap = advantage_cap(float(self.epsilon))
        return self._central("central Laplace", "Laplace noise on each count", deviation, 0.0, cap)

    def _gaussian(self) -> Model:
        distance = math.sqrt(2) if self.histogram else 1.0
        sigma = analytic_sigma(float(self.epsilon), self.delta, distance)
        cap = gaussian_advantage(distance / sigma)
        noise = "Gaussian noise on each count"
        return self._central("central Gaussian", noise, sigma, self.delta, cap)

    def _central(self, model: str, noise: str, deviation: float, delta: float, cap: float) -> Model:
        return Model(
            model=model,
            noise=f"{noise}, of standard deviation {deviation:.6g}",
            local_epsilon=None,
            epsilon=float(self.epsilon),
            delta=delta,
            standard_error=deviation / self.devices,
            users=math.ceil(self.wanted.z * Fraction(deviation) / self.margin),
            advantage_cap=cap,
            fake_bias=FAKE_SHARE,
            trusted=CURATOR,
        )

    def _error(self, mechanism: Mechanism) -> float:
        variance, _ = self.wanted.variance(mechanism)
        return math.sqrt(variance / self.devices)

    def _crowd(self) -> int:
        """Return how many devices reach the margin at the local epsilon that they may have.

        No more than in the local model; for fewer, up to a thousand million, the local epsilon
        that reaches the margin is tried. To three digits.
        """
        most = self.wanted.users(self.mechanism, self.margin)
        if self.epsilon >= EPSILON_MAX:
            return most

        def enough(crowd: Decimal) -> bool:
            n = int(crowd)

            def reaches(epsilon: Decimal) -> bool:
                return self.wanted.users(self.question.at(epsilon), self.margin) <= n

            needed = GRID.least(reaches, self.epsilon, EPSILON_MAX)
            if needed is None:
                return False
            if needed == self.epsilon:
                return True
            hiding = math.floor((1 - Fraction(self.fake_share)) * n)
            if not hiding:
                return False
            return keeps(self.question.at(needed), hiding, self.delta, self.epsilon)

        limit = min(most, LARGEST_CROWD)
        found = _CROWDS.least(enough, Decimal(100), Decimal(limit)) if most > 100 else None
        return most if found is None else min(most, int(found))
