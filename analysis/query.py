"""From a question's name and a place to its estimates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike, fspath

from deniable.protocol.errors import ParameterError
from deniable.protocol.period_state import PeriodState
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

from .changing.query import of_horizon, whole
from .estimation import estimate_tallies
from .inputs import Number
from .lasso import LASSO, LEAST_SQUARES, estimate_selected, require_decoder
from .number_estimation import estimate_numbers
from .pooling import POOLS, pool_mean, pool_numbers
from .results import EstimateSeries
from .selection import Selection, absent, select, which_survey
from .sets.estimates import estimate_sets
from .shuffling.released import with_crowds
from .sources import PeriodStates, Source, open_source
from .suspicion.warned import with_warnings
from .texts.named import estimate_texts, unnamed

Place = str | PathLike[str] | Source


def estimate(
    question: str,
    source: Place,
    *,
    token: str | None = None,
    survey: str | None = None,
    version: int | None = None,
    segment: str | None = None,
    period: str | None = None,
    last: int | None = None,
    every: bool = False,
    confidence: Number = 0.95,
    simultaneous: bool = False,
    post_process: str = "none",
    pool: str | None = None,
    quantiles: Iterable[Number] | None = None,
    strings: Iterable[str] | None = None,
    decoder: str = LEAST_SQUARES,
    shuffle_delta: Number | None = None,
) -> EstimateSeries:
    """Estimate how many devices answer what, or the mean of a number, from released tallies.

    Parameters
    ----------
    question : str
        Its id.
    source : str, path or Source
        A collector's SQLite store, its ``https://`` address, or what :func:`open_source` gave.
    token : str, optional
        For an address.
    survey : str, optional
        Needed only where several surveys ask a question of that name.
    version : int, optional
        Of the question; the newest that has a released tally.
    segment : str, optional
        One segment; otherwise all released segments are added up, for they are different devices.
    period, last, every : str, int, bool
        At most one of them: one period by name, the last so many, or all; otherwise the latest.
    confidence, simultaneous, post_process
        As for :func:`deniable.analysis.debias`; ``simultaneous`` is over the values of a period.
    pool : "mean", optional
        One result for all periods, see :func:`deniable.analysis.pooling.pool_mean`.
    quantiles : iterable of Decimal, float or str, optional
        Of a number question whose mechanism tells the distribution: levels in (0, 1), see
        :func:`deniable.analysis.estimate_numbers`.
    strings : iterable of str, optional
        Of a text question, which needs them: those to estimate, see
        :func:`deniable.analysis.estimate_texts`.
    decoder : str
        ``least-squares``, or ``lasso`` for the frequent ones of more values than rappor's bits can
        tell apart, see :func:`deniable.analysis.estimate_selected`.
    shuffle_delta : Decimal, float or str, optional
        In (0, 1): add what the crowd of each tally adds to the noise, a certified epsilon of that
        tally alone that may fail with this probability.

    Returns
    -------
    EstimateSeries
        One result for each period, oldest first. Periods are pooled only by ``pool``: memoized
        noise is the same in each, so their errors do not average out. Of a question with a
        horizon every period is estimated from all released tallies together, see
        :func:`deniable.analysis.estimate_changing`, and there are no warnings. ``warnings`` tell
        signs of fake or broken reports, see
        :func:`deniable.analysis.suspicion.warned.with_warnings`.

    Raises
    ------
    SourceError
        If the source cannot be read, or holds nothing that was asked for.
    DocumentError
        If a tally cannot be trusted.
    ParameterError
        If an option is out of range.
    """
    if pool not in (None, *POOLS):
        raise ParameterError(f"pool must be one of {', '.join(POOLS)}: {pool}")
    selection = Selection(version, segment, period, last, every)
    place = opened(source, token)
    states = place.states(survey)
    name = which_survey(states, question, survey)
    states = tuple(s for s in states if (s.survey, s.question) == (name, question))
    tallies = place.tallies(name, question)
    chosen = select(tallies, selection, states)
    noted = [(tallies, _notes(tallies, segment, states)) for tallies in chosen]
    require_decoder(chosen[0][0].question, decoder, alone=pool is None)
    if chosen[0][0].question.horizon is not None:
        if any(one is not None for one in (shuffle_delta, quantiles, strings)):
            raise ParameterError(
                f"{question} has a horizon; leave out quantiles, strings and shuffle_delta"
            )
        released = select(tallies, whole(selection, chosen), states)
        return of_horizon(released, noted, selection.listed, confidence, post_process, pool)
    if chosen[0][0].question.range is not None:
        if post_process != "none":
            raise ParameterError(f"{question} asks for a number; leave out post_process")
        numbers = tuple(
            estimate_numbers(
                tallies,
                quantiles=quantiles,
                confidence=confidence,
                simultaneous=simultaneous,
                notes=notes,
            )
            for tallies, notes in noted
        )
        numbers = with_warnings(with_crowds(numbers, chosen, shuffle_delta, pool), chosen)
        if pool:
            return EstimateSeries((pool_numbers(numbers),))
        return EstimateSeries(numbers, selection.listed)
    if quantiles is not None:
        raise ParameterError(f"{question} does not ask for a number; leave out quantiles")
    names = _strings(chosen[0][0].question, strings, post_process)
    usual = estimate_sets if chosen[0][0].question.type == "set" else estimate_tallies
    if decoder == LASSO:
        usual = estimate_selected
    made = tuple(
        usual(
            tallies,
            confidence=confidence,
            simultaneous=simultaneous,
            post_process=post_process,
            notes=notes,
        )
        if names is None
        else estimate_texts(
            tallies, names, confidence=confidence, simultaneous=simultaneous, notes=notes
        )
        for tallies, notes in noted
    )
    made = with_warnings(with_crowds(made, chosen, shuffle_delta, pool), chosen)
    return EstimateSeries((pool_mean(made),)) if pool else EstimateSeries(made, selection.listed)


def periods(source: Place, *, token: str | None = None, survey: str | None = None) -> PeriodStates:
    """Return what is released, pending or destroyed.

    Parameters
    ----------
    source, token, survey
        As for :func:`estimate`.

    Returns
    -------
    PeriodStates
        Crowds are exact where released; of a pending period only the order of magnitude is told.

    Raises
    ------
    SourceError
        If the source cannot be read.
    DocumentError
        If what it says is malformed.
    """
    return PeriodStates(opened(source, token).states(survey))


def opened(source: Place, token: str | None) -> Source:
    """Open a place that is named; a source is open already."""
    return open_source(fspath(source), token) if isinstance(source, str | PathLike) else source


def _strings(
    question: Question, strings: Iterable[str] | None, post_process: str
) -> tuple[str, ...] | None:
    """Return the strings to estimate, or None if the question asks for something else."""
    if question.text is None:
        if strings is not None:
            raise ParameterError(f"{question.id} does not ask for a text; leave out strings")
        return None
    if strings is None:
        raise ParameterError(unnamed(question))
    if post_process != "none":
        raise ParameterError(f"{question.id} asks for a text; leave out post_process")
    return tuple(strings)


def _notes(
    tallies: Sequence[Tally], segment: str | None, states: Sequence[PeriodState]
) -> tuple[str, ...]:
    relevant = [state for state in states if segment in (None, state.segment)]
    batches = {tally.batch for tally in tallies} - {None}
    several = (f"Adds up {len(batches)} batches.",) if len(batches) > 1 else ()
    return (*several, *absent(tallies, relevant))
