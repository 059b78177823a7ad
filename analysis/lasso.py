"""Decoding of Bloom filters by lasso: of many values, those that stand out (RAPPOR).

With y, B and the weights n_c of :mod:`.bloom`, and s_b the mean of the B_v over all values v,

``min over f >= 0 and r >= 0 of sum_c n_c |y_c - B_c f - r s_c|^2 / 2 + sum_v w_v f_v``

takes all values together for a background of r, and one by itself only if it earns its penalty
``w_v = z sigma sqrt(G_vv)``. Under the background alone the score of a value varies by sigma^2
G_vv, where sigma^2 is the mean variance of a debiased bit; with ``z = Phi^-1(1 - 0.05/k)`` the
probability that noise selects any of k values is at most 0.05 (a universal threshold).

A penalty shrinks what it selects, so the selected are fitted again by least squares, beside a
background of all others. Errors and intervals are those of this fit: as if the selection had been
made beforehand, and of a background that is even. They do not say which values are left out.

References
----------
Erlingsson, Pihur, Korolova. RAPPOR: randomized aggregatable privacy-preserving ordinal
response. CCS 2014.
Donoho, Johnstone. Ideal spatial adaptation by wavelet shrinkage. Biometrika 1994.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, cast

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms.rappor import Rappor
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

from . import inputs
from .bloom import BloomFit, filters_of
from .decode import add
from .estimators import FAKE_SHARE, Level
from .extras import extra
from .inputs import Number
from .results import Estimate, Estimates
from .tallies import check_same, devices_in, provenance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers: TypeAlias = NDArray[np.int64]
    Vector: TypeAlias = NDArray[np.float64]
    Matrix: TypeAlias = NDArray[np.float64]

LEAST_SQUARES, LASSO = DECODERS = ("least-squares", "lasso")

FALSE = 0.05
"""The probability that noise alone selects any value."""

_SWEEPS = 2000
_STILL = 1e-7
"""Of a standard error: a sweep that moves no value by more is the last."""


@dataclass(frozen=True, eq=False)
class Selected:
    """The values that stand out, and the fit of these.

    Attributes
    ----------
    values : array of int, shape (s,)
        In ascending order.
    frequencies, errors : array, shape (s,)
    detectable : float
        A frequency that is as likely to be selected as not, of a typical value.
    fake_bias : float
        See :func:`deniable.analysis.estimators.fake_bias`.
    """

    values: Integers
    frequencies: Vector
    errors: Vector
    detectable: float
    fake_bias: float


def require_decoder(question: Question, decoder: str, *, alone: bool) -> None:
    """Refuse a decoder that there is not, or that cannot read the question.

    Raises
    ------
    ParameterError
        Saying which questions it reads, or that its periods cannot be pooled.
    """
    if decoder not in DECODERS:
        raise ParameterError(f"decoder must be one of {', '.join(DECODERS)}: {decoder}")
    if decoder == LASSO and not isinstance(question.mechanism, Rappor):
        raise ParameterError(
            f"{question.id}: lasso decodes the Bloom filters of rappor; leave out decoder"
        )
    if decoder == LASSO and not alone:
        raise ParameterError("lasso selects other values in each period; leave out pool")


def estimate_selected(
    tallies: Sequence[Tally],
    *,
    confidence: Number = 0.95,
    simultaneous: bool = False,
    post_process: str = "none",
    notes: tuple[str, ...] = (),
) -> Estimates:
    """Estimate the frequent values of a question with too many for least squares.

    Parameters
    ----------
    tallies : sequence of Tally
        Of one choice question asked with ``rappor``, and one version and period; of different
        segments or batches.
    confidence, simultaneous
        As for :func:`deniable.analysis.debias`; over the values that are selected.
    post_process : str
        ``none``.
    notes : tuple of str
        To hand on with the result.

    Returns
    -------
    Estimates
        Of the selected values only; see the module for what errors and intervals mean.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the tallies are of another kind or count no device.
    MissingExtraError
        If numpy or scipy is absent.
    """
    check_same(tallies)
    question = tallies[0].question
    require_decoder(question, LASSO, alone=True)
    mechanism = question.mechanism
    if post_process != "none":
        raise ParameterError("lasso selects and fits values itself; leave out post_process")
    chance = inputs.between("confidence", confidence, "0", "1")
    cells, n = add([tally.cells for tally in tallies]), devices_in(tallies)
    found = selected(cast("Rappor", mechanism), cells)
    family = max(1, len(found.values)) if simultaneous else 1
    z = Level(float(1 - Fraction(chance)), family).z
    rows = zip(
        found.values.tolist(), found.frequencies.tolist(), found.errors.tolist(), strict=True
    )
    return Estimates(
        n=n,
        mechanism=mechanism.name,
        options=mechanism.chosen,
        epsilon=mechanism.epsilon,
        epsilon_first=mechanism.epsilon_first,
        confidence=float(chance),
        simultaneous=simultaneous,
        post_process="none",
        fake_bias=found.fake_bias,
        notes=(*_notes(found, mechanism.k), *notes),
        estimates=tuple(
            Estimate(question.values[value], f * n, f, error, f - z * error, f + z * error)
            for value, f, error in rows
        ),
        **provenance(tallies),
    )


def selected(mechanism: Rappor, cells: Sequence[int]) -> Selected:
    """Select and fit values, from one row of cells for each cohort.

    Raises
    ------
    ParameterError
        If the filters of those that are selected are too much alike.
    MissingExtraError
        If numpy or scipy is absent.
    """
    with extra():
        import numpy as np
        from scipy.sparse import csr_array, hstack
        from scipy.special import ndtri
    p, q, k = float(mechanism.p), float(mechanism.q), mechanism.k
    filters = filters_of(mechanism)
    table = np.asarray(cells, dtype=np.float64).reshape(mechanism.shape.rows, -1)
    reports = table[:, -1:]
    background = csr_array(filters.mean(axis=1)[:, None])
    design = hstack([filters, background]).tocsr()
    gram = (design.T @ design.multiply(np.repeat(reports, mechanism.bits)[:, None])).toarray()
    target = design.T @ ((table[:, :-1] - q * reports) / (p - q)).ravel()
    shares = table[:, :-1] / np.maximum(reports, 1)
    variance = float((reports * shares * (1 - shares)).sum() / (reports.sum() * mechanism.bits))
    least = -float(ndtri(FALSE / k)) * variance**0.5 / (p - q)
    penalty = np.append(least * np.sqrt(gram.diagonal()[:-1]), 0.0)
    chosen = np.flatnonzero(_descent(gram, target, penalty, least)[:-1] > 0)
    others = np.setdiff1d(np.arange(k), chosen)
    columns = filters[:, chosen]
    if len(others):
        columns = hstack([columns, csr_array(filters[:, others].mean(axis=1)[:, None])]).tocsr()
    typical = float(np.median(gram.diagonal()[:-1]))
    detectable = min(1.0, least / typical**0.5) if typical else 1.0
    if not len(chosen):
        return Selected(chosen, np.zeros(0), np.zeros(0), detectable, 0.0)
    fit = BloomFit.of(mechanism, cells, columns)
    frequencies = fit.frequencies()
    errors = fit.errors(frequencies)
    lie = BloomFit.of(mechanism, [1] * mechanism.shape.cells, columns).worst_lie(len(chosen))
    first = slice(len(chosen))
    return Selected(chosen, frequencies[first], errors[first], detectable, FAKE_SHARE * lie)


def _descent(gram: Matrix, target: Vector, penalty: Vector, scale: float) -> Vector:
    """Minimise ``x' gram x / 2 - (target - penalty)' x`` over x >= 0, one coordinate at a time."""
    import numpy as np

    x, pull, diagonal = np.zeros_like(target), target - penalty, gram.diagonal()
    for _ in range(_SWEEPS):
        most = 0.0
        for at in np.flatnonzero((x > 0) | (pull > 0)).tolist():
            if diagonal[at] <= 0:
                continue
            step = max(pull[at] / diagonal[at], -x[at])
            x[at] += step
            pull -= step * gram[at]
            most = max(most, abs(step) * diagonal[at] ** 0.5)
        if most <= _STILL * scale:
            break
    return x


def _notes(found: Selected, k: int) -> Iterator[str]:
    """Say what was selected, and what the errors do not hold."""
    yield (
        f"lasso selected {len(found.values):,} of {k:,} values; noise alone selects any with a "
        f"probability of {FALSE:g} at most, and a value with a frequency of "
        f"{found.detectable:.2g} is about as likely to be selected as not."
    )
    yield (
        "Frequencies, errors and intervals are those of a least-squares fit after selection: as if "
        "it had been made beforehand, and all other values were alike."
    )
