"""The same question, epsilon and devices in the local, the shuffled and the central model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.limits import EPSILON_MAX
from deniable.protocol.mechanisms import MECHANISMS, NO_OPTIONS, Mechanism, Options
from deniable.protocol.mechanisms.privset import PrivSet

from .. import inputs
from ..deltas import delta_caveats
from ..domains import over
from ..estimators import FAKE_SHARE, fake_bias
from ..figures import counted
from ..inputs import Number
from ..plans.asked import Asked, asked
from ..plans.digits import Grid
from ..plans.precision import Precision, precision
from ..plans.proposals import refused
from ..plans.shuffled import honest, local_epsilon
from ..reading import advantage_cap, beyond
from ..shuffling.trust import unfaked
from .central import analytic_sigma, gaussian_advantage, laplace_deviation
from .results import CURATOR, Comparison, Model, sensitivity

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
        For which users are counted: those with whom so many standard errors *of the noise alone*
        are no more. That leaves out what sampling adds, which :func:`deniable.analysis.
        users_needed` counts. Of the shuffled model to three digits, rounded up.
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
    if mechanism in MECHANISMS and MECHANISMS[mechanism].asks in ("trajectory", "counter"):
        raise ParameterError(
            "mechanism must be one whose epsilon is of one period, for which models are compared; "
            f"that of {mechanism} is of all periods together"
        )
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
        values=models.mechanism.k,
        mechanism=models.mechanism.described(),
        domain=over(models.mechanism),
        margin=float(within),
        standard_errors=float(wanted.z),
        confidence=None if wanted.confidence is None else float(wanted.confidence),
        sensitivity=sensitivity(models.mechanism.asks, models.changed),
        models=tuple(models.rows()),
        caveats=tuple(models.caveats()),
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

    @cached_property
    def hiding(self) -> int:
        """How many devices hide each other."""
        return honest(self.devices, self.fake_share)

    @cached_property
    def shuffled(self) -> Mechanism:
        """The mechanism of the local epsilon that the crowd allows."""
        return self.question.at(self._local_epsilon(lambda _: self.hiding) or self.epsilon)

    @property
    def changed(self) -> int:
        """How many counts one answer in place of another changes at most: of sets all items."""
        mechanism = self.mechanism
        if isinstance(mechanism, PrivSet):
            return min(2 * mechanism.items, mechanism.k)
        if mechanism.asks == "choice":
            return 2 if mechanism.k > 2 else 1
        return 2 if mechanism.asks == "text" else 1

    def caveats(self) -> Iterator[str]:
        yield from delta_caveats(self.delta, self.devices)
        excess = beyond(self.epsilon)
        if excess:
            yield excess
        for model, mechanism in (("local", self.mechanism), ("shuffled", self.shuffled)):
            yield from (f"{model}: {why}" for why in refused(mechanism))

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
            users=self._users(self.mechanism),
            advantage_cap=advantage_cap(float(self.epsilon)),
            fake_bias=fake_bias(self.mechanism),
            trusted="nobody but one's own device",
        )

    def _shuffled(self) -> Model:
        mechanism = self.shuffled
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
                f"{counted(self.hiding, 'device')}, to answer once each with noise nobody knows"
            ),
        )

    def _laplace(self) -> Model:
        deviation = laplace_deviation(float(self.epsilon), self.changed)
        cap = advantage_cap(float(self.epsilon))
        return self._central("central Laplace", "Laplace noise on each count", deviation, 0.0, cap)

    def _gaussian(self) -> Model:
        distance = math.sqrt(self.changed)
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

    def _users(self, mechanism: Mechanism) -> int:
        return self.wanted.users(mechanism, self.margin)

    def _error(self, mechanism: Mechanism) -> float:
        variance, _ = self.wanted.variance(mechanism)
        return math.sqrt(variance / self.devices)

    def _crowd(self) -> int:
        """Return how many devices reach the margin at the local epsilon that they may have.

        The largest local epsilon for which the crowd that reaches the margin with it hides each
        of its devices well enough; of that the crowd, rounded up to three digits. No more than in
        the local model.
        """
        most = self._users(self.mechanism)
        if self.epsilon >= EPSILON_MAX:
            return most

        def honest(mechanism: Mechanism) -> int:
            return unfaked(self._users(mechanism), self.fake_share)

        found = self._local_epsilon(honest)
        if found is None:
            return most
        crowd = Fraction(self._users(self.question.at(found)))
        return min(most, int(_CROWDS[_CROWDS.above(crowd)]))

    def _local_epsilon(self, honest: Callable[[Mechanism], int]) -> Decimal | None:
        return local_epsilon(self.question, self.epsilon, self.delta, honest, self.epsilon)
