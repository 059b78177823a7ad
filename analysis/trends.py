"""A question over time: every released period by itself, one series for each answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from deniable.protocol.errors import ParameterError
from deniable.protocol.question import Value

from .changing.words import CORRELATED
from .inputs import Number
from .measured import measured, quantity
from .number_results import NumberEstimates
from .query import Place, estimate
from .results import EPSILON_UNIT, Estimates, text
from .trend_results import SHARED, Point, Trend


def trend(
    question: str,
    source: Place,
    *,
    token: str | None = None,
    survey: str | None = None,
    version: int | None = None,
    segment: str | None = None,
    value: Value | str | None = None,
    last: int | None = None,
    strings: Iterable[str] | None = None,
    confidence: Number = 0.95,
) -> Trend:
    """Estimate a question in every released period.

    Parameters
    ----------
    question : str
        Its id.
    source, token, survey, version, segment
        As for :func:`deniable.analysis.estimate`; periods of one version only.
    value : bool or str, optional
        One answer only. Of a number question the mean is followed.
    last : int, optional
        The last so many released periods; otherwise all.
    strings : iterable of str, optional
        Of a text question, which needs them: those to follow.
    confidence : float
        Of each interval, two-sided, in (0, 1).

    Returns
    -------
    Trend
        Never pooled: memoized noise is the same in each period.

    Raises
    ------
    SourceError
        If the source cannot be read, or holds nothing that was asked for.
    DocumentError
        If a tally cannot be trusted.
    ParameterError
        If an option is out of range, or there is no such value.
    """
    found = estimate(
        question,
        source,
        token=token,
        survey=survey,
        version=version,
        segment=segment,
        last=last,
        every=last is None,
        strings=strings,
        confidence=confidence,
    )
    periods = found.periods
    newest = periods[-1]
    series: dict[Value | int, list[Point]] = {}
    for period in periods:
        for point in _points(period):
            if value is None or text(point.value) == text(value):
                series.setdefault(point.value, []).append(point)
    if not series:
        known = ", ".join(text(one.value) for one in measured(newest)[:8])
        raise ParameterError(f"{question}: value must be one of its estimates: {known}")
    return Trend(
        question=question,
        version=newest.version or 0,
        segment=segment,
        mechanism=newest.mechanism,
        epsilon=newest.epsilon,
        epsilon_first=newest.epsilon_first,
        confidence=newest.confidence,
        quantity=quantity(newest),
        fake_bias=newest.fake_bias,
        notes=tuple(_notes(periods)),
        points=tuple(point for points in series.values() for point in points),
        epsilon_unit=newest.epsilon_unit,
        correlation=SHARED if newest.epsilon_unit == EPSILON_UNIT else CORRELATED,
    )


def _points(period: Estimates | NumberEstimates) -> Iterable[Point]:
    return (
        Point(
            value="mean" if one.value is None else one.value,
            period=str(period.period),
            n=period.n,
            estimate=one.estimate,
            standard_error=one.standard_error,
            low=one.low,
            high=one.high,
        )
        for one in measured(period)
    )


def _notes(periods: Iterable[Estimates | NumberEstimates]) -> Iterable[str]:
    every = list(periods)
    told = Counter(note for period in every for note in dict.fromkeys(period.notes))
    shared = [note for note, times in told.items() if times == len(every)]
    own = [
        f"{period.period}: {note}"
        for period in every
        for note in period.notes
        if note not in shared
    ]
    return [*shared, *own]
