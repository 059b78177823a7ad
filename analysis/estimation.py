"""Estimates of one period: from counts of anywhere, or from tallies of different devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import (
    MECHANISMS,
    NO_OPTIONS,
    FrequencyOracle,
    Mechanism,
    Options,
    build,
    named,
)
from deniable.protocol.question import Value
from deniable.protocol.tally import Tally

from . import inputs
from .decode import Supports, add
from .em import names_one
from .estimators import Level, Raw, estimate_supports, fake_bias
from .frequencies import estimate_cells
from .inputs import Number
from .postprocess import Counted, process, require_step
from .results import Estimate, Estimates
from .tallies import check_same, devices_in, provenance

SUPPORTED = tuple(name for name in named("choice") if issubclass(MECHANISMS[name], FrequencyOracle))
"""Mechanisms whose counts of supports can be debiased."""


def debias(
    counts: Iterable[SupportsIndex],
    *,
    mechanism: str,
    epsilon: Number,
    epsilon_first: Number | None = None,
    options: Options = NO_OPTIONS,
    n: SupportsIndex | None = None,
    confidence: Number = 0.95,
    simultaneous: bool = False,
    post_process: str = "none",
) -> Estimates:
    """Estimate frequencies from counts of randomized reports, wherever they were collected.

    ``f_i = (C_i/n - q) / (p - q)`` for each count C_i of reports that support symbol i, where
    p and q are the probabilities that a report supports its true and any other symbol.

    Parameters
    ----------
    counts : iterable of int
        Supports of symbols 0..k-1: reports that name it (grr), set its bit (sue, oue, ss) or
        otherwise count for it.
    mechanism : str
        Any for choices whose supports have one p and one q: not ``rappor``.
    epsilon : Decimal, int, float or str
        Of the permanent response; of the report if there is only one round.
    epsilon_first : Decimal, int, float or str, optional
        Of one report, if it went through a second round.
    options : mapping of str to int
        Of the mechanism, such as ``{"g": 4}``; what is left out, it chooses.
    n : int, optional
        Reports that say anything about a value. For grr it is the sum of the counts and may be
        left out.
    confidence : float
        Of each interval, two-sided, in (0, 1); of all together if ``simultaneous``.
    simultaneous : bool
        Widen the intervals so that all hold at once (Bonferroni).
    post_process : str
        ``none``, ``clip``, ``norm-sub``, ``simplex`` or ``em``; see
        :mod:`deniable.analysis.postprocess`.

    Returns
    -------
    Estimates
        One for each symbol, unbiased unless post-processed; ``value`` is the symbol's index.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the counts do not fit the mechanism and n.

    References
    ----------
    Warner. Randomized response: a survey technique for eliminating evasive answer bias. 1965.
    Wang, Blocki, Li, Jha. Locally differentially private protocols for frequency estimation.
    USENIX Security 2017.

    Examples
    --------
    >>> result = debias([240, 160], mechanism="grr", epsilon="1.0986122886681098")
    >>> yes = result.estimates[1]
    >>> round(yes.count, 6), round(yes.standard_error, 3)
    (120.0, 0.049)
    """
    supports = inputs.counts("counts", counts)
    first = None if epsilon_first is None else inputs.epsilon("epsilon_first", epsilon_first)
    built = build(mechanism, len(supports), inputs.epsilon("epsilon", epsilon), first, options)
    if not isinstance(built, FrequencyOracle):
        raise ParameterError(f"mechanism must be one of {', '.join(SUPPORTED)}: {mechanism}")
    total = _reports(built, supports, n)
    counted = Supports(supports, (total,) * len(supports))
    return _estimates(
        built,
        partial(estimate_supports, built, counted),
        counted,
        total,
        range(len(supports)),
        confidence,
        simultaneous,
        post_process,
    )


def estimate_tallies(
    tallies: Sequence[Tally],
    *,
    confidence: Number = 0.95,
    simultaneous: bool = False,
    post_process: str = "none",
    notes: tuple[str, ...] = (),
) -> Estimates:
    """Estimate the frequencies of one question in one period from its released tallies.

    Parameters
    ----------
    tallies : sequence of Tally
        Of one question, version and period; of different segments or batches, and so of
        different devices, whose counts add up.
    confidence, simultaneous, post_process
        As for :func:`debias`.
    notes : tuple of str
        To hand on with the result.

    Returns
    -------
    Estimates
        One for each choice; for a yes/no question one, of ``true``.

    Raises
    ------
    ParameterError
        If there is no tally, or they are of different questions or periods, or two are of the
        same devices; or if the question is for a number, a text or a set, see
        :func:`deniable.analysis.estimate_numbers`, :func:`deniable.analysis.estimate_texts` and
        :func:`deniable.analysis.estimate_sets`.
    """
    check_same(tallies)
    question = tallies[0].question
    if question.horizon is not None:
        raise ParameterError(f"{question.id} has a horizon; use estimate_changing")
    if question.range is not None:
        raise ParameterError(f"{question.id} asks for a number; use estimate_numbers")
    if question.text is not None:
        raise ParameterError(f"{question.id} asks for a text; use estimate_texts")
    if question.type == "set":
        raise ParameterError(f"{question.id} asks for a set; use estimate_sets")
    mechanism = question.mechanism
    cells = add([tally.cells for tally in tallies])
    n = devices_in(tallies)
    values: Sequence[Value] = question.values
    raw = partial(estimate_cells, mechanism, cells)
    made = _estimates(mechanism, raw, cells, n, values, confidence, simultaneous, post_process)
    return replace(made, notes=(*made.notes, *notes), **provenance(tallies))


def _estimates(
    mechanism: Mechanism,
    estimated: Callable[[Level], Sequence[Raw]],
    counted: Counted,
    n: int,
    values: Sequence[Value | int],
    confidence: Number,
    simultaneous: bool,
    how: str,
) -> Estimates:
    chance = inputs.between("confidence", confidence, "0", "1")
    require_step(how)
    shown = [1] if isinstance(values[0], bool) else range(len(values))
    complementary = mechanism.k == 2 and _exclusive(mechanism)
    family = len(shown) if simultaneous and not complementary else 1
    raw = estimated(Level(float(1 - Fraction(chance)), family))
    frequencies, notes = process(mechanism, counted, [one.frequency for one in raw], how)
    return Estimates(
        n=n,
        mechanism=mechanism.name,
        options=mechanism.chosen,
        epsilon=mechanism.epsilon,
        epsilon_first=mechanism.epsilon_first,
        confidence=float(chance),
        simultaneous=simultaneous,
        post_process=how,
        fake_bias=fake_bias(mechanism),
        notes=notes,
        estimates=tuple(
            Estimate(
                values[i],
                frequencies[i] * n,
                frequencies[i],
                raw[i].standard_error,
                raw[i].low,
                raw[i].high,
            )
            for i in shown
        ),
    )


def _exclusive(mechanism: Mechanism) -> bool:
    """Whether every report supports exactly one value."""
    return isinstance(mechanism, FrequencyOracle) and names_one(mechanism)


def _reports(mechanism: Mechanism, supports: Sequence[int], n: SupportsIndex | None) -> int:
    given = None if n is None else inputs.integer("n", n, 1, inputs.MAX_REPORTS)
    if _exclusive(mechanism):
        total = sum(supports)
        if given not in (None, total):
            raise ParameterError(f"n must be the sum of the counts ({total}) or left out: {given}")
        if total == 0:
            raise ParameterError("counts must hold at least one report")
        return total
    if given is None:
        raise ParameterError(f"n is needed for {mechanism.name}: its counts do not tell it")
    if max(supports) > given:
        raise ParameterError(f"counts must not exceed n ({given}): {max(supports)}")
    weight = mechanism.shape.weight
    if weight is not None and sum(supports) != weight * given:
        raise ParameterError(
            f"counts must add up to {weight} n, for each report supports {weight} values: "
            f"{sum(supports)}"
        )
    return given
