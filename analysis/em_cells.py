"""The most probable distribution from the cells of reports that are one symbol in one row.

A report of value v falls into each cell that supports v with one probability and into each other
one with a lower one, so with the matrix S of supports, values by cells, the cells have the
probabilities ``m = b + (a-b) S'f``, and the mean log-likelihood ``sum of r_c log m_c`` of the
cells' shares r of the reports is concave in f. Its Hessian on the simplex is nearly a multiple of
the identity, since any two values are supported together about as often; so projected gradients
take few steps where expectation maximisation takes thousands.

What must never change: the search ends with a certificate. With ``M_v = sum of r_c P(c|v) / m_c``
no distribution is likelier by more than ``n (max_v M_v - 1)``; it ends where that is 1/1000, or
where no step gains anything in floating point.

References
----------
Birgin, Martinez, Raydan. Nonmonotone spectral projected gradient methods on convex sets. SIAM J.
Optimization 2000 (the steps; here each must gain).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import FrequencyOracle
from deniable.protocol.mechanisms.base import Rounds

from .em_supports import Supporters, supporters
from .extras import extra
from .simplex import project

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

GAP = 1e-3
"""By how much the log-likelihood of what is returned may fall short of the largest."""

_FINEST = 1e-12
_ROUNDS = 2000
_HALVINGS = 60
_WORTH = 1e-4


def climb(mechanism: FrequencyOracle, cells: Sequence[int]) -> tuple[float, ...]:
    """Return the most probable distribution.

    Raises
    ------
    ParameterError
        If the tally is too large, or its reports have no such likelihood.
    """
    likelihood = Likelihood.of(mechanism, cells)
    f = likelihood.start(mechanism)
    value, slope = likelihood.at(f)
    stride = 1.0
    for _ in range(_ROUNDS):
        if slope.max() - 1 <= max(GAP / sum(cells), _FINEST):
            break
        step = likelihood.step(f, value, slope, stride)
        if step is None:
            break
        moved, better, steeper = step
        change = moved - f
        bend = float(change @ (slope - steeper))
        stride = float(change @ change) / bend if bend > 0 else 2 * stride
        f, value, slope = moved, better, steeper
    return tuple((f / f.sum()).tolist())


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The mean log-likelihood of a distribution.

    Attributes
    ----------
    supports : Supporters
    shares : array of float
        Of the reports, in each cell.
    inside, outside : float
        P(a cell | a value it supports), P(a cell | another value); 0 < outside < inside.
    """

    supports: Supporters
    shares: Floats
    inside: float
    outside: float

    @classmethod
    def of(cls, mechanism: FrequencyOracle, cells: Sequence[int]) -> Likelihood:
        """Read the two probabilities from one value's law."""
        with extra():
            import numpy as np
        counted = np.asarray(cells, dtype=np.float64)
        inside, outside = _chances(mechanism)
        rows = mechanism.shape.rows
        shares = counted / counted.sum()
        return cls(supporters(mechanism), shares, inside / rows, outside / rows)

    def start(self, mechanism: FrequencyOracle) -> Floats:
        """Return the distribution nearest to the raw estimates."""
        p, q = float(mechanism.p), float(mechanism.q)
        return _projected((self.supports.gather(self.shares) - q) / (p - q))

    def at(self, frequencies: Floats) -> tuple[float, Floats]:
        """Return the mean log-likelihood and its slope in each frequency."""
        with extra():
            import numpy as np
        gap = self.inside - self.outside
        chances = self.outside + gap * self.supports.spread(frequencies)
        weights = self.shares / chances
        slope: Floats = self.outside * weights.sum() + gap * self.supports.gather(weights)
        return float(self.shares @ np.log(chances)), slope

    def step(
        self, f: Floats, value: float, slope: Floats, stride: float
    ) -> tuple[Floats, float, Floats] | None:
        """Move along the slope, less far until it gains; None if nothing does.

        By concavity it has gained where the slope still rises at the end of the step, which
        floating point can tell long after the gain itself is lost in it.
        """
        for _ in range(_HALVINGS):
            moved = _projected(f + stride * slope)
            better, steeper = self.at(moved)
            change = moved - f
            rises = float(change @ (steeper - 1)) > 0
            if rises or better > value + _WORTH * float(change @ slope):
                return moved, better, steeper
            stride /= 2
        return None


def _projected(point: Floats) -> Floats:
    with extra():
        import numpy as np
    return np.asarray(project(point.tolist()))


def _chances(mechanism: FrequencyOracle) -> tuple[float, float]:
    """Return P(y | value) of the outputs y of one row that support the value, and of the rest."""
    rounds: Rounds = 1 if mechanism.epsilon_first is None else 2
    memo = mechanism.memo(0, mechanism.symbol(0))
    law = mechanism.law(0, memo or b"", rounds)
    inside = {mass for y, mass in law.items() if mechanism.supports(0, y)}
    outside = {mass for y, mass in law.items() if not mechanism.supports(0, y)}
    if len(inside) != 1 or len(outside) != 1:
        raise ParameterError(f"post_process em knows no likelihood of {mechanism.name}")
    return float(inside.pop()), float(outside.pop())
