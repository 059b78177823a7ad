"""Estimates of the strings that an analyst names, from the released tallies of a text question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TypeGuard

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import FrequencyOracle, Mechanism
from deniable.protocol.mechanisms.pem import PEM
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

from .. import inputs
from ..decode import add
from ..estimators import Level, fake_bias
from ..inputs import Number
from ..results import Estimate, Estimates
from ..tallies import check_same, provenance
from .estimates import Fit, estimate_codes
from .strings import named
from .tables import table_of


def unnamed(question: Question) -> str:
    """Say what to do where strings are needed and none were named."""
    found = isinstance(question.mechanism, PEM)
    also = ", or find frequent ones with deniable heavy-hitters" if found else ""
    return f"{question.id} asks for a text: name strings with --strings FILE{also}"


def estimate_texts(
    tallies: Sequence[Tally],
    strings: Iterable[str],
    *,
    confidence: Number = 0.95,
    simultaneous: bool = False,
    notes: tuple[str, ...] = (),
) -> Estimates:
    """Estimate how frequent named strings are among the answers to a text question.

    Strings may be named long after the reports were collected. Those named together take out each
    other's collisions, so the more of the frequent ones are named, the smaller are the errors; see
    :mod:`deniable.analysis.texts.estimates`.

    Parameters
    ----------
    tallies : sequence of Tally
        Of one text question, version and period; of different segments or batches.
    strings : iterable of str
        Written in any way that devices normalise to the same; each once.
    confidence, simultaneous
        As for :func:`deniable.analysis.debias`.
    notes : tuple of str
        To hand on with the result.

    Returns
    -------
    Estimates
        One for each string, in order, and one of all texts that do not fit the question's form;
        unbiased, with the variance of collisions in every error and interval. ``value`` is the
        string as devices normalise it, or a name such as ``(other)`` that no string has.

    Raises
    ------
    SurveyError
        With every string that does not fit or comes twice.
    ParameterError
        If there is no string, the tallies do not belong together, or no question for a text.
    MissingExtraError
        If numpy or scipy is absent.
    """
    check_same(tallies)
    question, mechanism = tallies[0].question, tallies[0].question.mechanism
    if question.text is None or not _is_oracle(mechanism):
        raise ParameterError(f"{question.id} does not ask for a text; leave out strings")
    found = named(question.text, strings)
    chance = inputs.between("confidence", confidence, "0", "1")
    level = Level(float(1 - Fraction(chance)), len(found.names) if simultaneous else 1)
    cells, n = add([tally.cells for tally in tallies]), sum(tally.n for tally in tallies)
    if not table_of(mechanism, cells).n:
        raise ParameterError(f"{question.id}: the tallies of {tallies[0].period} count no device")
    fit = estimate_codes(mechanism, cells, found.codes, level)
    return Estimates(
        n=n,
        mechanism=mechanism.name,
        options=mechanism.chosen,
        epsilon=mechanism.epsilon,
        epsilon_first=mechanism.epsilon_first,
        confidence=float(chance),
        simultaneous=simultaneous,
        post_process="none",
        fake_bias=fake_bias(mechanism),
        notes=(*_notes(fit, found.names[-1]), *notes),
        estimates=tuple(
            Estimate(name, f * n, f, raw.standard_error, raw.low, raw.high)
            for name, raw in zip(found.names, fit.raws, strict=True)
            for f in (raw.frequency,)
        ),
        **provenance(tallies),
    )


def _is_oracle(mechanism: Mechanism) -> TypeGuard[FrequencyOracle]:
    return isinstance(mechanism, FrequencyOracle)


def _notes(fit: Fit, other: str) -> Iterator[str]:
    """Say what the errors hold, and what the last row is."""
    kind = "strings that were not named" if fit.joint else "other strings, named ones too"
    yield (
        f"Of each standard error {fit.collisions:.2g} comes of collisions with {kind}; the rest "
        "is noise, added in squares."
    )
    yield f"{other} is every text that does not fit the form of the question, the empty one too."
