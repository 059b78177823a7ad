"""Which simulator a mechanism has.

To add one: write its module, add its line to :data:`SIMULATORS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism

from .band import SimulatedBand
from .grr import SimulatedGRR
from .hadamard import SimulatedHadamard
from .olh import SimulatedOLH
from .one_bit import SimulatedOneBitMean
from .pem import SimulatedPEM
from .privset import SimulatedPrivSet
from .reports import Reports, Simulator, count
from .sketches import SimulatedCMS, SimulatedHCMS
from .subset import SimulatedSubset
from .symmetric import SimulatedDBitFlip, SimulatedRappor
from .unary import SimulatedUnary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIMULATORS: dict[str, type[Simulator[Any]]] = {
    "grr": SimulatedGRR,
    "sue": SimulatedUnary,
    "oue": SimulatedUnary,
    "olh": SimulatedOLH,
    "ss": SimulatedSubset,
    "hr": SimulatedHadamard,
    "rappor": SimulatedRappor,
    "dbitflip": SimulatedDBitFlip,
    "1bitmean": SimulatedOneBitMean,
    "piecewise": SimulatedBand,
    "square-wave": SimulatedBand,
    "privset": SimulatedPrivSet,
    "cms": SimulatedCMS,
    "hcms": SimulatedHCMS,
    "pem": SimulatedPEM,
}
"""By the mechanism's name."""


def simulator(mechanism: Mechanism) -> Simulator[Any]:
    """Return what draws the answers of devices with this mechanism.

    Raises
    ------
    ParameterError
        If this version cannot simulate it.
    """
    if mechanism.name not in SIMULATORS:
        known = ", ".join(SIMULATORS)
        raise ParameterError(f"{mechanism.name} cannot be simulated; only {known} can")
    return SIMULATORS[mechanism.name](mechanism)


def draw_reports(
    mechanism: Mechanism, symbols: NDArray[np.int64], rng: np.random.Generator
) -> Reports:
    """Return one report of each device, all rounds included.

    The distribution is exactly that of the client: coins compare 64 random bits with the
    mechanism's integer thresholds.

    Parameters
    ----------
    mechanism : Mechanism
    symbols : array of int, shape (n,)
        The true symbol of each device, in 0..k-1.
    rng : Generator

    Raises
    ------
    ParameterError
        If this version cannot simulate the mechanism.
    """
    drawn = simulator(mechanism)
    return drawn.instant(drawn.permanent(symbols, rng), rng)


def fold(mechanism: Mechanism, reports: Reports) -> NDArray[np.int64]:
    """Return the tally of these reports: its cells, as the mechanism's shape lays them out."""
    return count(mechanism.shape, reports)
