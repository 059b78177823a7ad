"""What is composed: so many reports of one mechanism, each with noise of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism

from .losses import Losses, randomized_response, reported


@dataclass(frozen=True)
class Part:
    """Reports of one device by one mechanism, drawn anew each time.

    Attributes
    ----------
    mechanism : Mechanism
        Of one round.
    reports : int
        T, at least 1.

    Raises
    ------
    ParameterError
        If the mechanism has a second round, or there is no report.
    """

    mechanism: Mechanism
    reports: int

    def __post_init__(self) -> None:
        """Refuse what is not fresh noise, or nothing at all."""
        if self.mechanism.epsilon_first is not None:
            raise ParameterError("epsilon_first must be None: fresh reports have one round")
        if self.reports < 1:
            raise ParameterError(f"reports must be at least 1: {self.reports}")

    @property
    def epsilon(self) -> float:
        """Of one report."""
        return float(self.mechanism.epsilon)

    @property
    def losses(self) -> Losses:
        """Of one report: the mechanism's own, or those of any report of its epsilon."""
        return reported(self.mechanism) or randomized_response(self.epsilon)


def merged(parts: Sequence[Part]) -> dict[Losses, int]:
    """Return how many reports have which losses."""
    counted: dict[Losses, int] = {}
    for part in parts:
        losses = part.losses
        counted[losses] = counted.get(losses, 0) + part.reports
    return counted
