"""What shuffling adds to any randomizer's privacy, in one closed form.

Loose by a factor of 3 to 6, and proven for every randomizer; it needs no more than the standard
library, so that the service can tell it. The analysis has tighter bounds.

References
----------
Feldman, McMillan, Talwar. Hiding among the clones: a simple and nearly optimal analysis of
privacy amplification by shuffling. FOCS 2021 (arXiv 2020), theorem 3.1.
"""

from __future__ import annotations

import math
from decimal import Decimal

_ROUNDED_UP = 1 + 2.0**-46  # dozens of roundings, each of one part in 2^53

VALID = "epsilon <= ln(n / (16 ln(2/delta)))"
"""Where :func:`amplified` holds."""


def amplified(epsilon: Decimal | float, crowd: int, delta: float) -> float | None:
    """Return the epsilon of the shuffled reports of a crowd, one from each device, or None.

    ``ln(1 + (E-1)/(E+1) (8 sqrt(E ln(4/delta)/n) + 8 E/n))``, with E = e^epsilon.

    Parameters
    ----------
    epsilon : Decimal or float
        Of one report, from any randomizer whose noise is independent between devices.
    crowd : int
        n, the honest devices, of which one is protected; its answer may be replaced.
    delta : float
        In (0, 1): the bound may fail with this probability.

    Returns
    -------
    float or None
        Rounded up; None outside ``epsilon <= ln(n/(16 ln(2/delta)))``, where it is not proven. It
        may exceed ``epsilon``, which then holds.

    Examples
    --------
    >>> round(amplified(2.0, 10**6, 1e-6), 6), amplified(4.0, 1000, 1e-6)
    (0.062617, None)
    """
    local = float(epsilon) * _ROUNDED_UP
    if crowd < 1 or local > math.log(crowd / (16 * math.log(2 / delta))):
        return None
    e = math.exp(local)
    spread = 8 * math.sqrt(e * math.log(4 / delta) / crowd) + 8 * e / crowd
    return math.log1p(math.tanh(local / 2) * spread) * _ROUNDED_UP
