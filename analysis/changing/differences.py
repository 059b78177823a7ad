"""What differs between two periods or two segments of a question with a horizon."""

from __future__ import annotations

import math
from collections.abc import Sequence

from deniable.protocol.errors import ParameterError
from deniable.protocol.period_state import PeriodState
from deniable.protocol.question import Value
from deniable.protocol.tally import Tally

from .. import inputs
from ..comparing import p_value
from ..correlation import OTHER_DEVICES, Correlation
from ..difference_results import Compare, Difference, Differences
from ..estimators import Level
from ..inputs import Number
from ..results import text
from ..selection import Selection, select
from ..sides import Side
from .history import History, history_of
from .words import epsilon_unit, remarks

_PERIODS = Correlation(
    0.0,
    "estimated: both periods are estimated from the same tallies, and the error of their "
    "difference allows for the covariance.",
)


def difference_changing(
    pair: tuple[Side, Side],
    compare: Compare,
    tallies: Sequence[Tally],
    states: Sequence[PeriodState],
    value: Value | str | None,
    confidence: Number,
    simultaneous: bool,
) -> Differences:
    """Estimate B - A.

    Parameters
    ----------
    pair : (Side, Side)
        The tallies of the two periods, or of the two segments in one period.
    compare : "periods" or "segments"
    tallies : sequence of Tally
        All that are released of the question.
    states, value, confidence, simultaneous
        As for :func:`deniable.analysis.difference`.

    Raises
    ------
    SourceError
        If a period cannot be estimated.
    ParameterError
        If ``value`` is another than the one that is estimated.
    """
    question = pair[0].question
    grid = question.range
    only = "true" if grid is None else "mean"
    if value is not None and text(value) != only:
        raise ParameterError(f"{question.id}: value must be {only}, the one that is estimated")
    one, two = (_history(side, tallies, states) for side in pair)
    at = (one.index(pair[0].period), two.index(pair[1].period))
    a, error_a = one.levels.combined({at[0]: 1.0})
    b, error_b = two.levels.combined({at[1]: 1.0})
    if compare == "periods":
        shares = {at[1]: 1.0, at[0]: -1.0}
        _, error = one.levels.combined(shares)
        bias = one.fake_bias(shares)
    else:
        error = math.hypot(error_a, error_b)
        bias = one.fake_bias({at[0]: 1.0}) + two.fake_bias({at[1]: 1.0})
    start, width = (0.0, 1.0) if grid is None else (float(grid.low), float(grid.width))
    chance = float(inputs.between("confidence", confidence, "0", "1"))
    d, reach = width * (b - a), width * error * Level(1 - chance).z
    found = Difference(
        value=True if grid is None else "mean",
        estimate_a=start + width * a,
        estimate_b=start + width * b,
        difference=d,
        standard_error=width * error,
        low=d - reach,
        high=d + reach,
        p_value=p_value(b - a, error),
    )
    notes = (*remarks(question), *(note for side in pair for note in side.notes))
    return Differences(
        question=question.id,
        version=question.version,
        compare=compare,
        a=pair[0].name,
        b=pair[1].name,
        period=None if compare == "periods" else pair[0].period,
        segment=None if compare == "segments" else pair[0].segment,
        n_a=one.devices(at[0]),
        n_b=two.devices(at[1]),
        mechanism=question.mechanism.name,
        epsilon=question.epsilon,
        epsilon_first=None,
        confidence=chance,
        simultaneous=simultaneous,
        correlation=(_PERIODS if compare == "periods" else OTHER_DEVICES).assumption,
        quantity="frequency" if grid is None else "mean",
        fake_bias=width * bias,
        notes=tuple(dict.fromkeys(notes)),
        differences=(found,),
        epsilon_unit=epsilon_unit(question),
    )


def _history(side: Side, tallies: Sequence[Tally], states: Sequence[PeriodState]) -> History:
    """Return all released periods of a side's version and segment."""
    every = Selection(side.question.version, side.segment, every=True)
    return history_of(select(tallies, every, states))
