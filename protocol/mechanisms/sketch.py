"""What mechanisms for texts have in common: hash rows, and estimates of texts named afterwards."""

from __future__ import annotations

from typing import ClassVar

from ..errors import ParameterError
from ..limits import MAX_CELLS
from .base import Asks
from .oracle import FrequencyOracle


class Sketch(FrequencyOracle):
    """A mechanism whose values are the numbers of texts, hashed by the row of a device.

    p and q are averages over all rows there could be; the collisions in those in use add to the
    variance of an estimate what no single report shows.
    """

    __slots__ = ()

    asks: ClassVar[Asks] = "text"
    decoder: ClassVar[str] = "sketch"
    merges: ClassVar[bool] = True


def require_cells(cells: int, product: str) -> None:
    """Refuse sizes beyond what a tally may have."""
    if cells > MAX_CELLS:
        raise ParameterError(f"{product} must be at most {MAX_CELLS} cells of a tally: {cells}")
