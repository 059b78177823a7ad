"""Where a changing answer is in every period, from all rows: the estimates and their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from deniable.protocol.mechanisms.dyadic import Dyadic

from ..extras import extra
from .network import Solution, solve
from .rows import Rows, expected_rows
from .signals import Place, YesNo, signal_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Levels:
    """The share of yes, or the mean place in the range, in every period that can be estimated.

    Attributes
    ----------
    signal : YesNo or Place
    rows : Rows
    solution : Solution
    """

    signal: YesNo | Place
    rows: Rows
    solution: Solution

    @cached_property
    def places(self) -> dict[int, int]:
        """By period: where it stands among those that can be estimated."""
        return {int(t): place for place, t in enumerate(self.solution.periods)}

    @cached_property
    def estimates(self) -> Array:
        """Unbiased, unclipped, one for each of ``solution.periods``."""
        found: Array = self.solution.weights @ self.signal.scores(self.rows) + self.signal.centre
        return found

    @cached_property
    def standard_errors(self) -> Array:
        """Their errors, for independently drawn devices; rather too large than too small."""
        return self.errors_of(self.solution.weights)

    def errors_of(self, weights: Array) -> Array:
        """Return the standard errors of weighted sums of rows, shape (sums, rows)."""
        import numpy as np

        found: Array = np.sqrt(self.signal.variances(self.rows, weights))
        return found

    def weights_of(self, shares: Mapping[int, float]) -> Array:
        """Return the weights of the rows in a weighted sum of periods, shape (rows,)."""
        import numpy as np

        chosen = [self.places[t] for t in shares]
        found: Array = np.array(list(shares.values())) @ self.solution.weights[chosen]
        return found

    def combined(self, shares: Mapping[int, float]) -> tuple[float, float]:
        """Return a weighted sum of the estimates of some periods, and its standard error."""
        if list(shares.values()) == [1.0]:
            (place,) = (self.places[t] for t in shares)
            return float(self.estimates[place]), float(self.standard_errors[place])
        (error,) = self.errors_of(self.weights_of(shares).reshape(1, -1))
        total = sum(share * self.estimates[self.places[t]] for t, share in shares.items())
        return float(total), float(error)


def levels_of(mechanism: Dyadic, rows: Rows) -> Levels:
    """Return the estimates of every period from rows.

    Raises
    ------
    MissingExtraError
        If numpy or scipy is absent.
    """
    signal = signal_of(mechanism)
    return Levels(signal, rows, solve(rows, signal.conductance(rows), mechanism.periods))


def expected_errors(mechanism: Dyadic, devices: float, *, plain: bool = False) -> Array:
    """Return the standard error of every period 1..T that so many devices are expected to give.

    Of a yes/no that half of the devices answer with yes, of a number at the lower end of its
    range, and answers that do not change; of least squares, or ``plain``: of the sum over the
    stretches that 1..t is made of, with independent rows. ::

        n Var = L sum_r i_r^2 / c_r

    for L levels, i the current through row r and c its conductance for one device: least squares
    takes the currents of Kirchhoff, the sum over stretches 1 in each of them.

    Parameters
    ----------
    mechanism : Dyadic
    devices : float
    plain : bool
    """
    with extra():
        import numpy as np
    rows = expected_rows(mechanism, devices)
    resistance = 1 / signal_of(mechanism).conductance(rows)
    if not plain:
        weights = solve(rows, 1 / resistance, mechanism.periods).weights
        return np.sqrt((weights**2) @ resistance)
    stretches = zip(rows.level.tolist(), rows.period.tolist(), strict=True)
    places = {stretch: place for place, stretch in enumerate(stretches)}
    return np.sqrt(
        [
            sum(resistance[places[stretch]] for stretch in mechanism.stretches(t))
            for t in range(1, mechanism.periods + 1)
        ]
    )


def newest_errors(mechanism: Dyadic, devices: float) -> Array:
    """Return what :func:`expected_errors` would of each period while no later one is released.

    Parameters
    ----------
    mechanism : Dyadic
    devices : float
    """
    with extra():
        import numpy as np
    network = signal_of(mechanism).mechanism.network
    resistances = [network.resistance(t) for t in range(1, mechanism.periods + 1)]
    return np.sqrt(np.array(resistances) * (mechanism.levels / devices))
