"""From a text question and a place to its frequent strings, which nobody named."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms.pem import PEM
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally
from deniable.protocol.text_form import OTHER, TextForm

from .. import inputs
from ..decode import add
from ..estimators import Level, fake_bias
from ..inputs import Number
from ..query import Place, opened
from ..selection import which_survey
from ..sides import of_one
from ..tallies import check_same, provenance
from .discovery import BREADTH, BREADTHS, discover
from .estimates import estimate_codes
from .heavy_hitter_results import HeavyHitter, HeavyHitters
from .strings import other_name

FALSE_POSITIVES = "0.05"

LEAST = "1e-100"
"""False positives must be above this, so that they are not 0 as a float."""


def heavy_hitters(
    question: str,
    source: Place,
    *,
    token: str | None = None,
    survey: str | None = None,
    version: int | None = None,
    segment: str | None = None,
    period: str | None = None,
    false_positives: Number = FALSE_POSITIVES,
    confidence: Number = 0.95,
    simultaneous: bool = False,
    breadth: int = BREADTH,
) -> HeavyHitters:
    """Find the frequent answers to a text question, without naming any.

    Parameters
    ----------
    question : str
        Its id; it must be asked with ``mechanism = "pem"``.
    source, token, survey, version, segment
        As for :func:`deniable.analysis.estimate`.
    period : str, optional
        Otherwise the latest that is released.
    false_positives, confidence, simultaneous, breadth
        As for :func:`discover_texts`.

    Returns
    -------
    HeavyHitters

    Raises
    ------
    SourceError
        If the source cannot be read, or holds nothing that was asked for.
    DocumentError
        If a tally cannot be trusted.
    ParameterError
        If an option is out of range, or the question is asked otherwise.
    """
    place = opened(source, token)
    states = place.states(survey)
    name = which_survey(states, question, survey)
    states = tuple(s for s in states if (s.survey, s.question) == (name, question))
    side = of_one(place.tallies(name, question), states, version, period, segment)
    return discover_texts(
        side.tallies,
        false_positives=false_positives,
        confidence=confidence,
        simultaneous=simultaneous,
        breadth=breadth,
        notes=side.notes,
    )


def discover_texts(
    tallies: Sequence[Tally],
    *,
    false_positives: Number = FALSE_POSITIVES,
    confidence: Number = 0.95,
    simultaneous: bool = False,
    breadth: int = BREADTH,
    notes: tuple[str, ...] = (),
) -> HeavyHitters:
    """Find frequent strings in the released tallies of a text question.

    Parameters
    ----------
    tallies : sequence of Tally
        Of one question, version and period; of different segments or batches, and so of
        different devices, whose counts add up.
    false_positives : Decimal, float or str
        Above 1e-100 and below 1. Of the strings listed, the share that no device has, on average
        at most; where no string is frequent, the probability that any is listed; see
        :mod:`deniable.analysis.texts.significance`.
    confidence : float
        Of each interval, two-sided, in (0, 1); of all together if ``simultaneous``.
    simultaneous : bool
        Widen the intervals so that all hold at once (Bonferroni).
    breadth : int
        Prefixes looked at in each level, or little more, 1024 to 4 194 304: the more, the fewer
        frequent strings are lost before they can be tested, and the longer it takes. The share
        of false ones does not depend on it.
    notes : tuple of str
        To hand on with the result.

    Returns
    -------
    HeavyHitters
        Frequencies are those of :func:`deniable.analysis.estimate_texts` for these strings.

    Raises
    ------
    ParameterError
        If an option is out of range, the tallies do not belong together, or the question is asked
        with another mechanism.
    MissingExtraError
        If numpy or scipy is absent.

    References
    ----------
    Wang, Li, Jha. Locally differentially private heavy hitter identification. IEEE Transactions
    on Dependable and Secure Computing, 2019.
    """
    alpha = inputs.between("false_positives", false_positives, LEAST, "1")
    chance = inputs.between("confidence", confidence, "0", "1")
    most = inputs.integer("breadth", breadth, BREADTHS[0], BREADTHS[-1])
    check_same(tallies)
    form, mechanism = _asked(tallies[0].question)
    cells, n = add([tally.cells for tally in tallies]), sum(tally.n for tally in tallies)
    found = discover(mechanism, cells, float(alpha), most)
    family = max(1, len(found.codes)) if simultaneous else 1
    level = Level(float(1 - Fraction(chance)), family)
    return HeavyHitters(
        n=n,
        reports=found.reports,
        mechanism=mechanism.name,
        options=mechanism.chosen,
        epsilon=mechanism.epsilon,
        epsilon_first=mechanism.epsilon_first,
        false_positives=float(alpha),
        breadth=most,
        candidates=found.candidates,
        smallest=found.smallest,
        confidence=float(chance),
        simultaneous=simultaneous,
        fake_bias=fake_bias(mechanism),
        notes=notes,
        hitters=tuple(_hitters(form, mechanism, cells, found.codes, found.p_values, level, n)),
        **provenance(tallies),
    )


def _asked(question: Question) -> tuple[TextForm, PEM]:
    """Return what discovery needs of a question."""
    mechanism = question.mechanism
    if question.text is None:
        raise ParameterError(f"{question.id} does not ask for a text; only texts are discovered")
    if not isinstance(mechanism, PEM):
        raise ParameterError(
            f"{question.id} is asked with {mechanism.name}, which tells named strings only; name "
            'them to deniable estimate with --strings, or ask with mechanism = "pem"'
        )
    return question.text, mechanism


def _hitters(
    form: TextForm,
    mechanism: PEM,
    cells: Sequence[int],
    codes: Sequence[int],
    p_values: Sequence[float],
    level: Level,
    n: int,
) -> list[HeavyHitter]:
    """Estimate the frequencies of strings together, and order them by these."""
    if not codes:
        return []
    raws = estimate_codes(mechanism, cells, codes, level).raws
    columns = (raws.frequency, raws.standard_error, raws.low, raws.high)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    hitters = [
        HeavyHitter(
            other_name(form) if code == OTHER else form.decode(code),
            frequency * n,
            frequency,
            error,
            low,
            high,
            max(p_value, 1e-300),
        )
        for code, p_value, (frequency, error, low, high) in zip(codes, p_values, rows, strict=True)
    ]
    return sorted(hitters, key=lambda hitter: -hitter.frequency)
