"""Estimates of one period: from counts of anywhere, or from tallies of different devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism, build
from deniable.protocol.question import Value
from deniable.protocol.tally import Tally

from . import inputs
from .decode import add, decode
from .estimators import Level, estimate_supports, fake_bias
from .inputs import Number
from .postprocess import STEPS, post_process
from .results import Estimate, Estimates


def debias(
    counts: Iterable[SupportsIndex],
    *,
    mechanism: str,
    epsilon: Number,
    epsilon_first: Number | None = None,
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
        Supports of symbols 0..k-1: reports that name it (grr) or set its bit (sue, oue).
    mechanism : str
        ``grr``, ``sue`` or ``oue``.
    epsilon : Decimal, int, float or str
        Of the permanent response; of the report if there is only one round.
    epsilon_first : Decimal, int, float or str, optional
        Of one report, if it went through a second round.
    n : int, optional
        Reports. Needed for sue and oue; for grr it is the sum of the counts.
    confidence : float
        Of each interval, two-sided, in (0, 1); of all together if ``simultaneous``.
    simultaneous : bool
        Widen the intervals so that all hold at once (Bonferroni).
    post_process : str
        ``none``, ``clip``, ``norm-sub`` or ``simplex``; see :mod:`deniable.analysis.postprocess`.

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
    built = build(mechanism, len(supports), inputs.epsilon("epsilon", epsilon), first)
    total = _reports(built, supports, n)
    return _estimates(
        built, supports, total, range(len(supports)), confidence, simultaneous, post_process
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
        same devices.
    """
    _check_same(tallies)
    question, period = tallies[0].question, tallies[0].period
    mechanism = question.mechanism
    supports = decode(mechanism, add([tally.cells for tally in tallies]))
    n = sum(tally.n for tally in tallies)
    if n == 0:
        raise ParameterError(f"{question.id}: the tallies of {period} count no device")
    values: Sequence[Value] = question.values
    made = _estimates(mechanism, supports, n, values, confidence, simultaneous, post_process)
    named = sorted({tally.segment for tally in tallies}, key=lambda name: (name is None, name))
    return replace(
        made,
        question=question.id,
        version=question.version,
        period=period,
        segment=named[0] if len(named) == 1 else None,
        segments=tuple(named) if len(named) > 1 else (),
        batches=tuple(sorted({tally.batch for tally in tallies if tally.batch})),
        notes=notes,
    )


def _estimates(
    mechanism: Mechanism,
    supports: Sequence[int],
    n: int,
    values: Sequence[Value | int],
    confidence: Number,
    simultaneous: bool,
    how: str,
) -> Estimates:
    chance = inputs.between("confidence", confidence, "0", "1")
    if how not in STEPS:
        raise ParameterError(f"post_process must be one of {', '.join(STEPS)}: {how}")
    shown = [1] if isinstance(values[0], bool) else range(len(values))
    complementary = mechanism.shape.kind == "symbol" and mechanism.k == 2
    family = len(shown) if simultaneous and not complementary else 1
    raw = estimate_supports(mechanism, supports, n, Level(float(1 - Fraction(chance)), family))
    frequencies = post_process([one.frequency for one in raw], how)
    return Estimates(
        n=n,
        mechanism=mechanism.name,
        epsilon=mechanism.epsilon,
        epsilon_first=mechanism.epsilon_first,
        confidence=float(chance),
        simultaneous=simultaneous,
        post_process=how,
        fake_bias=fake_bias(mechanism),
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


def _reports(mechanism: Mechanism, supports: Sequence[int], n: SupportsIndex | None) -> int:
    given = None if n is None else inputs.integer("n", n, 1, inputs.MAX_REPORTS)
    if mechanism.shape.kind == "symbol":
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
    return given


def _check_same(tallies: Sequence[Tally]) -> None:
    if not tallies:
        raise ParameterError("tallies must hold at least one")
    kinds = {(t.question.survey, t.question.id, t.question.hash, t.period) for t in tallies}
    if len(kinds) > 1:
        raise ParameterError("tallies must be of one question, version and period")
    if len({(tally.segment, tally.batch) for tally in tallies}) < len(tallies):
        raise ParameterError("tallies must be of different segments or batches")
