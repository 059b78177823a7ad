"""What a bound on shuffled reports rests on, in words."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

NEIGHBOURS = "neighbours: two crowds of the same size in which one device has another answer"


def assumptions(crowd: int, honest: int) -> tuple[str, ...]:
    """Say who must be trusted with what."""
    devices = "device" if honest == 1 else "devices"
    fake = "" if honest == crowd else f" ({crowd - honest:,} of {crowd:,} are taken to be fake)"
    return (
        "The collector, or whoever mixes the reports, is honest, forgets sender, order and time, "
        "and does not collude with the network that carries them",
        "Reports carry no stable identifier",
        f"The crowd is of {honest:,} honest {devices}, not of reports: one report each; fake "
        f"devices hide nobody, and shrink it{fake}",
        "Each report's noise is fresh, and independent of all other devices'",
        "Without any of these, epsilon of the unshuffled reports holds",
    )


def unfaked(crowd: int, fake_share: Decimal) -> int:
    """Return how many of a crowd are honest; none, perhaps."""
    return math.floor((1 - Fraction(fake_share)) * crowd)
