"""From the cells of a tally to the raw frequency of each value, for every mechanism of choices."""

from __future__ import annotations

from collections.abc import Sequence

from deniable.protocol.errors import DocumentError
from deniable.protocol.mechanisms import FrequencyOracle, Mechanism
from deniable.protocol.mechanisms.rappor import Rappor

from .bloom import estimate_bloom
from .decode import decode
from .estimators import Level, Raw, estimate_supports


def estimate_cells(mechanism: Mechanism, cells: Sequence[int], level: Level) -> Sequence[Raw]:
    """Return the unbiased frequency of each symbol 0..k-1 with its error and interval.

    Parameters
    ----------
    mechanism : Mechanism
        That asks for a choice.
    cells : sequence of int
        As its shape lays them out.
    level : Level

    Raises
    ------
    DocumentError
        If this version cannot decode the mechanism.
    ParameterError
        If there are too few reports.
    """
    if isinstance(mechanism, Rappor):
        return estimate_bloom(mechanism, cells, level)
    if not isinstance(mechanism, FrequencyOracle):
        raise DocumentError(f"decoder {mechanism.decoder} is unknown; upgrade deniable to read it")
    return estimate_supports(mechanism, decode(mechanism, cells), level)
