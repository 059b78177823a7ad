"""Estimates of a question with a horizon, period by period, as they are handed out.

They are the results of any other yes/no or number question, with another unit of epsilon: what is
printed, drawn and compared does not depend on where an estimate came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deniable.protocol.errors import ParameterError
from deniable.protocol.tally import Tally

from .. import inputs
from ..estimators import Level
from ..inputs import Number
from ..number_estimation import clipping
from ..number_results import NumberEstimates, Statistic
from ..postprocess import clip
from ..results import Estimate, Estimates
from ..tallies import provenance
from .history import History, history_of
from .words import epsilon_unit, remarks

STEPS = ("none", "clip")

Made = Estimates | NumberEstimates


def estimate_changing(
    tallies: Sequence[Sequence[Tally]],
    periods: Sequence[str] | None = None,
    *,
    confidence: Number = 0.95,
    post_process: str = "none",
    notes: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Made, ...]:
    """Estimate a question with a horizon in several periods, from the tallies of all of them.

    By generalised least squares, see :mod:`deniable.analysis.changing.network`: unbiased, and
    never worse than a sum over stretches of time; with a standard error that allows for whatever
    answers devices have.

    Parameters
    ----------
    tallies : sequence of sequence of Tally
        Every released one of one question and version, by period; those of one period are of
        different devices. Periods may be missing.
    periods : sequence of str, optional
        To estimate; otherwise all that are given.
    confidence : float
        Of each interval, two-sided, in (0, 1).
    post_process : "none" or "clip"
        As for :func:`deniable.analysis.debias`.
    notes : mapping of str to tuple of str, optional
        By period, to hand on with its result.

    Returns
    -------
    tuple of Estimates or of NumberEstimates
        In the order of ``periods``: of a yes/no the frequency of true, of a number the mean.

    Raises
    ------
    SourceError
        If a period cannot be estimated.
    ParameterError
        If tallies do not belong together, or an option is out of range.
    """
    if post_process not in STEPS:
        raise ParameterError(f"post_process must be one of {', '.join(STEPS)} here: {post_process}")
    history = history_of(tallies)
    asked = [own[0].period for own in tallies] if periods is None else periods
    chance = _chance(confidence)
    every = notes or {}
    return tuple(_of(history, name, chance, post_process, every.get(name, ())) for name in asked)


def mean_of_periods(
    tallies: Sequence[Sequence[Tally]],
    periods: Sequence[str],
    *,
    confidence: Number = 0.95,
    notes: tuple[str, ...] = (),
) -> Made:
    """Estimate the mean over some periods, with the error that their covariance gives it.

    Parameters
    ----------
    tallies, periods, confidence, notes
        As for :func:`estimate_changing`; at least one period.
    """
    history = history_of(tallies)
    shares = {history.index(name): 1 / len(periods) for name in periods}
    last = _of(history, periods[-1], _chance(confidence), "none", ())
    n = round(sum(history.devices(t) for t in shares) / len(shares))
    said = f"Mean of {len(periods)} periods; its error allows for the covariance of theirs."
    made = _filled(last, history, shares, n)
    return replace(
        made,
        period=f"{periods[0]}/{periods[-1]}",
        pooled=tuple(periods),
        notes=(said, *made.notes, *notes),
    )


def _of(history: History, period: str, chance: float, how: str, notes: tuple[str, ...]) -> Made:
    t = history.index(period)
    question = history.question
    grid = question.range
    common: dict[str, Any] = {
        **provenance(history.tallies.get(t) or next(iter(history.tallies.values()))),
        "period": period,
        "n": history.devices(t),
        "mechanism": question.mechanism.name,
        "epsilon": question.epsilon,
        "epsilon_first": None,
        "epsilon_unit": epsilon_unit(question),
        "confidence": chance,
        "simultaneous": False,
        "fake_bias": 0.0,
        "notes": (*(() if grid is None else (clipping(grid),)), *remarks(question), *notes),
    }
    made: Made
    if grid is None:
        options = question.mechanism.chosen
        made = Estimates(**common, post_process=how, estimates=(), options=options)
    else:
        made = NumberEstimates(**common, range=grid, statistics=())
    return _filled(made, history, {t: 1.0}, common["n"])


def _filled(made: Made, history: History, shares: Mapping[int, float], n: int) -> Made:
    """Return the result with the estimate of a weighted mean of periods."""
    share, error = history.levels.combined(shares)
    half = Level(1 - made.confidence).z * error
    low, high = share - half, share + half
    bias = history.fake_bias(shares)
    if isinstance(made, Estimates):
        frequency = clip([share])[0] if made.post_process == "clip" else share
        shown = Estimate(True, frequency * n, frequency, error, low, high)
        return replace(made, n=n, fake_bias=bias, estimates=(shown,))
    start, width = float(made.range.low), float(made.range.width)
    mean, left, right = (start + width * place for place in (share, low, high))
    statistic = Statistic("mean", None, mean, error * width, left, right)
    return replace(made, n=n, fake_bias=bias * width, statistics=(statistic,))


def _chance(confidence: Number) -> float:
    return float(inputs.between("confidence", confidence, "0", "1"))
