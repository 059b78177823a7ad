"""The mean over several periods, for those who ask for it by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from deniable.protocol.errors import ParameterError

from .results import Estimate, Estimates

POOLS: Final = ("mean",)


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
    note = f"Mean of {len(names)} periods; errors and ends of intervals are means of theirs."
    return replace(
        periods[-1],
        n=n,
        period=f"{names[0]}/{names[-1]}",
        pooled=names,
        estimates=tuple(_mean(value, n) for value in values),
        notes=(note, *dict.fromkeys(note for one in periods for note in one.notes)),
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
