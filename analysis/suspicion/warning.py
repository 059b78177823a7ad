"""One warning, and the odds of a false one.

What must never change within a major version: the names of ``document()`` and the kinds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from ..render import Record

Kind = Literal["negative", "popcount", "drift", "crowd"]

ODDS: Final = 1e-6
"""Of a false warning of one kind in one period, at most, if all devices follow the protocol."""

TESTED: Final = 9e-7
"""The odds that are tested for. What is left covers double precision, and the one honest response
in 10^12 that is refused for its popcount, which changes the odds by e^(n / 10^12)."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A reason to look at a period before anybody builds on it; no estimate is changed by it.

    Attributes
    ----------
    kind : "negative", "popcount", "drift" or "crowd"
    period : str
    text : str
        What was found, what was to be expected, and what it may mean.
    """

    kind: Kind
    period: str
    text: str

    def record(self) -> Record:
        """Return the warning as JSON."""
        found: dict[str, Any] = {"kind": self.kind, "period": self.period, "text": self.text}
        return found
