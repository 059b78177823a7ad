"""Maximum likelihood: the distribution under which the counts are most probable.

It is what expectation maximisation converges to, found by faster means: exactly where every
frequency meets the others only in their sum, by projected gradients with a certificate elsewhere.
What must never change: the result is a distribution whatever the counts are, those that make
every raw estimate negative included, and nothing is divided by zero.

References
----------
Agrawal, Aggarwal. On the design and quantification of privacy preserving data mining algorithms.
PODS 2001 (EM). Wang, Lopuhaä-Zwakenberg, Li, Skoric, Li. Locally differentially private frequency
estimation with consistency. NDSS 2020. Varin, Reid, Firth. An overview of composite likelihood
methods. Statistica Sinica 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import FrequencyOracle, Mechanism

from .decode import decode
from .extras import extra
from .supports import Supports

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_HALVINGS = 200

EXACT = "em: the distribution that makes the counted reports most probable."
COMPOSITE = (
    "em: composite likelihood; the counts of the values are taken as independent, for a tally "
    "does not hold which of them came together."
)


def maximum_likelihood(
    mechanism: Mechanism, counted: Sequence[int] | Supports
) -> tuple[tuple[float, ...], str]:
    """Return the most probable distribution, and in words which likelihood that is.

    - Reports that are a symbol (grr, olh, hr): the likelihood of the cells,
      ``sum over y of C_y log(sum over v of f_v P(y | v))``.
    - Reports of several bits, and counts of supports alone: the composite likelihood,
      ``sum over v of C_v log g_v + (n_v - C_v) log(1 - g_v)`` with g_v = q + f_v (p-q), C_v
      supports among n_v reports. It is consistent, but does not know that bits of one report
      came together.

    Parameters
    ----------
    mechanism : Mechanism
        That asks for a choice.
    counted : sequence of int, or Supports
        The cells of a tally, or only how many reports support each symbol.

    Returns
    -------
    tuple of float
        In [0, 1], one for each symbol; their sum is 1.
    str
        A remark for the reader.

    Raises
    ------
    ParameterError
        If the mechanism has no such likelihood, or its tally is too large for it.
    """
    if not isinstance(mechanism, FrequencyOracle):
        raise ParameterError(f"post_process em knows no likelihood of {mechanism.name}")
    if names_one(mechanism):
        cells = counted.counts if isinstance(counted, Supports) else counted
        return fill([int(cell) for cell in cells], mechanism.p, mechanism.q), EXACT
    if isinstance(counted, Supports) or mechanism.shape.kind == "bits":
        supports = counted if isinstance(counted, Supports) else decode(mechanism, counted)
        return composite(supports, float(mechanism.p), float(mechanism.q)), COMPOSITE
    from .em_cells import climb

    return climb(mechanism, counted), EXACT


def names_one(mechanism: FrequencyOracle) -> bool:
    """Return whether each report supports exactly one value, so that supports are the cells."""
    return (
        mechanism.joint is not None
        and not any(mechanism.joint)
        and mechanism.shape.kind == "symbol"
        and mechanism.shape.cells == mechanism.k
    )


def fill(counts: Sequence[int], p: Fraction, q: Fraction) -> tuple[float, ...]:
    """Maximise ``sum of C_v log(q + f_v (p-q))`` over distributions, in closed form.

    ``f_v = (C_v + r (m C_v - T)) / T`` with r = q/(p-q) for the m largest counts, of the sum T,
    and 0 for the rest; m is the largest that leaves all m positive. The largest count alone gets
    1, so there always is one.
    """
    r, total, m = float(q / (p - q)), 0, 0
    for more, count in enumerate(sorted(counts, reverse=True), start=1):
        if count + r * (more * count - total - count) <= 0:
            break
        m, total = more, total + count
    if total == 0:
        return (1 / len(counts),) * len(counts)
    return _whole([max(0.0, (count + r * (m * count - total)) / total) for count in counts])


def composite(supports: Supports, p: float, q: float) -> tuple[float, ...]:
    """Maximise the composite likelihood over distributions.

    Each term is concave in its own frequency, so with the multiplier L of the sum,
    ``C/g - (n-C)/(1-g) = L``, of which ``g = 2C / (n + L + sqrt((n+L)^2 - 4 L C))`` is the root
    in [0, 1]; f = (g-q)/(p-q) falls with L, or is 0 where that is negative. Bisection over L
    halves an interval until floating point has no number between its ends.
    """
    with extra():
        import numpy as np
    counts = np.asarray(supports.counts, dtype=np.float64)
    trials = np.asarray(supports.trials, dtype=np.float64)

    def at(multiplier: float) -> Floats:
        b = trials + multiplier
        root = np.sqrt(np.maximum(b * b - 4 * multiplier * counts, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            g = np.where(b > 0, 2 * counts / (b + root), (b - root) / (2 * multiplier))
        frequencies: Floats = np.maximum((g - q) / (p - q), 0.0)
        return frequencies

    low, high = -float(trials.max()) / (1 - p), float(trials.max()) / q
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if at(middle).sum() > 1:
            low = middle
        else:
            high = middle
    return _whole(at(low).tolist())


def _whole(frequencies: Sequence[float]) -> tuple[float, ...]:
    """Take rounding out of the sum."""
    total = sum(frequencies)
    return tuple(f / total for f in frequencies)
