"""Where one tally stands, as the collector tells it and an analyst reads it.

What must never change: the eight fields, which are the columns of the store's view and the keys
of ``GET /v1/periods``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PeriodState:
    """What became of one question in one period and segment.

    Attributes
    ----------
    survey, question : str
    version : int
    period : str
    batch : str or None
        Of a ``once`` question: the week of the batch.
    segment : str or None
    state : "pending", "released" or "destroyed"
    crowd : str
        Devices: exact if released, a bucket such as ``100-999`` if pending, ``fewer than`` the
        crowd that was needed if destroyed.
    """

    survey: str
    question: str
    version: int
    period: str
    batch: str | None
    segment: str | None
    state: str
    crowd: str

    def record(self) -> dict[str, Any]:
        """Return the state as JSON."""
        return asdict(self)
