"""A margin of error, the epsilon and the devices that belong to it, as they are handed out.

What must never change within a major version: the field names of ``document()`` and
``records()``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from deniable.protocol.exact import canonical

from ..domains import one_estimate
from ..figures import counted
from ..render import Record, Section
from . import proposals
from .proposals import Proposal


@dataclass(frozen=True)
class MarginPlan:
    """A margin of error, and the epsilon and the devices that belong to it.

    Attributes
    ----------
    unknown : "margin" or "epsilon"
        Which of them was computed.
    proposal : Proposal
        The mechanism with its epsilons.
    devices : int
        That report in one period.
    margin : Decimal
        Half the width of the interval of one estimate; rounded up where it was computed.
    variance_per_device : float
        V: the variance of an estimate is V / devices.
    sampling_margin : Decimal
        What is left of the margin if everybody tells the truth; no epsilon gets below it.
    standard_errors : float
        How many of them a margin is.
    confidence : float or None
        Two-sided, if that was asked for rather than standard errors.
    frequency : float
        Where V was taken.
    assumption : str
        Which V, how sure, and which mechanism, in words.
    caveats : tuple of str
    """

    unknown: str
    proposal: Proposal
    devices: int
    margin: Decimal
    variance_per_device: float
    sampling_margin: Decimal
    standard_errors: float
    confidence: float | None
    frequency: float
    assumption: str
    caveats: tuple[str, ...]

    columns: ClassVar[tuple[str, ...]] = (
        *proposals.COLUMNS, "devices", "margin", "standard_error", "variance_per_device",
        "sampling_margin", "standard_errors", "confidence", "frequency", "assumption",
    )  # fmt: skip

    @property
    def epsilon(self) -> Decimal:
        """Of one device, from all its reports about one unchanging answer."""
        return self.proposal.epsilon

    @property
    def epsilon_first(self) -> Decimal | None:
        """Of one report, if there is a second round."""
        return self.proposal.epsilon_first

    @property
    def standard_error(self) -> float:
        """Of one estimate, ``sqrt(V / devices)``."""
        return float((self.variance_per_device / self.devices) ** 0.5)

    def records(self) -> list[Record]:
        """Return the one flat row."""
        own = {
            "devices": self.devices,
            "margin": float(self.margin),
            "standard_error": self.standard_error,
            "variance_per_device": self.variance_per_device,
            "sampling_margin": float(self.sampling_margin),
            "standard_errors": self.standard_errors,
            "confidence": self.confidence,
            "frequency": self.frequency,
            "assumption": self.assumption,
        }
        return [self.proposal.record() | own]

    def document(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        own = {"unknown": self.unknown, "caveats": list(self.caveats)}
        return {**self.records()[0], **self.proposal.document(), **own}

    def sections(self) -> tuple[Section, ...]:
        """Return the plan for people."""
        return (Section(self._title, (), (), tuple(self._notes())),)

    @property
    def _title(self) -> str:
        if self.unknown == "margin":
            return f"±{canonical(self.margin)} with {counted(self.devices, 'device')}"
        return (
            f"epsilon {canonical(self.epsilon)} of one device for ±{canonical(self.margin)} with "
            f"{counted(self.devices, 'device')}"
        )

    def _notes(self) -> Iterator[str]:
        yield f"{self.assumption[0].upper()}{self.assumption[1:]}."
        what = one_estimate(self.proposal.mechanism.asks)
        yield (
            f"The variance of {what} is {self.variance_per_device:.6g} / devices, its standard "
            f"error {self.standard_error:.4g}; without any noise the margin would be "
            f"{canonical(self.sampling_margin)}."
        )
        yield from self.proposal.notes()
        for caveat in self.caveats:
            yield f"{caveat[0].upper()}{caveat[1:]}."
