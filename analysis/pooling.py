"""The mean over several periods, for those who ask for it by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from statistics import fmean
from typing import Final

from deniable.protocol.errors import ParameterError

from .number_results import NumberEstimates, Statistic
from .results import Estimate, Estimates
from .sets.results import MeanSize, SetEstimates

POOLS: Final = ("mean",)

_NOTE = "Mean of {} periods; errors and ends of intervals are means of theirs."


def pool_mean(periods: Sequence[Estimates]) -> Estimates:
    """Return the mean of the frequencies of several periods, with an error that holds.

    ``SE = (SE_1 + … + SE_T) / T``, which bounds the standard error of a mean whatever the
    correlation of its terms; the ends of the interval are means likewise. Memoized noise is the
    same in every period, so an error that fell with the square root of T would be a lie.

    Parameters
    ----------
    periods : sequence of Estimates
        Of one question and version, oldest first, raw.

    Returns
    -------
    Estimates
        ``n`` is the mean number of devices, ``pooled`` names the periods.

    Raises
    ------
    ParameterError
        If there are none, they are of different questions, or they were post-processed.
    """
    kinds = {(one.question, one.version, len(one.estimates)) for one in periods}
    if len(kinds) != 1:
        raise ParameterError("pool needs periods of one question and version")
    if any(one.post_process != "none" for one in periods):
        raise ParameterError("pool takes raw frequencies; leave out post_process")
    n = round(fmean(one.n for one in periods))
    values = zip(*(one.estimates for one in periods), strict=True)
    names = tuple(str(one.period) for one in periods)
    note = _NOTE.format(len(names))
    pooled = replace(
        periods[-1],
        n=n,
        period=f"{names[0]}/{names[-1]}",
        pooled=names,
        estimates=tuple(_mean(value, n) for value in values),
        warnings=tuple(warning for one in periods for warning in one.warnings),
        notes=(note, *dict.fromkeys(note for one in periods for note in one.notes)),
    )
    return _with_sizes(pooled, periods) if isinstance(pooled, SetEstimates) else pooled


def _with_sizes(pooled: SetEstimates, periods: Sequence[Estimates]) -> SetEstimates:
    """Return the means of sizes and mean sizes too."""
    sets = [one for one in periods if isinstance(one, SetEstimates)]
    sizes = zip(*(one.sizes for one in sets), strict=True)
    means = zip(*(astuple(one.mean_size) for one in sets), strict=True)
    return replace(
        pooled,
        sizes=tuple(_mean(size, pooled.n) for size in sizes),
        mean_size=MeanSize(*map(fmean, means)),
    )


def _mean(periods: Sequence[Estimate], n: int) -> Estimate:
    frequency = fmean(one.frequency for one in periods)
    return Estimate(
        value=periods[0].value,
        count=frequency * n,
        frequency=frequency,
        standard_error=fmean(one.standard_error for one in periods),
        low=fmean(one.low for one in periods),
        high=fmean(one.high for one in periods),
    )


def pool_numbers(periods: Sequence[NumberEstimates]) -> NumberEstimates:
    """Return the mean of each statistic of several periods, as :func:`pool_mean` does.

    The mean of quantiles is no quantile of all devices together, and its interval holds for the
    mean of the true ones. There is no distribution.

    Parameters
    ----------
    periods : sequence of NumberEstimates
        Of one question and version, oldest first.

    Raises
    ------
    ParameterError
        If there are none, or they are of different questions or statistics.
    """
    kinds = {
        (one.question, one.version, tuple((s.statistic, s.level) for s in one.statistics))
        for one in periods
    }
    if len(kinds) != 1:
        raise ParameterError("pool needs periods of one question, version and statistics")
    names = tuple(str(one.period) for one in periods)
    values = zip(*(one.statistics for one in periods), strict=True)
    return replace(
        periods[-1],
        n=round(fmean(one.n for one in periods)),
        period=f"{names[0]}/{names[-1]}",
        pooled=names,
        statistics=tuple(map(_mean_statistic, values)),
        distribution=(),
        warnings=tuple(warning for one in periods for warning in one.warnings),
        notes=(
            _NOTE.format(len(names)),
            *dict.fromkeys(note for one in periods for note in one.notes),
        ),
    )


def _mean_statistic(periods: Sequence[Statistic]) -> Statistic:
    errors = [one.standard_error for one in periods if one.standard_error is not None]
    return Statistic(
        periods[0].statistic,
        periods[0].level,
        estimate=fmean(one.estimate for one in periods),
        standard_error=fmean(errors) if errors else None,
        low=fmean(one.low for one in periods),
        high=fmean(one.high for one in periods),
    )
