"""What the crowd of a released tally adds, as it is handed out beside estimates.

What must never change within a major version: the names of the fields.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

UNIT = "of one device, from its one report in this one tally, to those who see the tally alone"


@dataclass(frozen=True, slots=True)
class ReleasedCrowd:
    """The certified epsilon of one released tally.

    Attributes
    ----------
    upper : float
        Rounded up.
    delta : float
        With which it may fail.
    crowd : int
        Devices in the smallest of the tallies that the estimates rest on.
    method : str
    unit : str
    """

    upper: float
    delta: float
    crowd: int
    method: str
    unit: str = UNIT

    def record(self) -> dict[str, Any]:
        """Return the bound as JSON."""
        return asdict(self)

    def flat(self) -> dict[str, Any]:
        """Return the bound for flat rows."""
        return {
            "shuffled_epsilon": self.upper,
            "shuffle_delta": self.delta,
            "shuffle_crowd": self.crowd,
        }
