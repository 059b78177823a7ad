"""What an app chose when it made its client."""

from __future__ import annotations

from dataclasses import dataclass

from deniable.protocol.errors import ParameterError
from deniable.protocol.survey import Survey

from .pacing import Clock
from .store import Consent


@dataclass(frozen=True)
class Setting:
    """What an app chose.

    Raises
    ------
    ParameterError
        If there is no such consent, or the survey has no such segment.
    """

    survey: Survey
    consent: Consent
    segment: str | None
    clock: Clock

    def __post_init__(self) -> None:
        if not _is_among(self.consent, ("ask", "on", "off")):
            raise ParameterError('consent must be "ask", "on" or "off"')
        segments = self.survey.segments
        if self.segment is not None and not _is_among(self.segment, segments):
            known = ", ".join(segments) or "none"
            raise ParameterError(f"segment must be one of the survey's ({known})")


def _is_among(value: object, known: tuple[str, ...]) -> bool:
    return issubclass(type(value), str) and value in known
