"""From a joint question to its cross table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism
from deniable.protocol.tally import Tally

from .. import inputs
from ..decode import add
from ..estimators import Level, fake_bias
from ..extras import extra
from ..frequencies import estimate_cells
from ..inputs import Number
from ..query import Place, opened
from ..selection import which_survey
from ..sides import of_one
from ..tallies import check_same, devices_in, provenance
from .association import associate, distribution
from .cells import pairs, sums
from .covariance import covariance, least_support
from .results import Crosstab

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]


def crosstab(
    question: str,
    source: Place,
    *,
    token: str | None = None,
    survey: str | None = None,
    version: int | None = None,
    period: str | None = None,
    segment: str | None = None,
    confidence: Number = 0.95,
) -> Crosstab:
    """Cross the two parts of a joint question, from released tallies.

    Parameters
    ----------
    question : str
        Its id.
    source, token, survey, version
        As for :func:`deniable.analysis.estimate`.
    period : str, optional
        Otherwise the latest that is released.
    segment : str, optional
        Otherwise all segments are added up.
    confidence : float
        Of each interval, two-sided, in (0, 1).

    Returns
    -------
    Crosstab
        See :func:`crosstab_tallies`.

    Raises
    ------
    SourceError
        If the source cannot be read, or holds nothing that was asked for.
    DocumentError
        If a tally cannot be trusted.
    ParameterError
        If the question is no joint one, or the confidence is out of range.
    """
    place = opened(source, token)
    states = place.states(survey)
    name = which_survey(states, question, survey)
    states = tuple(s for s in states if (s.survey, s.question) == (name, question))
    side = of_one(place.tallies(name, question), states, version, period, segment)
    return crosstab_tallies(side.tallies, confidence=confidence, notes=side.notes)


def crosstab_tallies(
    tallies: Sequence[Tally], *, confidence: Number = 0.95, notes: tuple[str, ...] = ()
) -> Crosstab:
    """Cross the two parts of a joint question, from its released tallies of one period.

    Pairs are estimated as :func:`deniable.analysis.estimate_tallies` does. Marginals are their
    sums, and conditionals ratios of the two; their errors take the covariance of the pairs into
    account, see :mod:`deniable.analysis.crosstabs.covariance`. Of the test of association, see
    :mod:`deniable.analysis.crosstabs.association`.

    Parameters
    ----------
    tallies : sequence of Tally
        Of different segments or batches, whose counts add up.
    confidence : float
        Of each interval, two-sided, in (0, 1).
    notes : tuple of str
        To hand on with the result.

    Returns
    -------
    Crosstab

    Raises
    ------
    ParameterError
        If there is no tally, or they do not add up; or if the question is no joint one, or no
        device is counted.
    """
    chance = inputs.between("confidence", confidence, "0", "1")
    check_same(tallies)
    question = tallies[0].question
    if not question.parts:
        raise ParameterError(
            f"{question.id} is a {question.type} question; only joint ones, of two parts, are "
            "crossed"
        )
    mechanism = question.mechanism
    cells = add([tally.cells for tally in tallies])
    n = devices_in(tallies)
    with extra():
        import numpy as np
    level = Level(float(1 - chance))
    raw = estimate_cells(mechanism, cells, level)
    one, two = question.parts
    table = np.array([each.frequency for each in raw]).reshape(len(one.choices), -1)
    spread = partial(_spread, mechanism, cells)
    return Crosstab(
        **provenance(tallies),
        first_part=one.name,
        second_part=two.name,
        n=n,
        mechanism=mechanism.name,
        epsilon=mechanism.epsilon,
        epsilon_first=mechanism.epsilon_first,
        confidence=float(chance),
        fake_bias=fake_bias(mechanism),
        cells=(
            *pairs(one, two, raw),
            *sums(one, two, table, spread(distribution(table)), level.z),
        ),
        association=associate(table, spread, n, least_support(mechanism), float(chance)),
        notes=notes,
        options=mechanism.chosen,
    )


def _spread(mechanism: Mechanism, cells: Sequence[int], frequencies: Array) -> Array:
    return covariance(mechanism, cells, frequencies.ravel())
