"""How the estimates of all values of one tally vary together: the whole covariance matrix.

It is the mechanism's own, exact for given frequencies: multinomial sampling of devices and the
noise of their reports. What must never change: no count enters it but that of the reports in each
row, so it is as certain as the frequencies that it is taken at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import FrequencyOracle, Mechanism
from deniable.protocol.mechanisms.rappor import Rappor

from ..bloom import bloom_covariance
from ..correlation import INDEPENDENT_BITS
from ..em_cells import Likelihood
from ..extras import extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]


def covariance(mechanism: Mechanism, cells: Sequence[int], frequencies: Array) -> Array:
    """Return the covariance of the raw estimates of every two values.

    With g = q + f(p-q) for each and the probability J that a report supports both,

    ``Cov(f^_u, f^_v) = (J_uv - g_u g_v) / (n (p-q)^2)``, and ``J_vv = g_v``.

    - Where the mechanism knows it, ``J_uv = (f_u + f_v) J_one + (1 - f_u - f_v) J_none``.
    - Of reports that are one symbol, J is the sum of the probabilities of those that support both.
    - Where a device's bits cover some values only, ``J_uv - g_u g_v = -f_u f_v (p-q)^2`` among
      the m devices that cover both, and it counts m n / (n_u n_v) times.
    - Of Bloom filters, see :mod:`deniable.analysis.bloom`.

    Parameters
    ----------
    mechanism : Mechanism
        That asks for a choice.
    cells : sequence of int
        As its shape lays them out; only the number of reports is read, in each row.
    frequencies : array of shape (k,)
        A distribution.

    Returns
    -------
    array of shape (k, k)

    Raises
    ------
    ParameterError
        If it is not known of the mechanism, or would be too large.
    """
    with extra():
        import numpy as np
    if isinstance(mechanism, Rappor):
        return bloom_covariance(mechanism, cells, frequencies)
    if not isinstance(mechanism, FrequencyOracle):
        raise _unknown(mechanism)
    if mechanism.coverage < 1:
        return _of_windows(mechanism, cells, frequencies)
    p, q = float(mechanism.p), float(mechanism.q)
    supported = q + frequencies * (p - q)
    together = _together(mechanism, cells, frequencies)
    np.fill_diagonal(together, supported)
    together -= np.outer(supported, supported)
    together /= mechanism.shape.reports(cells) * (p - q) ** 2
    return together


def least_support(mechanism: Mechanism) -> float:
    """Return the least share of devices that support a value, or that do not but might.

    Raises
    ------
    ParameterError
        If it is not known of the mechanism.
    """
    if isinstance(mechanism, Rappor):
        return float(mechanism.q)
    if not isinstance(mechanism, FrequencyOracle):
        raise _unknown(mechanism)
    return float(min(mechanism.q, 1 - mechanism.p) * mechanism.coverage)


def _unknown(mechanism: Mechanism) -> ParameterError:
    return ParameterError(f"the estimates of {mechanism.name} have no known covariance")


def _together(mechanism: FrequencyOracle, cells: Sequence[int], frequencies: Array) -> Array:
    """Return P(a report supports both) for every two values; the diagonal is void."""
    import numpy as np

    if mechanism.joint is not None:
        truly, never = map(float, mechanism.joint)
        made: Array = never + (truly - never) * np.add.outer(frequencies, frequencies)
        return made
    if mechanism.shape.kind != "symbol":
        raise _unknown(mechanism)
    try:
        likelihood = Likelihood.of(mechanism, cells)
    except ParameterError:
        raise ParameterError(
            f"{mechanism.name} over {mechanism.k} values has too many hashes or cells for the "
            "covariance of its estimates"
        ) from None
    supports, inside, outside = likelihood.supports, likelihood.inside, likelihood.outside
    chances = outside + (inside - outside) * supports.spread(frequencies)
    rows = np.empty((mechanism.k, mechanism.k))
    for value, alone in enumerate(np.eye(mechanism.k)):
        rows[value] = supports.gather(chances * supports.spread(alone))
    return rows


def _of_windows(mechanism: FrequencyOracle, cells: Sequence[int], frequencies: Array) -> Array:
    """Return the covariance of estimates that rest on different devices each, in part."""
    import numpy as np

    if mechanism.name not in INDEPENDENT_BITS:
        raise _unknown(mechanism)
    shape, k = mechanism.shape, mechanism.k
    reports = np.asarray(cells, dtype=np.float64).reshape(shape.rows, shape.width + 1)[:, -1]
    # Row r is about the values r, r+1, ... modulo k.
    covers = np.sum([np.roll(np.eye(k), bit, axis=1) for bit in range(shape.width)], axis=0)
    shared = covers.T @ (reports[:, None] * covers)
    trials = shared.diagonal()
    if trials.min() < 1:
        raise ParameterError("too few devices: no report says anything about one of the values")
    p, q = float(mechanism.p), float(mechanism.q)
    made: Array = -np.outer(frequencies / trials, frequencies / trials) * shared
    supported = q + frequencies * (p - q)
    np.fill_diagonal(made, supported * (1 - supported) / trials / (p - q) ** 2)
    return made
