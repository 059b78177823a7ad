"""What differs between two periods, two segments, or two answers of one question.

Nothing here pools or post-processes: a difference is that of two raw estimates, its error rests
on a correlation that is stated in words, and where that is not known, on a bound. See
:mod:`deniable.analysis.comparing` for the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import FrequencyOracle, Scale
from deniable.protocol.normal import nfc
from deniable.protocol.question import Question, Value

from . import inputs
from .changing.differences import difference_changing
from .comparing import between, dual, holm
from .correlation import OTHER_DEVICES, SAME_DEVICES, Correlation, of_values
from .decode import add
from .difference_results import Compare, Difference, Differences
from .estimators import Level, Raw, fake_bias
from .frequencies import estimate_cells
from .inputs import Number
from .measured import Measured, estimated, measure, measured
from .query import Place, opened
from .results import text
from .selection import which_survey
from .sides import Side, of_one, of_periods, of_segments

Pair = tuple[str, str]


def difference(
    question: str,
    source: Place,
    *,
    token: str | None = None,
    survey: str | None = None,
    version: int | None = None,
    periods: Pair | None = None,
    segments: Pair | None = None,
    values: tuple[Value | str, Value | str] | None = None,
    period: str | None = None,
    segment: str | None = None,
    value: Value | str | None = None,
    confidence: Number = 0.95,
    simultaneous: bool = False,
) -> Differences:
    """Estimate B - A, with its standard error, interval and p-value.

    Exactly one of ``periods``, ``segments`` and ``values`` says what A and B are.

    Parameters
    ----------
    question : str
        Its id.
    source, token, survey, version
        As for :func:`deniable.analysis.estimate`.
    periods : (str, str), optional
        Two periods of one version. Their errors are taken as uncorrelated, which is
        conservative: memoized noise is the same in both, and partly cancels.
    segments : (str, str), optional
        Two segments of one period: different devices, so independent.
    values : (value, value), optional
        Two answers in one period, with the covariance that the mechanism gives them.
    period : str, optional
        For segments and values; otherwise the latest that is released.
    segment : str, optional
        For periods and values; otherwise all segments are added up.
    value : bool or str, optional
        For periods and segments: one answer only. Of a number question the mean is compared, in
        its own units.
    confidence : float
        Of each interval, two-sided, in (0, 1).
    simultaneous : bool
        For all answers together: intervals by Bonferroni, p-values by Holm.

    Returns
    -------
    Differences
        One for each answer, or the one that was asked for; of a yes/no question, of true.

    Raises
    ------
    SourceError
        If the source cannot be read, or holds nothing that was asked for.
    DocumentError
        If a tally cannot be trusted.
    ParameterError
        If an option is out of range, or there is nothing to compare.
    """
    compare = _compared(periods, segments, values)
    _check_options(compare, period, segment, value)
    inputs.between("confidence", confidence, "0", "1")
    place = opened(source, token)
    states = place.states(survey)
    name = which_survey(states, question, survey)
    states = tuple(s for s in states if (s.survey, s.question) == (name, question))
    tallies = place.tallies(name, question)
    if any(tally.question.text is not None for tally in tallies):
        raise ParameterError(f"{question} asks for a text; estimate each side with --strings")
    if periods is not None:
        pair = of_periods(tallies, states, periods, version, segment)
        if pair[0].question.horizon is not None:
            return difference_changing(
                pair, "periods", tallies, states, value, confidence, simultaneous
            )
        return _of_two(pair, SAME_DEVICES, "periods", value, confidence, simultaneous)
    if segments is not None:
        pair = of_segments(tallies, states, segments, version, period)
        if pair[0].question.horizon is not None:
            return difference_changing(
                pair, "segments", tallies, states, value, confidence, simultaneous
            )
        return _of_two(pair, OTHER_DEVICES, "segments", value, confidence, simultaneous)
    side = of_one(tallies, states, version, period, segment)
    if side.question.horizon is not None:
        raise ParameterError(
            f"{question} has one estimate in each period; compare two periods or two segments"
        )
    return _of_values(side, values or ("", ""), confidence, simultaneous)


def _compared(*asked: object) -> Compare:
    kinds: tuple[Compare, ...] = ("periods", "segments", "values")
    given = [kind for kind, pair in zip(kinds, asked, strict=True) if pair is not None]
    if len(given) != 1:
        raise ParameterError("compare two periods, two segments or two values: one of the three")
    return given[0]


def _check_options(
    compare: Compare, period: str | None, segment: str | None, value: object
) -> None:
    """Refuse an option that would say twice what is compared."""
    refused = {"periods": period, "segments": segment, "values": value}[compare]
    if refused is not None:
        raise ParameterError(f"{compare[:-1]} has no meaning where two {compare} are compared")


def _of_two(
    pair: tuple[Side, Side],
    correlation: Correlation,
    compare: Compare,
    value: Value | str | None,
    confidence: Number,
    simultaneous: bool,
) -> Differences:
    """Compare each value's estimates of two sets of tallies."""
    asked = pair[0].question
    only = None if value is None else _value(asked, value)
    together = simultaneous and only is None
    made = [estimated(side.tallies, confidence, together) for side in pair]
    pair = (pair[0].noting(made[0].notes), pair[1].noting(made[1].notes))

    def compared(sides: Iterable[list[Measured]]) -> list[Difference]:
        return [
            between(one, two, correlation, one.value)
            for one, two in zip(*sides, strict=True)
            if only is None or one.value == only
        ]

    found = compared(map(measured, made))
    if not found:
        raise ParameterError(f"{asked.id}: a yes/no question has one estimate, of true")
    if isinstance(asked.mechanism, FrequencyOracle | Scale):
        cells = [add([tally.cells for tally in side.tallies]) for side in pair]
        found = _with_dual(
            found,
            lambda level: compared(measure(asked, each, level) for each in cells),
            confidence,
        )
    return _result(pair, compare, correlation, found, confidence, simultaneous)


def _of_values(
    side: Side, values: tuple[Value | str, Value | str], confidence: Number, simultaneous: bool
) -> Differences:
    """Compare the estimates of two values of one set of tallies."""
    asked = side.question
    one, two = (_symbol(asked, value) for value in values)
    if one == two:
        raise ParameterError("values must be two different answers")
    cells = add([tally.cells for tally in side.tallies])
    level = Level(float(1 - Fraction(inputs.exact("confidence", confidence))))
    if side.n == 0:
        raise ParameterError(f"{asked.id}: the tallies of {side.period} count no device")
    correlation = of_values(asked.mechanism, cells, one, two)

    def compared(level: Level) -> list[Difference]:
        raw = estimate_cells(asked.mechanism, cells, level)
        return [between(_raw(raw[one]), _raw(raw[two]), correlation, None)]

    found = compared(level)
    if isinstance(asked.mechanism, FrequencyOracle):
        found = _with_dual(found, compared, confidence)
    named = tuple(replace(side, name=text(asked.values[symbol])) for symbol in (one, two))
    return _result((named[0], named[1]), "values", correlation, found, confidence, simultaneous)


def _with_dual(
    found: Sequence[Difference],
    compared: Callable[[Level], Sequence[Difference]],
    confidence: Number,
) -> list[Difference]:
    """Give differences the p-values that go with their intervals."""
    own = Level(float(1 - Fraction(inputs.exact("confidence", confidence))))
    return [replace(one, p_value=p) for one, p in zip(found, dual(compared, own), strict=True)]


def _result(
    pair: tuple[Side, Side],
    compare: Compare,
    correlation: Correlation,
    found: Sequence[Difference],
    confidence: Number,
    simultaneous: bool,
) -> Differences:
    a, b = pair
    if simultaneous:
        adjusted = holm([one.p_value for one in found])
        found = [replace(one, p_value=p) for one, p in zip(found, adjusted, strict=True)]
    asked = a.question
    unit = 1.0 if asked.range is None else float(asked.range.width)
    return Differences(
        question=asked.id,
        version=asked.version,
        compare=compare,
        a=a.name,
        b=b.name,
        period=None if compare == "periods" else a.period,
        segment=None if compare == "segments" else a.segment,
        n_a=a.n,
        n_b=b.n,
        mechanism=asked.mechanism.name,
        epsilon=asked.mechanism.epsilon,
        epsilon_first=asked.mechanism.epsilon_first,
        confidence=float(inputs.exact("confidence", confidence)),
        simultaneous=simultaneous,
        correlation=correlation.assumption,
        quantity="frequency" if asked.range is None else "mean",
        fake_bias=2 * unit * fake_bias(asked.mechanism),
        notes=tuple(dict.fromkeys(note for side in pair for note in side.notes)),
        differences=tuple(found),
    )


def _raw(one: Raw) -> Measured:
    return Measured(None, one.frequency, one.standard_error, one.low, one.high)


def _value(question: Question, value: Value | str) -> Value:
    """Return what is estimated of a question under that name."""
    if question.range is not None and value == "mean":
        return "mean"
    return question.values[_symbol(question, value)]


def _symbol(question: Question, value: Value | str) -> int:
    """Return the symbol of an answer, which may be written as text."""
    if not question.values:
        raise ParameterError(f"{question.id} asks for a number: its mean is compared, no values")
    written = {text(each): symbol for symbol, each in enumerate(question.values)}
    known = written.get(nfc(value)) if isinstance(value, str) else None
    if known is not None:
        return known
    if question.type == "set" or (question.parts and isinstance(value, str)):
        # Of a set a collection is a whole answer, of which no frequency is estimated.
        shown = ", ".join(list(written)[:8]) + (", …" if len(written) > 8 else "")
        of = "items" if question.type == "set" else "pairs"
        raise ParameterError(f"{question.id}: the value must be one of its {of}: {shown}")
    return question.encode(value)
