"""Estimates of a number question in one period: its mean, its quantiles, its distribution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from deniable.protocol.errors import DocumentError, ParameterError
from deniable.protocol.exact import canonical
from deniable.protocol.mechanisms.band import Band
from deniable.protocol.mechanisms.scale import Scale
from deniable.protocol.question import Question
from deniable.protocol.ranges import Range
from deniable.protocol.tally import Tally

from . import inputs
from .bands import BandLaw
from .decode import add
from .distribution import bins, distribution, quantile
from .estimators import Level, fake_bias
from .extras import extra
from .inputs import Number
from .means import estimate_mean
from .number_results import DistributionBin, NumberEstimates, Statistic
from .quantiles import quantile_interval
from .tallies import check_same, devices_in, provenance

QUANTILES: Final = ("0.05", "0.25", "0.5", "0.75", "0.95")
"""Shown where the mechanism tells the distribution and nothing else is asked for."""

MOST_QUANTILES: Final = 100


def estimate_numbers(
    tallies: Sequence[Tally],
    *,
    quantiles: Iterable[Number] | None = None,
    confidence: Number = 0.95,
    simultaneous: bool = False,
    notes: tuple[str, ...] = (),
) -> NumberEstimates:
    """Estimate the mean of a number question in one period, and its quantiles.

    Parameters
    ----------
    tallies : sequence of Tally
        As for :func:`deniable.analysis.estimate_tallies`.
    quantiles : iterable of Decimal, float or str, optional
        Levels in (0, 1), at most 100; otherwise :data:`QUANTILES` where the mechanism tells the
        distribution (piecewise, square-wave), and none where it tells the mean alone (1bitmean).
    confidence : float
        Of each interval, two-sided, in (0, 1); of all together if ``simultaneous``.
    simultaneous : bool
        Widen the intervals so that those of the mean and of all quantiles hold at once
        (Bonferroni).
    notes : tuple of str
        To hand on with the result.

    Returns
    -------
    NumberEstimates
        In the question's own units. The mean is unbiased; see
        :class:`~deniable.analysis.number_results.Statistic` for the quantiles.

    Raises
    ------
    ParameterError
        If there is no tally, they do not belong together, the question is not for a number, or
        quantiles are asked of a mechanism that tells only the mean.
    DocumentError
        If this version cannot decode the mechanism.
    """
    check_same(tallies)
    question = tallies[0].question
    mechanism, interval = question.mechanism, question.range
    if interval is None:
        raise ParameterError(f"{question.id} does not ask for a number")
    if question.horizon is not None:
        raise ParameterError(f"{question.id} has a horizon; use estimate_changing")
    if not isinstance(mechanism, Scale):
        raise DocumentError(f"decoder {mechanism.decoder} is unknown; upgrade deniable to read it")
    shares = _levels(question, quantiles)
    chance = inputs.between("confidence", confidence, "0", "1")
    n = devices_in(tallies)
    family = 1 + len(shares) if simultaneous else 1
    level = Level(float(1 - Fraction(chance)), family)
    cells = add([tally.cells for tally in tallies])
    raw = estimate_mean(mechanism, cells, level)
    at, width = _At(interval), float(interval.width)
    mean = Statistic(
        "mean",
        None,
        at.place(raw.frequency),
        raw.standard_error * width,
        at.place(raw.low),
        at.place(raw.high),
    )
    found, spread = _shape(mechanism, cells, shares, level, at)
    return NumberEstimates(
        n=n,
        mechanism=mechanism.name,
        epsilon=mechanism.epsilon,
        epsilon_first=mechanism.epsilon_first,
        confidence=float(chance),
        simultaneous=simultaneous,
        range=interval,
        fake_bias=fake_bias(mechanism) * width,
        statistics=(mean, *found),
        distribution=spread,
        notes=(clipping(interval), *notes),
        **provenance(tallies),
    )


@dataclass(frozen=True, slots=True)
class _At:
    """From places and symbols to numbers."""

    range: Range

    def place(self, place: float) -> float:
        return float(self.range.low) + place * float(self.range.width)

    def symbol(self, symbol: int) -> float:
        """Exact up to the last rounding."""
        return float(self.range.at(Fraction(symbol, self.range.steps)))


def _shape(
    mechanism: Scale, cells: Sequence[int], shares: Sequence[float], level: Level, at: _At
) -> tuple[tuple[Statistic, ...], tuple[DistributionBin, ...]]:
    """Return quantiles and bins, if the mechanism tells them."""
    if not isinstance(mechanism, Band):
        return (), ()
    with extra():
        import numpy as np

    law, counts = BandLaw.of(mechanism), np.asarray(cells, dtype=np.int64)
    frequencies = distribution(law, counts)
    found = []
    for share in shares:
        low, high = quantile_interval(law, counts, share, level)
        symbol = min(max(quantile(frequencies, share), low), high)
        ends = (at.symbol(low), at.symbol(high))
        found.append(Statistic("quantile", share, at.symbol(symbol), None, *ends))
    spread = (
        DistributionBin(at.symbol(one.first), at.symbol(one.last), one.frequency)
        for one in bins(frequencies)
    )
    return tuple(found), tuple(spread)


def _levels(question: Question, quantiles: Iterable[Number] | None) -> tuple[float, ...]:
    """Return the levels asked for, in order and each once."""
    tells = isinstance(question.mechanism, Band)
    if quantiles is None:
        return tuple(map(float, QUANTILES)) if tells else ()
    asked = {inputs.between("quantiles", one, "0", "1") for one in quantiles}
    if asked and not tells:
        raise ParameterError(
            f"{question.id}: quantiles need the distribution, and {question.mechanism.name} tells "
            "only the mean"
        )
    if len(asked) > MOST_QUANTILES:
        raise ParameterError(f"quantiles must be at most {MOST_QUANTILES}: {len(asked)}")
    return tuple(sorted(map(float, asked)))


def clipping(interval: Range) -> str:
    """Say what devices do to numbers before they answer."""
    half = float(interval.width) / interval.steps / 2
    return (
        f"Numbers below {canonical(interval.low)} or above {canonical(interval.high)} were clipped "
        f"to these on the device, the others rounded by at most {half:.3g}; estimates are of the "
        "clipped and rounded numbers."
    )
